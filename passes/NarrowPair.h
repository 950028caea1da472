// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of the pass that narrows the integers of pair regions.
#ifndef TORSOR_PASSES_NARROWPAIR_H
#define TORSOR_PASSES_NARROWPAIR_H

#include "dialect/TorsorDialect.h"
#include "passes/IntervalAnalysis.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

namespace torsor {

/// The regions of `op` over pairs: branch, init, logit and mask, where given.
llvm::SmallVector<mlir::Block *> getPairBlocks(AttentionOp op);

/// Rewrites the operations of one pair region to i32 where their operands and
/// results provably fit. Slots that are read so are truncated in the region.
class NarrowBlock {
public:
  NarrowBlock(AttentionOp op, mlir::Block &block);

  /// Returns the number of operations made narrow.
  unsigned run();

  /// Operations that stay wide though they read only integers.
  llvm::ArrayRef<mlir::Operation *> getWide() const { return wide; }

private:
  bool fits(mlir::Value value) const { return ranges.getRange(value).fits(32); }
  bool allFit(mlir::Operation &op) const;
  mlir::Value narrow(mlir::Value value);
  bool rewrite(mlir::Operation &op);
  bool rewriteIndices(LookupOp op);

  mlir::Block &block;
  mlir::OpBuilder b;
  IntervalAnalysis ranges;
  llvm::DenseMap<mlir::Value, mlir::Value> narrowed;
  llvm::SmallVector<mlir::Operation *> wide;
};

/// Replaces a slot of i64 that pair regions truncate by one of i32, beside it
/// where it is needed wide too. Returns the number of slots that became narrow.
unsigned narrowSlots(AttentionOp op);

/// Rewrites divisions by constants of numbers whose sign or divisor allows a
/// cheaper form: shifts, masks and unsigned divisions.
void cheapenDivisions(AttentionOp op, mlir::Block &block);

/// Erases what nothing uses.
void eraseUnused(mlir::Block &block);

} // namespace torsor

#endif
