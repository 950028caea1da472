// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pair regions on the scores of a register tile, a row after the other.
#include "codegen/cpu/ScorePairs.h"

#include "codegen/cpu/NearPairs.h"
#include "codegen/cpu/PairRuns.h"
#include "codegen/cpu/PathSums.h"

using namespace mlir;

namespace torsor {

namespace {

class ScorePairs {
public:
  ScorePairs(const TileContext &c, const ScorePanel &at)
      : c(c), e(c.e), at(at) {}

  /// All rows, with `masked` also hidden where they are.
  void emitRows(bool masked) const {
    Num end = at.firstRow + c.layout.rowTile;
    e.loop(at.firstRow, end, 1, [&](Num row) { emitRow(row, masked); });
  }

private:
  Num key(int64_t v) const { return at.key(c, v); }

  void emitRow(Num row, bool masked) const {
    AttentionOp op = c.op;
    int64_t lanes = c.lanes();
    Pointer own = c.scores + (row * c.layout.keys + (key(0) - at.tile));
    Nums scores, seen(at.vectors);
    for (int64_t v = 0; v < at.vectors; ++v)
      scores.push_back(own.load(v * lanes, lanes));
    if (masked)
      for (int64_t v = 0; v < at.vectors; ++v)
        seen[v] = emitSeen(c, row, key(v), c.keyCount);
    SmallVector<Nums> sums = pathSums(row, scores, seen);
    Num highest = c.rowMax.load(row * lanes, lanes);
    for (int64_t v = 0; v < at.vectors; ++v) {
      if (!op.getLogit().empty() && v % together == 0)
        computeLogits(row, v, sums, scores);
      Num score = scores[v];
      if (masked)
        score = select(seen[v], score, hiddenScore);
      own.store(v * lanes, score);
      if (op.getLinear()) // only whether a key is seen
        score = select(score == hiddenScore, score, 0.0);
      highest = max(highest, score);
    }
    c.rowMax.store(row * lanes, highest);
  }

  /// Vectors of keys whose logits are computed together: more would not leave
  /// registers for what each keeps.
  static constexpr int64_t together = 2;

  /// The logits of the vectors from `first` on, in place of their scores.
  void computeLogits(Num row, int64_t first, ArrayRef<Nums> sums,
                     Nums &scores) const {
    AttentionOp op = c.op;
    SmallVector<PairKeys, together> vectors;
    int64_t end = std::min(first + together, at.vectors);
    for (int64_t v = first; v < end; ++v)
      vectors.push_back({key(v), scores[v], sums[v]});
    for (auto [n, logits] :
         llvm::enumerate(emitPairs(c, op.getLogit(), row, vectors)))
      scores[first + int64_t(n)] = logits[0];
  }

  /// Sums of the terms of paths, from the last key down; what the keys behind
  /// sum to is carried from panel to panel.
  SmallVector<Nums> pathSums(Num row, const Nums &scores,
                             const Nums &seen) const {
    SmallVector<Nums> terms(at.vectors), sums(at.vectors);
    if (!c.layout.paths)
      return sums;
    for (int64_t v = 0; v < at.vectors; ++v)
      terms[v] = emitPathTerms(c, row, key(v), scores[v], seen[v]);
    for (int64_t v = at.vectors - 1; v >= 0; --v)
      sums[v] = emitPathSums(c, row, terms[v]);
    return sums;
  }

  const TileContext &c;
  Emitter &e;
  const ScorePanel &at;
};

} // namespace

/// Masked rows and others in loops of their own.
static void emitRows(const TileContext &c, const ScorePanel &at, Num partial) {
  ScorePairs pairs(c, at);
  if (!partial)
    return pairs.emitRows(true);
  c.e.when(
      partial, [&] { pairs.emitRows(true); }, [&] { pairs.emitRows(false); });
}

/// With picks from tables as broadcasts or plain loads where they run so.
static void emitByRun(const TileContext &c, const ScorePanel &at, Num partial) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  PairRuns runs(c, op.getLogit());
  if (!c.runsOn || !runs.exist())
    return emitRows(c, at, partial);
  PairRuns::Shape shape =
      runs.shape(at.firstRow, c.layout.rowTile, at.key(c, 0),
                 e.index(at.vectors * c.lanes()));
  auto along = [&](bool straight) {
    runs.straight = straight;
    runs.first = at.key(c, 0);
    TileContext known = c;
    known.runs = &runs;
    emitRows(known, at, partial);
  };
  e.when(
      shape.isEqual, [&] { along(false); },
      [&] {
        e.when(
            shape.isStraight, [&] { along(true); },
            [&] { emitRows(c, at, partial); });
      });
}

void emitMasked(const TileContext &c, const ScorePanel &at) {
  ScorePairs(c, at).emitRows(true);
}

void emitLogits(const TileContext &c, const ScorePanel &at, Num partial) {
  if (!c.near)
    return emitByRun(c, at, partial);
  TileContext near = c;
  near.op = c.near->op();
  c.e.when(
      c.isNear, [&] { emitByRun(near, at, partial); },
      [&] { emitRows(c, at, partial); });
}

} // namespace torsor
