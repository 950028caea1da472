// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads scalar code as expressions of the indices and as sets of keys.
#ifndef TORSOR_PASSES_BOUNDMASKSREAD_H
#define TORSOR_PASSES_BOUNDMASKSREAD_H

#include "dialect/TorsorDialect.h"
#include "passes/BoundMasksSet.h"

#include "llvm/ADT/DenseMap.h"

namespace torsor {

/// Reads the code that computes a mask, in the order of its block. What it
/// cannot read is opaque: of an integer only the range is known, of a truth
/// value nothing.
class MaskReader {
public:
  /// With `follow`, the times of the clock "pos" are the indices.
  MaskReader(ExprContext &context, KeySolver &solver, bool follow)
      : context(context), solver(solver), follow(follow) {}

  /// The pairs that `mask` shows.
  const KeyBounds &read(mlir::Value mask);

  /// Operations that made the bounds inexact, in order.
  llvm::ArrayRef<mlir::Operation *> getUnread() const { return unread; }

private:
  void visit(mlir::Operation &op);
  void visitTruth(mlir::Operation &op);
  KeyTruth compareTruth(mlir::Value lhs, mlir::Value rhs, bool equal);
  KeyTruth compareIntegers(mlir::Operation &op);
  ExprContext::Result readInteger(mlir::Operation &op);
  ExprContext::Result readLeaf(mlir::Operation &op);
  ExprContext::Result readDivision(mlir::Operation &op);
  KeyTruth atMostZero(ExprContext::Result value);

  const LinearExpr &integer(mlir::Value value);
  const KeyTruth &truth(mlir::Value value);

  ExprContext &context;
  KeySolver &solver;
  bool follow;
  IntervalAnalysis ranges;
  llvm::DenseMap<mlir::Value, LinearExpr> integers;
  llvm::DenseMap<mlir::Value, KeyTruth> truths;
  llvm::SmallVector<mlir::Operation *> unread;
};

} // namespace torsor

#endif
