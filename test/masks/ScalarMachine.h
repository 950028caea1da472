// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the scalar code of a block, one number at a time.
#ifndef TORSOR_TEST_MASKS_SCALARMACHINE_H
#define TORSOR_TEST_MASKS_SCALARMACHINE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <vector>

namespace torsor::test {

/// A number: an integer (sign-extended; a truth value is 0 or 1) or a real.
struct Scalar {
  int64_t integer = 0;
  double real = 0;
};

/// An independent meaning of scalar code: integers wrap at their width, f32
/// rounds each result. Operations of other dialects are given by the caller.
class ScalarMachine {
public:
  using Leaf = std::function<Scalar(mlir::Operation *, const Scalar *operands)>;

  ScalarMachine(mlir::Block &block, Leaf leaf);

  void setArgument(unsigned number, Scalar value) { cells[number] = value; }
  void run();
  Scalar get(mlir::Value value) const;

private:
  using Step = std::function<void(const Scalar *operands, Scalar *result)>;

  static Step makeStep(mlir::Operation &op, const Leaf &leaf);

  struct Instruction {
    Step step;
    std::vector<unsigned> operands;
    unsigned result;
  };

  unsigned number(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  std::vector<Instruction> code;
  std::vector<Scalar> cells;
};

} // namespace torsor::test

#endif
