// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times values, in registers: rows by a panel of columns, the weights
// broadcast.
#include "codegen/cpu/ValueTile.h"

#include "codegen/cpu/BfloatPairs.h"

using namespace mlir;

namespace torsor {

/// Adds key `key`, whose first column is values[0].
static void addKey(const ValueTile &t, Num key, Pointer values,
                   MutableArrayRef<Num> sums, bool onlySeen) {
  Nums loaded;
  for (int64_t v = 0; v < t.vectors; ++v)
    loaded.push_back(values.load(v * t.lanes, t.lanes));
  for (int64_t r = 0; r < t.rows; ++r) {
    Num weight =
        key.e->splat(t.weights.load(key + r * t.weightStride), t.lanes);
    for (int64_t v = 0; v < t.vectors; ++v) {
      Num &sum = sums[r * t.vectors + v];
      sum = onlySeen ? addWeighted(weight, loaded[v], sum, t.pairs)
                     : multiplyAdd(weight, loaded[v], sum, t.pairs);
    }
  }
}

/// The keys begin … end-1, whole turns of `step` of them. `start` and what it
/// gives: the sums, and the address of the next key's values.
static Nums addKeys(const ValueTile &t, Num begin, Num end, int64_t step,
                    ArrayRef<Num> start, bool onlySeen) {
  Emitter &e = *begin.e;
  return e.loop(begin, end, step, start,
                [&](Num key, ArrayRef<Num> carried) -> Nums {
                  Nums sums(carried);
                  Pointer values = e.at(sums.pop_back_val(), t.values.element);
                  for (int64_t n = 0; n < step; ++n) {
                    addKey(t, n ? key + n : key, values, sums, onlySeen);
                    values = values + t.valueStride;
                  }
                  sums.push_back(values.base);
                  return sums;
                });
}

static Nums product(const ValueTile &t, Num begin, Num end, ArrayRef<Num> start,
                    bool onlySeen) {
  Nums sums(start);
  sums.push_back((t.values + begin * t.valueStride).base);
  if (!onlySeen) {
    // Two keys a turn: what else a turn does weighs half as much.
    Num pairs = begin + alignDown(end - begin, 2);
    sums = addKeys(t, begin, pairs, 2, sums, onlySeen);
    begin = pairs;
  }
  sums = addKeys(t, begin, end, 1, sums, onlySeen);
  sums.pop_back();
  return sums;
}

/// Whether all are finite; a sum that overflows may be taken for one that is
/// not. Added up in a tree: additions run beside the multiply-adds.
static Num areFinite(Nums sums) {
  while (sums.size() > 1) {
    Nums halves;
    for (size_t n = 0; n < sums.size(); n += 2)
      halves.push_back(n + 1 < sums.size() ? sums[n] + sums[n + 1] : sums[n]);
    sums = halves;
  }
  Emitter &e = *sums[0].e;
  return e.any(e.isNan(sums[0] - sums[0])) ^ 1;
}

/// What was summed before, times alpha.
static Nums startOf(const ValueTile &t) {
  Nums sums;
  for (int64_t r = 0; r < t.rows; ++r) {
    Num alpha = t.alphas.load(r);
    alpha = alpha.e->splat(alpha, t.lanes);
    for (int64_t v = 0; v < t.vectors; ++v)
      sums.push_back(t.outputs.load(r * t.outputStride + v * t.lanes, t.lanes) *
                     alpha);
  }
  return sums;
}

/// The rare product that leaves out what weighs nothing: a vector of columns
/// after the other, since it needs more registers for each.
static Nums onlySeen(const ValueTile &t, Num begin, Num end) {
  Emitter &e = *begin.e;
  // The same address under another name: what was loaded through the first
  // need not be kept for this product.
  auto renamed = [&](Pointer p) {
    return e.at(e.call("llvm.launder.invariant.group.p0", e.pointer, {p.base}),
                p.element);
  };
  ValueTile column = t;
  column.vectors = 1;
  column.alphas = renamed(t.alphas);
  Pointer outputs = renamed(t.outputs);
  auto rowOf = [&](Pointer p, int64_t r) { return p + r * t.outputStride; };
  e.loop(0, e.index(t.vectors * t.lanes), t.lanes, [&](Num at) {
    column.values = t.values + at;
    column.outputs = outputs + at;
    Nums found = product(column, begin, end, startOf(column), true);
    for (int64_t r = 0; r < t.rows; ++r)
      rowOf(column.outputs, r).store(0, found[r]);
  });
  Nums sums;
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v)
      sums.push_back(rowOf(outputs, r).load(v * t.lanes, t.lanes));
  return sums;
}

void emitValueTile(const ValueTile &t, Num begin, Num end) {
  Emitter &e = *begin.e;
  Nums sums = product(t, begin, end, startOf(t), /*onlySeen=*/false);
  // 0 * inf is NaN: a key that a row does not see may have left one.
  sums = e.choose(
      areFinite(sums), [&]() -> Nums { return sums; },
      [&]() -> Nums { return onlySeen(t, begin, end); });
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v)
      t.outputs.store(r * t.outputStride + v * t.lanes,
                      sums[r * t.vectors + v]);
}

void emitOutputs(const TileContext &c, Num groups, Num tile) {
  Emitter &e = c.e;
  const TileLayout &layout = c.layout;
  int64_t lanes = layout.lanes;
  for (const ValuePanels &panels : layout.valuePanels)
    e.loop(0, e.index(panels.count), 1, [&](Num panel) {
      int64_t width = panels.vectors * lanes;
      Num column = panel * width + panels.first * lanes;
      int64_t word = layout.keysPerWord();
      Num stride = e.index(width);
      Pointer first = c.packedValues(column, tile, width);
      if (c.valuesInPlace) {
        const CallersRows &own = c.callersValues;
        Pointer rows = own.first + (tile * own.stride + column);
        stride = select(c.valuesInPlace, own.stride, stride);
        first.base = select(c.valuesInPlace, rows.base, first.base);
      }
      e.loop(0, groups, 1, [&](Num group) {
        Num begin = c.tileFirst(group).load(0) - tile;
        Num end = c.tileFirst(group).load(1) - tile;
        Num row = group * layout.rowTile;
        e.when(begin < end, [&] {
          ValueTile values = {.lanes = lanes,
                              .rows = layout.rowTile,
                              .vectors = panels.vectors,
                              .pairs = layout.pairs,
                              .weights = c.scores + row * layout.keys,
                              .weightStride = layout.keys,
                              .values = first,
                              .valueStride = stride,
                              .outputs = c.outputs +
                                         (row * layout.valueWidth() + column),
                              .outputStride = layout.valueWidth(),
                              .alphas = c.alphas + row};
          emitValueTile(values,
                        // A hidden neighbour within a word has the weight 0.
                        begin / word, ceilDiv(end, word));
        });
      });
    });
}

} // namespace torsor
