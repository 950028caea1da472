// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of few queries against a long row-major run of keys.
#ifndef TORSOR_CODEGEN_CPU_DECODEKERNEL_H
#define TORSOR_CODEGEN_CPU_DECODEKERNEL_H

#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/QueryRows.h"

#include <algorithm>

namespace torsor {

/// Keys are cut into splits, which workers take one by one; a last phase joins
/// those of each row.
class Decode {
public:
  Decode(Emitter &e, const Kernel &kernel, AttentionOp op,
         llvm::ArrayRef<BlockAttr> blocks)
      : e(e), kernel(kernel), op(op), blocks(blocks),
        layout(op, *kernel.target), steps(op, kernel, layout),
        dots(op, kernel, layout),
        scratchAt(layout, steps.bytes(), dots.dots.size()),
        tile(*kernel.target, std::max(bytesOf(op.getK()), bytesOf(op.getV()))) {
  }

  PlanEntry plan(const Call &call) const;
  bool sumsPaths() const { return layout.paths; }
  /// Before `partial`: what the path sums of each split come to.
  void totals(const Call &call, Num begin, Num end, Pointer scratch) const;
  void partial(const Call &call, Num begin, Num end, Pointer scratch) const;
  void combine(const Call &call, Num begin, Num end, Pointer scratch) const;

private:
  static int64_t bytesOf(mlir::Value memref) {
    return widthOf(memref) * elementOf(memref).getIntOrFloatBitWidth() / 8;
  }
  // A partial result: maximum, sum, then the columns.
  int64_t recordWidth() const { return layout.valueWidth() + layout.lanes; }
  Num rowsOf(const Call &call, const Sequence &sequence) const {
    return sequence.queryLength * layout.headsPerRun(call);
  }
  Num blocksOf(const Call &call, const Sequence &sequence) const {
    // What fades is taken from the query: a block holds rows of one.
    if (layout.anchors)
      return sequence.queryLength *
             ceilDiv(layout.headsPerRun(call), layout.rows);
    return ceilDiv(rowsOf(call, sequence), layout.rows);
  }
  Range tilesOf(const Sequence &sequence, const Indices &indices) const {
    Range hull = emitSequenceHull(e, op.getVisible(), sequence, indices);
    return {hull.begin / layout.keys, ceilDiv(hull.end, layout.keys)};
  }
  Num splitsOf(const Sequence &sequence) const {
    return ceilDiv(sequence.keyLength, layout.keys);
  }
  Num itemsOf(const Call &call, const Sequence &sequence,
              const Indices &indices) const {
    Range tiles = tilesOf(sequence, indices);
    return (tiles.end - tiles.begin) * blocksOf(call, sequence) *
           layout.runs(call);
  }
  Num bytesOf(const Call &call, const Sequence &sequence) const {
    return alignUp(rowsOf(call, sequence) * layout.runs(call) *
                       splitsOf(sequence) *
                       ((recordWidth() + layout.paths) * 4),
                   64);
  }
  /// Splits of a row lie one behind the other, rows of a group behind them.
  Num numberOf(const Call &call, const Sequence &sequence, Num group, Num row,
               Num split) const {
    return (group * rowsOf(call, sequence) + row) * splitsOf(sequence) + split;
  }
  /// The path sums of a row over a split; those of the splits of a row lie one
  /// behind the other.
  Pointer pathTotals(const Call &call, const Sequence &sequence, Num base,
                     Num group, Num row, Num split) const {
    Pointer behind =
        record(call, sequence, base, layout.runs(call), e.index(0), e.index(0));
    return behind + numberOf(call, sequence, group, row, split) * layout.paths;
  }
  /// The record of a row and a split.
  Pointer record(const Call &call, const Sequence &sequence, Num base,
                 Num group, Num row, Num split) const {
    return call.workspace.bytes(preparedBytes(e, kernel, call) + base)
               .as(e.f32) +
           numberOf(call, sequence, group, row, split) * recordWidth();
  }
  RowBlock rowsOfBlock(const Call &call, const Sequence &sequence,
                       Num number) const;
  TileContext context(const TableReader &tables, const Sequence &sequence,
                      Num group, Pointer scratch) const;
  /// A number above 0 of the rows of a block among all of the call.
  Num ownerOf(const Call &call, const TileContext &c, RowBlock block) const {
    Num run = c.place.sequence.number * call.heads + c.place.head;
    return (run << 32) + block.first + 1;
  }
  Num asksFor(const Call &call, const Sequence &sequence) const;
  /// The rows of a block against the keys of a split, or their path sums alone.
  void emitBlock(const Call &call, const TileContext &c, const Indices &indices,
                 RowBlock block, Num number, bool isTotal, Pointer scratch,
                 llvm::function_ref<void()> carry = nullptr) const;
  /// Runs `body` for the blocks and splits begin … end-1.
  void forBlocks(const Call &call, Num begin, Num end, Pointer scratch,
                 llvm::function_ref<void(const TileContext &, const Indices &,
                                         RowBlock, Range, Num, Num)>
                     body) const;
  void emitChunk(const TileContext &c, const DecodeSplit &split,
                 const TileSide &queries, llvm::ArrayRef<Range> full, Num rows,
                 bool isTotal, Num at) const;
  void emitRow(const Call &call, const TileContext &c, const Indices &indices,
               Range tiles, Num base, Num group, Num row) const;

  Emitter &e;
  const Kernel &kernel;
  mutable AttentionOp op;
  llvm::ArrayRef<BlockAttr> blocks;
  TileLayout layout;
  KeySteps steps;
  KeyDots dots;
  DecodeScratch scratchAt;
  DecodeTile tile;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODEKERNEL_H
