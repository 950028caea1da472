// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times values, in registers: rows by a panel of columns, the weights
// broadcast.
#include "codegen/cpu/ValueTile.h"

using namespace mlir;

namespace torsor {

static Nums product(const ValueTile &t, Num begin, Num end, ArrayRef<Num> start,
                    bool onlySeen) {
  Emitter &e = *begin.e;
  return e.loop(
      begin, end, 1, start, [&](Num key, ArrayRef<Num> carried) -> Nums {
        Nums sums(carried), loaded;
        if (t.beside && !onlySeen)
          t.beside(key);
        for (int64_t v = 0; v < t.vectors; ++v)
          loaded.push_back(
              t.values.load(key * t.valueStride + v * t.lanes, t.lanes));
        for (int64_t r = 0; r < t.rows; ++r) {
          Num weight =
              e.splat(t.weights.load(key + r * t.weightStride), t.lanes);
          for (int64_t v = 0; v < t.vectors; ++v) {
            Num &sum = sums[r * t.vectors + v];
            Num added = fma(weight, loaded[v], sum);
            sum = onlySeen ? select(weight != 0.0, added, sum) : added;
          }
        }
        return sums;
      });
}

static Num isFinite(ArrayRef<Num> sums) {
  Emitter &e = *sums[0].e;
  Num zero = e.constant(sums[0].type(), 0.0), probe = zero;
  for (Num sum : sums)
    probe = fma(sum, zero, probe);
  return e.any(e.isNan(probe)) ^ 1;
}

void emitValueTile(const ValueTile &t, Num begin, Num end) {
  Emitter &e = *begin.e;
  auto at = [&](int64_t r, int64_t v) {
    return e.index(r * t.outputStride + v * t.lanes);
  };
  auto start = [&] {
    Nums sums;
    for (int64_t r = 0; r < t.rows; ++r) {
      Num alpha = e.splat(t.alphas.load(r), t.lanes);
      for (int64_t v = 0; v < t.vectors; ++v)
        sums.push_back(t.outputs.load(at(r, v), t.lanes) * alpha);
    }
    return sums;
  };
  Nums sums = product(t, begin, end, start(), /*onlySeen=*/false);
  // 0 * inf is NaN: a key that a row does not see may have left one.
  sums = e.choose(
      isFinite(sums), [&]() -> Nums { return sums; },
      [&]() -> Nums { return product(t, begin, end, start(), true); });
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v)
      t.outputs.store(at(r, v), sums[r * t.vectors + v]);
}

void emitOutputs(const TileContext &c, Num groups, Num tile) {
  Emitter &e = c.e;
  const TileLayout &layout = c.layout;
  int64_t lanes = layout.lanes;
  for (const ValuePanels &panels : layout.valuePanels)
    e.loop(0, e.index(panels.count), 1, [&](Num panel) {
      int64_t width = panels.vectors * lanes;
      Num column = panel * width + panels.first * lanes;
      e.loop(0, groups, 1, [&](Num group) {
        Num begin = c.tileFirst(group).load(0) - tile;
        Num end = c.tileFirst(group).load(1) - tile;
        Num row = group * layout.rowTile;
        e.when(begin < end, [&] {
          emitValueTile(
              {.lanes = lanes,
               .rows = layout.rowTile,
               .vectors = panels.vectors,
               .weights = c.scores + row * layout.keys,
               .weightStride = layout.keys,
               .values = c.values + (column * c.padded + tile * width),
               .valueStride = width,
               .outputs = c.outputs + (row * layout.valueWidth() + column),
               .outputStride = layout.valueWidth(),
               .alphas = c.alphas + row},
              begin, end);
        });
      });
    });
}

} // namespace torsor
