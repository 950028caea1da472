// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A vector added to values, a row of a table by pair.
#include "codegen/cpu/ValueRows.h"

#include "codegen/cpu/NearPairs.h"
#include "codegen/cpu/PairRuns.h"
#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

/// The sums of row `row` shrink by its alpha.
static void emitShrunk(const TileContext &c, Num row) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), count = c.layout.valueRows;
  Pointer sums = c.valueWeights + row * count;
  Num alpha = c.alphas.load(row);
  e.when(alpha != 1.0, [&] {
    int64_t whole = count / lanes * lanes;
    Num all = e.splat(alpha, lanes);
    if (whole)
      e.loop(0, e.index(whole), lanes,
             [&](Num at) { sums.store(at, sums.load(at, lanes) * all); });
    e.loop(whole, e.index(count), 1,
           [&](Num at) { sums.store(at, sums.load(at) * alpha); });
  });
}

/// Adds to the sum of row `row` for row `to` of the table.
static void addWeight(const TileContext &c, Num row, Num to, Num more) {
  Pointer sums = c.valueWeights + row * c.layout.valueRows;
  Num place = c.e.convert(to, c.e.i64);
  sums.store(place, sums.load(place) + more);
}

/// The weights for the keys begin ... end - 1, whatever they pick.
static void addWeights(const TileContext &c, Num row, Pointer weights,
                       Num begin, Num end, Num firstKey) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes(), count = c.layout.valueRows;
  auto add = [&](Num to, Num more) { addWeight(c, row, to, more); };
  // Far from the diagonal most keys pick one row: its weights are summed in
  // registers until another comes.
  Num none = e.constant(e.vec(lanes, e.f32), 0.0);
  Nums left =
      e.loop(begin, end, lanes, {e.constant(e.i32, int64_t(0)), none},
             [&](Num at, ArrayRef<Num> carried) -> Nums {
               Num current = carried[0], held = carried[1];
               Num weight = weights.load(at, lanes);
               Num number = emitPair(c, op.getValueRow(), row, firstKey + at);
               number = max(min(number, count - 1), 0);
               return e.choose(
                   e.any(number != e.splat(current, lanes)),
                   [&]() -> Nums {
                     add(current, e.sum(held));
                     Num first = e.lane(number, 0);
                     return e.choose(
                         e.any(number != e.splat(first, lanes)),
                         [&]() -> Nums {
                           for (int64_t lane = 0; lane < lanes; ++lane)
                             add(e.lane(number, lane), e.lane(weight, lane));
                           return {first, none};
                         },
                         [&]() -> Nums { return {first, weight}; });
                   },
                   [&]() -> Nums { return {current, held + weight}; });
             });
  add(left[0], e.sum(left[1]));
}

void emitRowWeights(const TileContext &c, Num row, Pointer weights, Num begin,
                    Num end, Num firstKey) {
  emitShrunk(c, row);
  addWeights(c, row, weights, begin, end, firstKey);
}

namespace {

/// The weights of a row group, where the rows of the table that its pairs pick
/// run on: panel by panel, since a few scalars tell how a panel's lie.
class WeightRuns {
public:
  WeightRuns(const TileContext &c, const PairRuns &runs, Num group, Num tile)
      : c(c), e(c.e), runs(runs), tile(tile), rows(c.layout.rowTile),
        lanes(c.lanes()), panel(c.layout.panel), firstRow(group * rows) {}

  void emit(Num begin, Num end) const {
    end = begin + alignUp(max(end - begin, 0), lanes);
    Nums start(rows, e.constant(e.vec(lanes, e.f32), 0.0));
    start.insert(start.begin(), e.index(0));
    Nums left = e.loop(begin, end, panel, start,
                       [&](Num at, ArrayRef<Num> held) -> Nums {
                         return emitPanel(at, end, held);
                       });
    flush(left);
  }

private:
  Pointer weights(Num row) const { return c.scores + row * c.layout.keys; }
  /// Sum of the weights of the panel, by lane.
  Num sumAt(int64_t r, Num at) const {
    Num sum = weights(firstRow + r).load(at, lanes);
    for (int64_t n = lanes; n < panel; n += lanes)
      sum = sum + weights(firstRow + r).load(at + n, lanes);
    return sum;
  }
  /// `held`: a row of the table, and what each row of the group has for it.
  void flush(ArrayRef<Num> held) const {
    for (int64_t r = 0; r < rows; ++r)
      addWeight(c, firstRow + r, held[0], e.sum(held[1 + r]));
  }

  Nums emitPanel(Num at, Num end, ArrayRef<Num> held) const {
    PairRuns::Shape shape =
        runs.shape(firstRow, rows, tile + at, e.index(panel));
    Num isWhole = at + panel <= end;
    Num number = max(
        min(runs.indexAt(0, firstRow, tile + at), c.layout.valueRows - 1), 0);
    Num isEqual = isWhole & shape.isEqual;
    return e.choose(
        isEqual & (number == held[0]),
        [&]() -> Nums {
          Nums next = {held[0]};
          for (int64_t r = 0; r < rows; ++r)
            next.push_back(held[1 + r] + sumAt(r, at));
          return next;
        },
        [&] {
          flush(held);
          return e.choose(
              isEqual, [&] { return begin(number, at); },
              [&]() -> Nums {
                e.when(
                    isWhole & shape.isStraight, [&] { addStraight(at); },
                    [&] { addEach(at, min(at + panel, end)); });
                Nums none(rows, e.constant(e.vec(lanes, e.f32), 0.0));
                none.insert(none.begin(), held[0]);
                return none;
              });
        });
  }
  Nums begin(Num number, Num at) const {
    Nums next = {number};
    for (int64_t r = 0; r < rows; ++r)
      next.push_back(sumAt(r, at));
    return next;
  }
  void addEach(Num at, Num end) const {
    e.loop(firstRow, firstRow + rows, 1,
           [&](Num row) { addWeights(c, row, weights(row), at, end, tile); });
  }
  /// Each key its own row of the table, one behind the other.
  void addStraight(Num at) const {
    bool falls = runs.stepsOf(0).key < 0;
    e.loop(firstRow, firstRow + rows, 1, [&](Num row) {
      Pointer sums = c.valueWeights + row * c.layout.valueRows;
      for (int64_t n = 0; n < panel; n += lanes) {
        Num number = runs.indexAt(0, row, tile + at + n);
        Num more = weights(row).load(at + n, lanes);
        if (falls) {
          number = number - (lanes - 1);
          SmallVector<int32_t> back;
          for (int32_t lane = lanes - 1; lane >= 0; --lane)
            back.push_back(lane);
          more = e.shuffle(more, more, back);
        }
        sums.store(number, sums.load(number, lanes) + more);
      }
    });
  }

  const TileContext &c;
  Emitter &e;
  const PairRuns &runs;
  Num tile;
  int64_t rows, lanes, panel;
  Num firstRow;
};

} // namespace

static void emitTileWeights(const TileContext &c, Num groups, Num tile) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  PairRuns runs(c, op.getValueRow(), /*yielded=*/true);
  e.loop(0, groups, 1, [&](Num group) {
    Num begin = alignDown(c.tileFirst(group).load(0) - tile, c.lanes());
    Num end = c.tileFirst(group).load(1) - tile;
    auto eachRow = [&](function_ref<void(Num)> body) {
      e.loop(group * c.layout.rowTile, (group + 1) * c.layout.rowTile, 1, body);
    };
    eachRow([&](Num row) { emitShrunk(c, row); });
    if (c.runsOn && runs.exist())
      return WeightRuns(c, runs, group, tile).emit(begin, end);
    eachRow([&](Num row) {
      addWeights(c, row, c.scores + row * c.layout.keys, begin, end, tile);
    });
  });
}

void emitValueWeights(const TileContext &c, Num groups, Num tile) {
  if (!c.layout.valueRows)
    return;
  if (!c.near)
    return emitTileWeights(c, groups, tile);
  TileContext near = c;
  near.op = c.near->op();
  c.e.when(
      c.isNear, [&] { emitTileWeights(near, groups, tile); },
      [&] {
        TileContext wide = c;
        wide.runsOn = Num();
        emitTileWeights(wide, groups, tile);
      });
}

namespace {

/// Columns of an output row, `vectors` of `lanes` from `column` on, and the
/// sums by row of the table that belong to it.
struct RowColumns {
  const TileContext &c;
  const Table &table;
  Place place;
  Pointer output, sums;
  Num column;
  int64_t vectors, lanes;

  /// output + sums * table; `onlySeen`: a weight of 0 keeps out what is not
  /// finite.
  Nums added(bool onlySeen) const {
    Emitter &e = c.e;
    Nums start;
    for (int64_t v = 0; v < vectors; ++v)
      start.push_back(output.load(column + v * lanes, lanes));
    return e.loop(
        0, e.index(c.layout.valueRows), 1, start,
        [&](Num number, ArrayRef<Num> carried) -> Nums {
          Num weight = e.splat(sums.load(number), lanes);
          Num first = number * c.layout.value + column;
          Nums next;
          for (int64_t v = 0; v < vectors; ++v) {
            Num row = c.tables.rates(table, place, first + v * lanes, lanes);
            Num sum = fma(weight, row, carried[v]);
            next.push_back(onlySeen ? select(weight == 0.0, carried[v], sum)
                                    : sum);
          }
          return next;
        });
  }

  void emit() const {
    Emitter &e = c.e;
    Nums found = added(false);
    Num probe = found[0] - found[0];
    for (int64_t v = 1; v < vectors; ++v)
      probe = probe + (found[v] - found[v]);
    Num isNan = e.isNan(probe);
    found = e.choose(
        lanes > 1 ? e.any(isNan) : isNan, [&] { return added(true); },
        [&]() -> Nums { return found; });
    for (int64_t v = 0; v < vectors; ++v)
      output.store(column + v * lanes, found[v]);
  }
};

} // namespace

void emitValueRows(const TileContext &c, Num rows) {
  if (!c.layout.valueRows)
    return;
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes(), width = c.layout.value;
  const Table &table = c.kernel.tables[*op.getValueTable()];
  e.loop(0, rows, 1, [&](Num row) {
    Place place = c.place;
    place.head = c.rowHeads.load(row);
    auto piece = [&](Num column, int64_t vectors, int64_t n) {
      RowColumns{c,
                 table,
                 place,
                 c.outputs + row * c.layout.valueWidth(),
                 c.valueWeights + row * c.layout.valueRows,
                 column,
                 vectors,
                 n}
          .emit();
    };
    // As many sums at once as hide the latency of one.
    constexpr int64_t most = 8;
    int64_t vectors = width / lanes, whole = vectors / most * most;
    if (whole)
      e.loop(0, e.index(whole * lanes), most * lanes,
             [&](Num column) { piece(column, most, lanes); });
    if (whole < vectors)
      piece(e.index(whole * lanes), vectors - whole, lanes);
    e.loop(vectors * lanes, e.index(width), 1,
           [&](Num column) { piece(column, 1, 1); });
  });
}

} // namespace torsor
