// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws masks at random.
#ifndef TORSOR_TEST_MASKS_RANDOMMASK_H
#define TORSOR_TEST_MASKS_RANDOMMASK_H

#include "mlir/IR/Builders.h"

#include <random>
#include <vector>

namespace torsor::test {

/// Draws scalar code that ends in a truth value. Values are drawn from pools,
/// so that they are used more than once.
class RandomMask {
public:
  RandomMask(mlir::OpBuilder &builder, std::mt19937_64 &random)
      : b(builder), random(random), loc(builder.getUnknownLoc()) {}

  /// Values to draw from: i64, i1, f32. More often drawn if given more often.
  std::vector<mlir::Value> integers, truths, reals;
  /// Constants are below this, mostly.
  int64_t size = 12;

  /// Adds about `steps` operations and gives the mask.
  mlir::Value draw(unsigned steps);

  /// 0 .. n - 1
  unsigned below(unsigned n) { return random() % n; }

private:
  mlir::Value pick(const std::vector<mlir::Value> &pool);
  mlir::Value number(int64_t value);
  int64_t smallNumber();
  mlir::Value drawInteger();
  mlir::Value drawTruth();
  mlir::Value drawComparison();
  mlir::Value drawReal();

  mlir::OpBuilder &b;
  std::mt19937_64 &random;
  mlir::Location loc;
};

/// The seed of this run, printed, or that of the environment's
/// TORSOR_MASK_SEED; how often to draw: TORSOR_MASK_COUNT or `usual`.
uint64_t getSeed();
unsigned getCount(unsigned usual);

} // namespace torsor::test

#endif
