// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times values, in registers: rowTile rows by a panel of columns, the
// weights broadcast.
#include "codegen/cpu/ValueTile.h"

using namespace mlir;

namespace torsor {

namespace {

class ValueTile {
public:
  ValueTile(const PrefillContext &c, Num firstRow, Pointer values, Num column,
            int64_t vectors, Num tile)
      : c(c), e(c.e), firstRow(firstRow), values(values), column(column),
        rows(c.layout.rowTile), vectors(vectors), tile(tile) {}

  void emit(Num begin, Num end) {
    Nums start;
    for (int64_t r = 0; r < rows; ++r) {
      Num alpha = e.splat(c.alphas.load(firstRow + r), c.lanes());
      for (int64_t v = 0; v < vectors; ++v)
        start.push_back(c.outputs.load(at(r, v), c.lanes()) * alpha);
    }
    Nums sums = product(begin, end, start, /*onlySeen=*/false);
    // 0 * inf is NaN: a key that a row does not see may have left one.
    sums = e.choose(
        isFinite(sums), [&]() -> Nums { return sums; },
        [&]() -> Nums { return product(begin, end, start, true); });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        c.outputs.store(at(r, v), sums[r * vectors + v]);
  }

private:
  Num at(int64_t r, int64_t v) {
    return (firstRow + r) * c.layout.valueWidth() + column + v * c.lanes();
  }

  Nums product(Num begin, Num end, ArrayRef<Num> start, bool onlySeen) {
    Pointer weights = c.scores + firstRow * c.layout.keys;
    return e.loop(
        begin, end, 1, start, [&](Num key, ArrayRef<Num> carried) -> Nums {
          Nums sums(carried), loaded;
          for (int64_t v = 0; v < vectors; ++v)
            loaded.push_back(values.load(
                key * (vectors * c.lanes()) + v * c.lanes(), c.lanes()));
          for (int64_t r = 0; r < rows; ++r) {
            Num weight = weights.load(key - tile + r * c.layout.keys);
            Num broadcast = e.splat(weight, c.lanes());
            for (int64_t v = 0; v < vectors; ++v) {
              Num &sum = sums[r * vectors + v];
              Num added = fma(broadcast, loaded[v], sum);
              sum = onlySeen ? select(broadcast != 0.0, added, sum) : added;
            }
          }
          return sums;
        });
  }

  Num isFinite(ArrayRef<Num> sums) {
    Num zero = e.constant(sums[0].type(), 0.0), probe = zero;
    for (Num sum : sums)
      probe = fma(sum, zero, probe);
    return e.any(e.isNan(probe)) ^ 1;
  }

  const PrefillContext &c;
  Emitter &e;
  Num firstRow;
  Pointer values;
  Num column;
  int64_t rows, vectors;
  Num tile;
};

} // namespace

void emitOutputs(const PrefillContext &c, Num groups, Num tile) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  for (const ValuePanels &panels : c.layout.valuePanels)
    e.loop(0, e.index(panels.count), 1, [&](Num panel) {
      Num column = panel * (panels.vectors * lanes) + panels.first * lanes;
      Pointer values = c.values + column * c.padded;
      e.loop(0, groups, 1, [&](Num group) {
        Num begin = c.tileFirst(group).load(0);
        Num end = c.tileFirst(group).load(1);
        e.when(begin < end, [&] {
          ValueTile(c, group * c.layout.rowTile, values, column, panels.vectors,
                    tile)
              .emit(begin, end);
        });
      });
    });
}

} // namespace torsor
