// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pair regions in 32 bits, for tiles whose positions lie near 0.
#ifndef TORSOR_CODEGEN_CPU_NEARPAIRS_H
#define TORSOR_CODEGEN_CPU_NEARPAIRS_H

#include "codegen/cpu/Slots.h"
#include "passes/IntervalAnalysis.h"

#include "mlir/IR/OwningOpRef.h"

namespace torsor {

/// A second version of an op's pair regions. Positions may be any integers of
/// 32 bits, so that their differences need 33, which vectors have no fast
/// arithmetic for. Where those of a tile lie within 2^29 of 0, which is nearly
/// everywhere, narrower regions give the same.
class NearPairs {
public:
  explicit NearPairs(AttentionOp op);

  /// With the narrower regions; null if none became narrower.
  AttentionOp op() const { return near ? near.get() : AttentionOp(); }
  /// Whether they hold for a tile, from the bounds of its slots.
  Num hold(Emitter &e, llvm::ArrayRef<Bounds> rows,
           llvm::ArrayRef<Bounds> columns) const;

private:
  /// A slot, those of rows first, and where it must lie.
  struct Limit {
    unsigned slot;
    IntRange range;
  };
  unsigned rowSlots = 0;
  llvm::SmallVector<Limit> limits;
  mutable mlir::OwningOpRef<AttentionOp> near;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_NEARPAIRS_H
