// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of a row group against a panel of keys, in registers: rowTile rows by
// vectorTile vectors of keys, the queries broadcast.
#include "codegen/cpu/ScoreTile.h"

#include "codegen/cpu/BfloatPairs.h"
#include "codegen/cpu/Prefetch.h"
#include "codegen/cpu/ScorePairs.h"

#include <optional>

using namespace mlir;

namespace torsor {

namespace {

class ScoreTile {
public:
  /// `vectors` of the panel's vectors are computed.
  ScoreTile(const TileContext &c, Num firstRow, Num panel, Num tile,
            int64_t vectors, const TileVerdict &verdict,
            const std::optional<SteadyRequest> &request)
      : c(c), e(c.e), firstRow(firstRow), panel(panel), tile(tile),
        rows(c.layout.rowTile), vectors(vectors), verdict(verdict),
        request(request) {}

  /// `partial`: whether some pair may be hidden; null: it is. Then a loop over
  /// rows hides it in memory, which is little code.
  void emit(Num partial) {
    Nums scores = products();
    eachVector([&](int64_t r, int64_t v) {
      scoresAt(r, v).store(0, scores[r * vectors + v]);
    });
    AttentionOp op = c.op;
    ScorePanel at = {firstRow, panel, tile, vectors};
    if (!op.getLogit().empty())
      return emitLogits(c, at, partial);
    auto mask = [&] { emitMasked(c, at); };
    if (!partial)
      return mask();
    e.when(partial, mask, [&] { raiseMaxima(scores); });
  }

private:
  Num row(int64_t r) { return firstRow + r; }
  Num key(int64_t v) { return panel * c.layout.panel + v * c.lanes(); }
  void eachVector(function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        body(r, v);
  }

  Pointer scoresAt(int64_t r, int64_t v) {
    return c.scores + (row(r) * c.layout.keys + (key(v) - tile));
  }
  Num branchOf(int64_t r, int64_t v) {
    AttentionOp op = c.op;
    return emitPair(c, op.getBranch(), row(r), key(v));
  }
  /// Least and greatest branch of the pairs.
  Nums branchBounds() {
    Num low, high;
    eachVector([&](int64_t r, int64_t v) {
      Num branch = branchOf(r, v);
      low = low ? min(low, branch) : branch;
      high = high ? max(high, branch) : branch;
    });
    Num least = e.lane(low, 0), greatest = e.lane(high, 0);
    for (int64_t lane = 1; lane < c.lanes(); ++lane) {
      least = min(least, e.lane(low, lane));
      greatest = max(greatest, e.lane(high, lane));
    }
    return {e.convert(least, e.i64), e.convert(greatest, e.i64)};
  }
  Nums products() {
    auto computed = [&]() -> Nums {
      Nums found;
      eachVector([&](int64_t r, int64_t v) {
        found.push_back(scoresAt(r, v).load(0, c.lanes()) +
                        emitStart(c, row(r), key(v)));
      });
      return found;
    };
    if (!c.layout.forms.isOne())
      return verdict.isComputed ? computed() : branches();
    if (!verdict.isComputed)
      return product(Num());
    return e.choose(verdict.isComputed, computed,
                    [&] { return product(Num()); });
  }
  /// Products of pairs in branches: one where all are in the same one, else
  /// those of every branch, of which each pair takes its own.
  Nums branches() {
    Num low = verdict.lowBranch, high = verdict.highBranch;
    Nums ends = e.choose(
        low == high, [&]() -> Nums { return {low, high}; },
        [&] { return branchBounds(); });
    return e.choose(
        ends[0] == ends[1], [&] { return product(ends[0]); },
        [&]() -> Nums {
          e.loop(ends[0], ends[1] + 1, 1, [&](Num branch) {
            Nums found = product(branch);
            eachVector([&](int64_t r, int64_t v) {
              Num own = branchOf(r, v) ==
                        e.splat(e.convert(branch, e.i32), c.lanes());
              Num before = scoresAt(r, v).load(0, c.lanes());
              scoresAt(r, v).store(0,
                                   select(own, found[r * vectors + v], before));
            });
          });
          Nums own;
          eachVector([&](int64_t r, int64_t v) {
            own.push_back(scoresAt(r, v).load(0, c.lanes()));
          });
          return own;
        });
  }

  /// Words before the form of a branch on one side.
  Num formOffset(Num branch, Num wordsOfForm, bool query) {
    Num offset = e.index(0);
    for (auto [n, forms] : llvm::enumerate(c.layout.forms.branches)) {
      int64_t form = query ? forms.query : forms.key;
      offset = select(branch == int64_t(n), wordsOfForm * form, offset);
    }
    return offset;
  }

  /// What the accumulators start with, from the table by age where it holds.
  Nums starts() {
    auto computed = [&] {
      Nums start;
      eachVector([&](int64_t r, int64_t v) {
        start.push_back(emitStart(c, row(r), key(v)));
      });
      return start;
    };
    if (!c.biasHolds)
      return computed();
    // Where the table does not hold: in little code, as it may be long.
    auto inTurn = [&]() -> Nums {
      if (!c.layout.forms.isOne()) // the scores of other branches lie there
        return computed();
      e.loop(firstRow, firstRow + rows, 1, [&](Num row) {
        Pointer own = c.scores + (row * c.layout.keys - tile);
        e.loop(key(0), key(0) + vectors * c.lanes(), c.lanes(),
               [&](Num key) { own.store(key, emitStart(c, row, key)); });
      });
      Nums start;
      eachVector([&](int64_t r, int64_t v) {
        start.push_back(scoresAt(r, v).load(0, c.lanes()));
      });
      return start;
    };
    auto tabulated = [&] {
      const Sequence &sequence = c.place.sequence;
      Nums start;
      for (int64_t r = 0; r < rows; ++r) {
        Num query = c.rowTokens.load(row(r)) - sequence.queryStart;
        Pointer first = c.biasTable + (c.rowHeads.load(row(r)) * c.biasEntries +
                                       (sequence.queryLength - 1 - query));
        for (int64_t v = 0; v < vectors; ++v)
          start.push_back(first.load(key(v), c.lanes()));
      }
      return start;
    };
    return e.choose(c.biasHolds, tabulated, inTurn);
  }

  Nums product(Num branch) {
    Nums start = starts();
    int64_t head = c.layout.headWords;
    Pointer keys = c.keys + panel * (head * c.layout.panel);
    Pointer queries = c.queries + firstRow * head;
    if (branch) {
      keys = keys + formOffset(branch, c.padded * head, false);
      queries =
          queries + formOffset(branch, e.index(c.layout.rows * head), true);
    }
    int64_t unroll = head % 2 == 0 ? 2 : 1;
    return e.loop(
        0, e.index(head), unroll, start,
        [&](Num d, ArrayRef<Num> carried) -> Nums {
          Nums sums(carried);
          if (request)
            request->emit(d);
          for (int64_t u = 0; u < unroll; ++u) {
            Nums loaded;
            for (int64_t v = 0; v < vectors; ++v)
              loaded.push_back(keys.load(
                  (d + u) * c.layout.panel + v * c.lanes(), c.lanes()));
            for (int64_t r = 0; r < rows; ++r) {
              Num q = e.splat(queries.load(d + (r * head + u)), c.lanes());
              for (int64_t v = 0; v < vectors; ++v)
                sums[r * vectors + v] = multiplyAdd(
                    q, loaded[v], sums[r * vectors + v], c.layout.pairs);
            }
          }
          return sums;
        });
  }

  void raiseMaxima(const Nums &scores) {
    AttentionOp op = c.op;
    for (int64_t r = 0; r < rows; ++r) {
      Num at = row(r) * c.lanes();
      Num highest = c.rowMax.load(at, c.lanes());
      for (int64_t v = 0; v < vectors; ++v) {
        Num score = scores[r * vectors + v];
        if (op.getLinear()) // only whether a key is seen
          score = select(score == hiddenScore, score, 0.0);
        highest = max(highest, score);
      }
      c.rowMax.store(at, highest);
    }
  }

  const TileContext &c;
  Emitter &e;
  Num firstRow, panel, tile;
  int64_t rows, vectors;
  const TileVerdict &verdict;
  const std::optional<SteadyRequest> &request;
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
  full = full | (allSeen & (end <= c.keyCount));
  if (AttentionOp op = c.op; !op.getTile().empty()) {
    Pointer seen = c.tileSeen(group); // not written where all is seen
    full = full |
           ((allSeen ^ 1) & (seen.load(0) <= begin) & (end <= seen.load(1)));
  }
  return full ^ 1;
}

/// The vectors of a panel that hold keys below the group's limit, rounded up to
/// half of the panel: a register tile for each count, since its shape is in its
/// code, and more of them cost more to compile than they save.
static void emitVectors(const TileContext &c, Num needed, int64_t vectors,
                        function_ref<void(int64_t)> tile) {
  if (vectors == c.target().vectorTile)
    return tile(vectors);
  c.e.when(
      needed <= vectors, [&] { tile(vectors); },
      [&] { emitVectors(c, needed, 2 * vectors, tile); });
}

void emitScores(const TileContext &c, Num groups, Num tile, Num from, Num to,
                const TileVerdict &verdict) {
  Emitter &e = c.e;
  int64_t width = c.layout.panel;
  Num firstPanel = from / width, endPanel = ceilDiv(to, width);
  e.loop(firstPanel, endPanel, 1, [&](Num panel) {
    if (c.layout.paths) // sums run from the last key down
      panel = firstPanel + (endPanel - 1 - panel);
    Num begin = panel * width, end = begin + width;
    e.loop(0, groups, 1, [&](Num group) {
      Pointer limits = c.tileFirst(group);
      Num last = limits.load(1);
      Num inside = (limits.load(0) < end) & (last > begin);
      e.when(inside, [&] {
        std::optional<SteadyRequest> request;
        if (c.lanes() == 16)
          request = requestOf(c, panel, group, groups, c.layout.headWords);
        emitVectors(c, ceilDiv(last - begin, c.lanes()),
                    c.target().vectorTile / 2, [&](int64_t vectors) {
                      Num partial;
                      if (vectors == c.target().vectorTile)
                        partial = isPartial(c, group, begin, end, verdict.all);
                      ScoreTile(c, group * c.layout.rowTile, panel, tile,
                                vectors, verdict, request)
                          .emit(partial);
                    });
      });
    });
  });
}

} // namespace torsor
