// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of a row group against a panel of keys, in registers: rowTile rows by
// vectorTile vectors of keys, the queries broadcast.
#include "codegen/cpu/ScoreTile.h"

#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

namespace {

class ScoreTile {
public:
  /// `vectors` of the panel's vectors are computed.
  ScoreTile(const TileContext &c, Num firstRow, Num panel, Num tile,
            int64_t vectors)
      : c(c), e(c.e), firstRow(firstRow), panel(panel), tile(tile),
        rows(c.layout.rowTile), vectors(vectors) {}

  void emit(Num partial) {
    Nums scores = product();
    AttentionOp op = c.op;
    if (!op.getLogit().empty())
      eachVector([&](int64_t r, int64_t v) {
        Num &score = scores[r * vectors + v];
        score = emitPair(c, op.getLogit(), row(r), key(v), score);
      });
    scores = e.choose(
        partial, [&]() -> Nums { return masked(scores); },
        [&]() -> Nums { return scores; });
    eachVector([&](int64_t r, int64_t v) {
      c.scores.store(row(r) * c.layout.keys + (key(v) - tile),
                     scores[r * vectors + v]);
    });
    for (int64_t r = 0; r < rows; ++r) {
      Num at = row(r) * c.lanes();
      Num highest = c.rowMax.load(at, c.lanes());
      for (int64_t v = 0; v < vectors; ++v)
        highest = max(highest, scores[r * vectors + v]);
      c.rowMax.store(at, highest);
    }
  }

private:
  Num row(int64_t r) { return firstRow + r; }
  Num key(int64_t v) { return panel * c.layout.panel + v * c.lanes(); }
  void eachVector(function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        body(r, v);
  }

  Nums product() {
    Nums start;
    eachVector([&](int64_t r, int64_t v) {
      start.push_back(emitStart(c, row(r), key(v)));
    });
    int64_t head = c.layout.head;
    Pointer keys = c.keys + panel * (head * c.layout.panel);
    Pointer queries = c.queries + firstRow * head;
    int64_t unroll = head % 2 == 0 ? 2 : 1;
    return e.loop(
        0, e.index(head), unroll, start,
        [&](Num d, ArrayRef<Num> carried) -> Nums {
          Nums sums(carried);
          for (int64_t u = 0; u < unroll; ++u) {
            Nums loaded;
            for (int64_t v = 0; v < vectors; ++v)
              loaded.push_back(keys.load(
                  (d + u) * c.layout.panel + v * c.lanes(), c.lanes()));
            for (int64_t r = 0; r < rows; ++r) {
              Num q = e.splat(queries.load(d + (r * head + u)), c.lanes());
              for (int64_t v = 0; v < vectors; ++v)
                sums[r * vectors + v] =
                    fma(q, loaded[v], sums[r * vectors + v]);
            }
          }
          return sums;
        });
  }

  Nums masked(Nums scores) {
    AttentionOp op = c.op;
    Num hidden = e.constant(e.vec(c.lanes(), e.f32), hiddenScore);
    eachVector([&](int64_t r, int64_t v) {
      // Padding lies behind the last key, or has a negative index.
      Num number = e.splat(e.convert(key(v), e.i32), c.lanes()) +
                   e.iota(e.i32, c.lanes());
      Num seen = number < e.convert(c.keyCount, e.i32);
      seen = seen & (c.keyIndices.load(key(v), c.lanes()) >= 0);
      if (!op.getMask().empty())
        seen = seen & emitPair(c, op.getMask(), row(r), key(v));
      Num &score = scores[r * vectors + v];
      score = select(seen, score, hidden);
    });
    return scores;
  }

  const TileContext &c;
  Emitter &e;
  Num firstRow, panel, tile;
  int64_t rows, vectors;
};

} // namespace

/// Whether some pair of the group and the keys begin … end-1 may be hidden.
static Num isPartial(const TileContext &c, Num group, Num begin, Num end,
                     Num allSeen) {
  Emitter &e = c.e;
  Num full = e.constant(e.i1, int64_t(0));
  for (int64_t n = 0; n < c.layout.fullRanges; ++n) {
    Pointer words = c.groupWord(group, 2 * (c.layout.visibleRanges + n));
    full = full | ((words.load(0) <= begin) & (end <= words.load(1)));
  }
  return (full | (allSeen & (end <= c.keyCount))) ^ 1;
}

void emitScores(const TileContext &c, Num groups, Num tile, Num tileEnd,
                Num allSeen) {
  Emitter &e = c.e;
  int64_t width = c.layout.panel;
  e.loop(tile / width, ceilDiv(tileEnd, width), 1, [&](Num panel) {
    Num begin = panel * width, end = begin + width;
    e.loop(0, groups, 1, [&](Num group) {
      Pointer limits = c.tileFirst(group);
      Num inside = (limits.load(0) < end) & (limits.load(1) > begin);
      e.when(inside, [&] {
        ScoreTile(c, group * c.layout.rowTile, panel, tile,
                  c.target().vectorTile)
            .emit(isPartial(c, group, begin, end, allSeen));
      });
    });
  });
}

} // namespace torsor
