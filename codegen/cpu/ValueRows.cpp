// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A vector added to values, a row of a table by pair.
#include "codegen/cpu/ValueRows.h"

#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

void emitRowWeights(const TileContext &c, Num row, Pointer weights, Num begin,
                    Num end, Num firstKey) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
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
  auto add = [&](Num to, Num more) {
    Num place = e.convert(to, e.i64);
    sums.store(place, sums.load(place) + more);
  };
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

void emitValueWeights(const TileContext &c, Num groups, Num tile) {
  if (!c.layout.valueRows)
    return;
  Emitter &e = c.e;
  e.loop(0, groups, 1, [&](Num group) {
    Num begin = alignDown(c.tileFirst(group).load(0) - tile, c.lanes());
    Num end = c.tileFirst(group).load(1) - tile;
    e.loop(group * c.layout.rowTile, (group + 1) * c.layout.rowTile, 1,
           [&](Num row) {
             emitRowWeights(c, row, c.scores + row * c.layout.keys, begin, end,
                            tile);
           });
  });
}

void emitValueRows(const TileContext &c, Num rows) {
  if (!c.layout.valueRows)
    return;
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes(), width = c.layout.value;
  int64_t whole = width / lanes * lanes;
  const Table &table = c.kernel.tables[*op.getValueTable()];
  e.loop(0, rows, 1, [&](Num row) {
    Place place = c.place;
    place.head = c.rowHeads.load(row);
    Pointer output = c.outputs + row * c.layout.valueWidth();
    Pointer sums = c.valueWeights + row * c.layout.valueRows;
    e.loop(0, e.index(c.layout.valueRows), 1, [&](Num number) {
      Num weight = sums.load(number);
      auto piece = [&](Num at, int64_t n) {
        Num added = c.tables.rates(table, place, number * width + at, n);
        Num sum = output.load(at, n), factor = e.splat(weight, n);
        // A weight of 0 keeps out what is not finite.
        output.store(at, select(factor == 0.0, sum, fma(factor, added, sum)));
      };
      e.loop(0, e.index(whole), lanes, [&](Num at) { piece(at, lanes); });
      e.loop(whole, e.index(width), 1, [&](Num at) { piece(at, 1); });
    });
  });
}

} // namespace torsor
