// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of many queries.
#ifndef TORSOR_CODEGEN_CPU_PREFILLKERNEL_H
#define TORSOR_CODEGEN_CPU_PREFILLKERNEL_H

#include "codegen/cpu/BiasTable.h"
#include "codegen/cpu/NearPairs.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/QueryRows.h"
#include "codegen/cpu/TileTest.h"

namespace torsor {

/// Keys are packed first, by tiles; then workers take blocks of rows one by one
/// and compute each against the tiles that it sees.
class Prefill {
public:
  Prefill(Emitter &e, const Kernel &kernel, AttentionOp op,
          llvm::ArrayRef<BlockAttr> blocks)
      : e(e), kernel(kernel), op(op), blocks(blocks),
        layout(op, *kernel.target), bias(e, op, layout), near(op) {}

  /// A sum over a path needs the keys of the whole path.
  bool sumsPaths() const { return layout.paths; }
  PlanEntry plan(const Call &call) const;
  void pack(const Call &call, Num begin, Num end, Pointer scratch) const;
  void compute(const Call &call, Num begin, Num end, Pointer scratch) const;

private:
  Num blocksOf(const Call &call, const Sequence &sequence) const {
    return ceilDiv(sequence.queryLength * layout.headsPerRun(call),
                   layout.rows);
  }
  /// Key tiles that the sequence sees: the first, and how many.
  Range tilesOf(const Sequence &sequence, const Indices &indices) const {
    Range hull = emitSequenceHull(e, op.getVisible(), sequence, indices);
    return {hull.begin / layout.keys, ceilDiv(hull.end, layout.keys)};
  }
  Num groupBytesOf(const Call &call, const Sequence &sequence) const {
    return layout.groupBytes(call, sequence.keyLength) * layout.runs(call);
  }
  Num bytesOf(const Call &call, const Sequence &sequence) const {
    return groupBytesOf(call, sequence) + bias.bytes(call, sequence);
  }
  /// Whether key runs of a tile can take turn by turn from those of the first.
  bool runsShareTurns() const;
  /// Items that pack one tile of `tiles`: for each some of the key runs, all if
  /// turns are computed once for them and enough items are left for threads.
  Num partsOf(const Call &call, Num tiles) const;
  /// Items of the phase that packs: key tiles, and stretches of the table by
  /// age.
  Num packsOf(const Call &call, const Sequence &sequence,
              const Indices &indices) const {
    Range tiles = tilesOf(sequence, indices);
    Num count = tiles.end - tiles.begin;
    return count * partsOf(call, count) + bias.items(call, sequence);
  }
  void packTile(const Call &call, const TileContext &c, const Indices &indices,
                Num isActed, Num tile, Pointer scratch,
                const KeptTurns *turns) const;
  Pointer biasTableOf(const Call &call, const Sequence &sequence,
                      Num base) const {
    return call.workspace
        .bytes(preparedBytes(e, kernel, call) + base +
               groupBytesOf(call, sequence))
        .as(e.f32);
  }
  TileContext context(const Call &call, const TableReader &tables,
                      const Sequence &sequence, Num group, Num base) const;
  TableReader tablesOf(const Call &call) const {
    return TableReader(e, kernel, call);
  }
  void computeBlock(const Call &call, const TileContext &c,
                    const Indices &indices, RowBlock block) const;
  Range groupRanges(const TileContext &c, const Indices &indices,
                    Num groups) const;
  Num tileLimits(const TileContext &c, Num groups, Num tile, Num tileEnd) const;
  TileVerdict classify(const TileContext &c, const Indices &indices, Num tile,
                       const TileSide &queries) const;

  Emitter &e;
  const Kernel &kernel;
  mutable AttentionOp op;
  llvm::ArrayRef<BlockAttr> blocks;
  TileLayout layout;
  BiasTable bias;
  NearPairs near;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PREFILLKERNEL_H
