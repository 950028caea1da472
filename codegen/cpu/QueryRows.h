// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a block: queries in, results out.
#ifndef TORSOR_CODEGEN_CPU_QUERYROWS_H
#define TORSOR_CODEGEN_CPU_QUERYROWS_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/Slots.h"

namespace torsor {

/// The rows first … first + count - 1 of a group: its queries in order, each
/// with all heads of the group.
struct RowBlock {
  Num first, count;
  Num headsPerGroup;

  /// Where row `row` of the block lies.
  Place place(const TileContext &c, const Indices &indices, Num row) const;
};

/// Loads the queries, acts on them in each form and scales them; fills row
/// slots, indices, and the start of the running sums, for `used` rows (whole
/// register tiles; the last row is repeated). Gives the bounds of the row
/// slots. `keep` gets each row, its place, where it lies and its factor.
llvm::SmallVector<Bounds> emitQueryRows(
    const TileContext &c, const Indices &indices, const Tensor &q,
    RowBlock block, Num used,
    llvm::function_ref<void(Num, const Place &, Pointer, Num)> keep = nullptr);

/// Checks what a kernel can compute: one branch, regions over lanes, blocks of
/// known kinds. Gives the blocks.
mlir::FailureOr<llvm::SmallVector<BlockAttr>> readAttention(AttentionOp op);

/// Divides one row by its sum and stores O and LSE; without `sink` the row's
/// slots are evaluated where the op has one.
void emitResultRow(const TileContext &c, const Place &place, Pointer from,
                   Num maximum, Num sum, Num sink, const Tensor &o,
                   const Tensor &lse);

/// Divides by the row sums (and the sink) and stores O and LSE.
void emitResultRows(const TileContext &c, const Indices &indices,
                    const Tensor &o, const Tensor &lse, RowBlock block);

/// The factor on q: `scale` and `scale_slot`; none if neither is there.
Num emitQueryGain(Emitter &e, AttentionOp op, llvm::ArrayRef<Num> slots);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_QUERYROWS_H
