// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing a tile of keys for the register tiles.
#include "codegen/cpu/PackKeys.h"

#include "codegen/cpu/KeySlots.h"

using namespace mlir;

namespace torsor {

Place keyPlace(const TileContext &c, const Indices &indices, Num number) {
  Emitter &e = c.e;
  Place place = c.place;
  const Sequence &sequence = place.sequence;
  KeySlot slot = locateKey(e, c.tables.call, sequence, number);
  place.row = slot.row;
  place.token = slot.slot;
  place.index = e.choose(
      indices.keys.isAbsent(),
      [&]() -> Nums { return {sequence.keyIndex + number}; },
      [&]() -> Nums {
        return {indices.keys.data.load(place.row * indices.keys.stride(0) +
                                       place.token * indices.keys.stride(1))};
      })[0];
  return place;
}

/// Transposes a square of `lanes` vectors.
static Nums transpose(Emitter &e, Nums rows) {
  int64_t lanes = rows.size();
  // Swap blocks of half the lanes, then a quarter, … between rows that far
  // apart.
  for (int64_t half = lanes / 2; half; half /= 2) {
    SmallVector<int32_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool upper = lane & half;
      low.push_back(upper ? lanes + lane - half : lane);
      high.push_back(upper ? lanes + lane : lane + half);
    }
    for (int64_t r = 0; r < lanes; ++r) {
      if (r & half)
        continue;
      Num a = rows[r], b = rows[r + half];
      rows[r] = e.shuffle(a, b, low);
      rows[r + half] = e.shuffle(a, b, high);
    }
  }
  return rows;
}

/// Moves `lanes` rows of scratch into the panel, as columns.
static void emitTransposed(const TileContext &c, Pointer rows, Num key) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), head = c.layout.head, panel = c.layout.panel;
  Pointer to = c.keys + (key / panel * (head * panel) + key % panel);
  int64_t whole = head / lanes * lanes;
  e.loop(0, e.index(whole), lanes, [&](Num d) {
    Nums square;
    for (int64_t r = 0; r < lanes; ++r)
      square.push_back(rows.load(d + r * head, lanes));
    square = transpose(e, square);
    for (int64_t r = 0; r < lanes; ++r)
      to.store((d + r) * panel, square[r]);
  });
  e.loop(whole, e.index(head), 1, [&](Num d) {
    Num column = e.undef(e.vec(lanes, e.f32));
    for (int64_t r = 0; r < lanes; ++r)
      column = e.insert(column, rows.load(d + r * head), r);
    to.store(d * panel, column);
  });
}

void emitPackKeys(const TileContext &c, ArrayRef<BlockAttr> blocks,
                  const Indices &indices, const Tensor &k, Num isActed,
                  Num tile, Num begin, Num end, Pointer scratch) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num last = end - 1;
  Num strides[3] = {k.stride(0), k.stride(1), k.stride(2)};
  Nums start;
  SmallVector<Type> bounded = {e.i64};
  llvm::append_range(bounded, c.layout.columnSlots);
  for (Type type : bounded) {
    Bounds none = Bounds::none(e, type);
    start.append({none.low, none.high});
  }
  // Whole panels are filled: the last key stands for those behind it.
  Num filled = alignUp(end, c.layout.panel);
  Nums ends = e.loop(
      begin, filled, c.lanes(), start,
      [&](Num first, ArrayRef<Num> outer) -> Nums {
        Nums bounds = e.loop(
            0, e.index(c.lanes()), 1, outer,
            [&](Num n, ArrayRef<Num> carried) -> Nums {
              Num number = first + n;
              Place place = keyPlace(c, indices, min(number, last));
              Nums slots = {place.index};
              slots.append(
                  emitSlots(op.getColumns(), c.tables, place, true, false));
              c.keyIndices.store(number, e.convert(place.index, e.i32));
              Nums next;
              for (auto [s, slot] : llvm::enumerate(slots)) {
                if (s)
                  storeSlot(e, c.columnSlots[s - 1], number, slot);
                Bounds b =
                    Bounds{carried[2 * s], carried[2 * s + 1]}.with(slot);
                next.append({b.low, b.high});
              }
              Pointer from =
                  k.data + (place.row * strides[0] + place.group * strides[1] +
                            place.token * strides[2]);
              Pointer to = scratch.as(e.f32) + n * c.layout.head;
              auto time = [&](int64_t slot) { return slots[slot + 1]; };
              auto act = [&](ArrayRef<BlockAttr> acting) {
                Action action = {acting, false, c.layout.head, time, Num()};
                emitAction(e, c.lanes(), action, c.tables, place, from, to);
              };
              if (blocks.empty())
                act({});
              else
                e.when(isActed, [&] { act({}); }, [&] { act(blocks); });
              return next;
            });
        emitTransposed(c, scratch.as(e.f32), first);
        return bounds;
      });
  Pointer words = c.tileBounds + tile * c.layout.tileBoundsWords();
  for (size_t n = 0; n < ends.size(); n += 2)
    storeBounds(e, words, n, {ends[n], ends[n + 1]});
}

void emitPackValues(const TileContext &c, const Tensor &v, Num begin, Num end) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.value;
  Num strides[3] = {v.stride(0), v.stride(1), v.stride(2)};
  // Vectors from `from` on, loaded or put together at the end of a row.
  auto vectorAt = [&](Pointer row, int64_t column) {
    int64_t left = width - column;
    if (left >= lanes)
      return e.convert(row.load(column, lanes), e.f32);
    Num vector = e.constant(e.vec(lanes, e.f32), 0.0);
    for (int64_t n = 0; n < left; ++n)
      vector = e.insert(vector, e.convert(row.load(column + n), e.f32), n);
    return vector;
  };
  e.loop(begin, end, 1, [&](Num number) {
    KeySlot slot = locateKey(e, c.tables.call, c.place.sequence, number);
    Pointer row =
        v.data + (slot.row * strides[0] + c.place.group * strides[1] +
                  slot.slot * strides[2]);
    for (const ValuePanels &panels : c.layout.valuePanels)
      for (int64_t p = 0; p < panels.count; ++p) {
        int64_t vector = panels.first + p * panels.vectors;
        Pointer to = c.values + (c.padded * (vector * lanes) +
                                 number * (panels.vectors * lanes));
        for (int64_t n = 0; n < panels.vectors; ++n)
          to.store(n * lanes, vectorAt(row, (vector + n) * lanes));
      }
  });
}

} // namespace torsor
