// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys at regular times, acted on by tables.
#ifndef TORSOR_CODEGEN_CPU_DECODESTEPS_H
#define TORSOR_CODEGEN_CPU_DECODESTEPS_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/DecodeLayout.h"
#include "codegen/cpu/StepMap.h"

#include <optional>

namespace torsor {

/// Keys that a cache holds raw are acted on in each call. For any time a
///
///     exp((t - s) X) = exp((t - a) X) exp((a - s) X)
///
/// and where times run on, a being the greatest of a chunk's keys, t - a is one
/// of few whole numbers of steps: what these act with is tabulated once for a
/// split. Queries are acted on from a, once for each chunk.
class KeySteps {
public:
  KeySteps(AttentionOp op, const Kernel &kernel, const TileLayout &layout);

  bool exist() const { return !tables.empty() || !maps.empty(); }

  /// Bytes of scratch: tables, steps of the chunk's keys, anchors, plain rows
  /// of q and rows acted on.
  int64_t bytes() const { return end; }

  /// Keeps the rows of q, normed and scaled but not acted on.
  void emitPlainRow(const TileContext &c, const Place &place, Pointer from,
                    Num gain, Num row, Pointer scratch) const;
  /// Fills the tables for the split that begins with key `first` and ends
  /// before `last`; `rows` rows of q meet it. They stay for the next split of
  /// the same rows: `owner`, above 0, says whose they are.
  void emitTables(const TileContext &c, const Indices &indices, Num rows,
                  Num owner, Num first, Num last, Pointer scratch) const;
  /// There are none yet.
  void forgetTables(Pointer scratch) const;
  /// Writes the steps of `count` keys, whose slots are those of `c`; gives for
  /// each branch whether its keys can be acted on by tables.
  Nums emitSteps(const TileContext &c, Num count, Pointer scratch) const;
  /// Acts on `rows` rows of q from the chunk's anchors.
  void emitQueries(const TileContext &c, int64_t branch, Num rows,
                   Pointer scratch) const;
  /// Where they then lie.
  Pointer queries(Pointer scratch) const {
    return scratch.bytes(actedRows).as(scratch.base.e->f32);
  }
  /// The blocks that act in a branch; empty, if not by tables.
  llvm::ArrayRef<BlockAttr> blocks(int64_t branch) const {
    return branches[branch];
  }
  /// Whether products can act on a branch's keys as they read them: its blocks
  /// are one map, or turns of the same pairs by several clocks (`pairsOf`).
  bool isDirect(int64_t branch) const {
    return pairsOf(branch) || branchMaps[branch] >= 0;
  }
  PairsAttr pairsOf(int64_t branch) const { return branchPairs[branch]; }
  const StepMap &map(int64_t branch) const {
    return maps[branchMaps[branch]].map;
  }
  /// The pairs that lie apart in the rows of `queries`, each in a vector of its
  /// own; null: none.
  PairsAttr pairsApart(int64_t branch) const;
  /// The map's table for key `number` of the chunk, as `factors`.
  Pointer mapTable(int64_t branch, Num number, Num head, Pointer scratch) const;
  /// The number of the tables of the head of row `row` of q.
  Num tablesOf(const TileContext &c, Num row) const;
  /// What such a block acts with on key `number` of the chunk, from the tables
  /// of that number.
  Pointer factors(BlockAttr block, Num number, Num head, Pointer scratch) const;

private:
  using Blocks = llvm::SmallVector<BlockAttr>;
  struct Table {
    BlockAttr block;
    int64_t offset, words;
  };
  struct Map {
    StepMap map;
    int64_t slot, offset;
  };
  /// A column slot that is a time; where its keys' steps, its anchor and the
  /// length of a step lie.
  struct Clock {
    int64_t slot, steps, anchor, unit;
  };
  bool isRegular(AttentionOp op, const Kernel &kernel, BlockAttr block) const;
  bool isReal(int64_t slot) const;
  std::optional<size_t> findTable(BlockAttr block) const;
  void addTable(BlockAttr block);
  void addTables(AttentionOp op, int64_t branch);
  PairsAttr turnedPairs(llvm::ArrayRef<BlockAttr> blocks) const;
  /// Runs `body` for each step of `slot` and each head's number, with what acts
  /// at that time.
  void
  forSteps(const TileContext &c, int64_t slot, Num rows, Pointer scratch,
           llvm::function_ref<void(Num, Num, const Action &, const Place &)>
               body) const;
  const Clock &clockOf(int64_t slot) const;
  /// Gives whether it differs from that of the split before.
  Num emitUnit(const TileContext &c, const Indices &indices, const Clock &clock,
               Num first, Num last, Pointer scratch) const;
  void fillTables(const TileContext &c, Num rows, Pointer scratch) const;
  /// Gives whether all keys are a whole number of steps before the anchor.
  Num emitClockSteps(const TileContext &c, const Clock &clock, Num count,
                     Pointer scratch) const;

  const TileLayout &layout;
  llvm::SmallVector<Blocks> branches; // empty: not by tables
  llvm::SmallVector<PairsAttr> branchPairs;
  llvm::SmallVector<int64_t> branchMaps; // -1: none
  llvm::SmallVector<Table> tables;
  llvm::SmallVector<Map> maps;
  llvm::SmallVector<Clock> clocks;
  bool sharesTurns = true; // all heads of a query turn alike
  int64_t heads, width, end = 0, plainRows = 0, actedRows = 0, owners = 0;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODESTEPS_H
