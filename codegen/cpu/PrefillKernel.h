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
  /// Writes the function that packs a tile, which both phases call.
  void emitPackFunction() const;
  PlanEntry plan(const Call &call) const;
  void pack(const Call &call, Num begin, Num end, Pointer scratch) const;
  void compute(const Call &call, Num begin, Num end, Pointer scratch) const;

private:
  Num blocksOf(const Call &call, const Sequence &sequence) const {
    return ceilDiv(sequence.queryLength * layout.headsPerRun(call),
                   layout.rows);
  }
  /// Whether so few blocks of rows meet a packed key that each packs the tiles
  /// it meets itself, into its worker's scratch: that costs less than the way
  /// through memory.
  Num packsInBlock(const Call &call, const Sequence &sequence) const {
    return blocksOf(call, sequence) <= 1;
  }
  /// Key tiles that the sequence's items of the phase pack.
  Range tilesOf(const Call &call, const Sequence &sequence,
                const Indices &indices) const {
    Range hull = emitSequenceHull(e, op.getVisible(), sequence, indices);
    Num first = hull.begin / layout.keys;
    return {first, select(packsInBlock(call, sequence), first,
                          ceilDiv(hull.end, layout.keys))};
  }
  Num groupBytesOf(const Call &call, const Sequence &sequence) const {
    return select(packsInBlock(call, sequence), 0,
                  layout.groupBytes(call, sequence.keyLength) *
                      layout.runs(call));
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
    Range tiles = tilesOf(call, sequence, indices);
    Num count = tiles.end - tiles.begin;
    return count * partsOf(call, count) + bias.items(call, sequence);
  }
  std::string packName() const { return kernel.runName + ".pack"; }
  /// Calls the function for tile `tile` of a run: into `packed`, which has room
  /// for this tile alone, `inBlock`, or for all keys. `isFirst`: of the runs
  /// that share their turns.
  void packTile(const Call &call, const Sequence &sequence, Num run, Num tile,
                Pointer packed, Num inBlock, Num isFirst,
                Pointer scratch) const;
  void emitPackedTile(const Call &call, const TileContext &c,
                      const Indices &indices, Num tile, Num inBlock,
                      Num isFirst, Pointer scratch) const;
  /// Where the packed keys of a run lie.
  Pointer packedAt(const Call &call, const Sequence &sequence, Num run,
                   Num base) const;
  Pointer biasTableOf(const Call &call, const Sequence &sequence,
                      Num base) const {
    return call.workspace
        .bytes(preparedBytes(e, kernel, call) + base +
               groupBytesOf(call, sequence))
        .as(e.f32);
  }
  TileContext context(const Call &call, const TableReader &tables,
                      const Sequence &sequence, Num run) const;
  TableReader tablesOf(const Call &call) const {
    return TableReader(e, kernel, call);
  }
  void computeBlock(const Call &call, const TileContext &c,
                    const Indices &indices, Num run, RowBlock block,
                    Pointer scratch) const;
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
