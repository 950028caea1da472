// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the IR of a scheme into a Program.
#ifndef TORSOR_REFERENCE_BUILDER_H
#define TORSOR_REFERENCE_BUILDER_H

#include "dialect/TorsorDialect.h"
#include "reference/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace torsor::reference {

/// An error of the reference at an operation: "torsor.turn: …".
llvm::Error failAt(mlir::Operation *op, const llvm::Twine &text);
llvm::Error fail(const llvm::Twine &text);

/// Reads values: everything but actions and terms.
class ValueBuilder {
public:
  explicit ValueBuilder(Program &program) : program(program) {}

  /// Reads one operation of the scheme's block or of a term; false if it is
  /// none of a value.
  llvm::Expected<bool> read(mlir::Operation &op, int depth,
                            std::vector<int> &list);
  /// The node of a value; -1 for null.
  int node(mlir::Value value) const;
  int argument(mlir::Value tensor) const {
    return tensors.lookup(value(tensor));
  }
  bool isArgument(mlir::Value tensor) const {
    return tensors.count(value(tensor));
  }
  /// The default times of a block: `pos` at the query and at the key.
  Place position();

private:
  static mlir::Value value(mlir::Value v) { return v; }
  int add(Node node, std::vector<int> &list);
  llvm::Error readTerm(Node &node, mlir::Region &region, int depth, bool token);
  llvm::Error readRunning(RunningOp op, int depth, std::vector<int> &list);
  llvm::Error readLeaf(mlir::Operation &op, int depth, std::vector<int> &list);
  llvm::Error readRead(ReadOp op, Node &node);
  llvm::Error readScalar(mlir::Operation &op, ScalarCode code,
                         std::vector<int> &list);
  void readArgument(mlir::Value tensor, llvm::StringRef name,
                    mlir::ArrayAttr axes, Argument::Kind kind);
  int clockArgument(llvm::StringRef name);
  int time(int clock, TokenRef token, int64_t member, std::vector<int> &list);

  Program &program;
  llvm::DenseMap<mlir::Value, int> nodes, clocks, tensors;
  llvm::DenseMap<mlir::Value, TokenRef> tokens;
  llvm::StringMap<int> names; ///< Of clocks, to their arguments.
  int positionClock = -1;
};

/// Reads an action and all it is made of. `defaults` are the times where no
/// `at` says others.
llvm::Expected<std::unique_ptr<Action>> buildAction(mlir::Value action,
                                                    Program &program,
                                                    ValueBuilder &values,
                                                    Place defaults);

} // namespace torsor::reference

#endif
