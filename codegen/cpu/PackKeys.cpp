// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing a tile of keys for the register tiles.
#include "codegen/cpu/PackKeys.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/AnchorSpans.h"
#include "codegen/cpu/BfloatPairs.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/Prefetch.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace torsor {

Place keyPlace(const TileContext &c, const Indices &indices, Num number) {
  Emitter &e = c.e;
  Place place = c.place;
  const Sequence &sequence = place.sequence;
  KeySlot slot = locateKey(e, c.tables.call, sequence, number);
  place.row = slot.row;
  place.token = slot.slot;
  place.number = number;
  place.index = tokenIndex(indices.keys, place.row, place.token,
                           sequence.keyIndex + number);
  return place;
}

/// The lower and the upper halves of each 128 bits of a and b, units of `unit`
/// lanes in turn.
static std::pair<Num, Num> interleave(Emitter &e, Num a, Num b, int64_t unit) {
  int64_t lanes = a.lanes();
  SmallVector<int32_t> halves[2];
  for (int64_t from = 0; from < lanes; from += 4)
    for (int64_t half : {0, 1})
      for (int64_t at = 0; at < 2; at += unit)
        for (int64_t side : {int64_t(0), lanes})
          for (int64_t lane = 0; lane < unit; ++lane)
            halves[half].push_back(side + from + half * 2 + at + lane);
  return {e.shuffle(a, b, halves[0]), e.shuffle(a, b, halves[1])};
}

/// A power of two of vectors, one behind the other.
static Num concat(Emitter &e, ArrayRef<Num> parts) {
  if (parts.size() == 1)
    return parts[0];
  size_t half = parts.size() / 2;
  Num a = concat(e, parts.take_front(half));
  Num b = concat(e, parts.drop_front(half));
  return e.shuffle(a, b, llvm::to_vector(llvm::seq<int32_t>(0, 2 * a.lanes())));
}

/// Four lanes of each of `lanes` rows as four columns. Rows 4 apart share a
/// vector, 128 bits of each, which loads put together; squares of 4 within 128
/// bits are then transposed, where shuffles are cheapest.
static Nums loadColumns(Emitter &e, Pointer rows, int64_t stride,
                        int64_t lanes) {
  Nums columns;
  for (int64_t r = 0; r < 4; ++r) {
    Nums parts;
    for (int64_t row = r; row < lanes; row += 4)
      parts.push_back(rows.load(row * stride, 4));
    columns.push_back(concat(e, parts));
  }
  for (int64_t unit : {1, 2})
    for (int64_t r = 0; r < 4; ++r)
      if (!(r & unit))
        std::tie(columns[r], columns[r + unit]) =
            interleave(e, columns[r], columns[r + unit], unit);
  // Columns 1 and 2 have come out the wrong way round.
  std::swap(columns[1], columns[2]);
  return columns;
}

/// Moves `lanes` rows of scratch into the panel of these keys, as columns.
static void emitTransposed(const TileContext &c, Pointer keys, Pointer rows,
                           Num key) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), head = c.layout.headWords, panel = c.layout.panel;
  Pointer to = keys + (key / panel * (head * panel) + key % panel);
  int64_t whole = head / 4 * 4;
  e.loop(0, e.index(whole), 4, [&](Num d) {
    Pointer at = to + d * panel;
    Nums columns = loadColumns(e, rows + d, head, lanes);
    for (auto [n, column] : llvm::enumerate(columns))
      at.store(int64_t(n) * panel, column);
  });
  e.loop(whole, e.index(head), 1, [&](Num d) {
    Num column = e.undef(e.vec(lanes, e.f32));
    for (int64_t r = 0; r < lanes; ++r)
      column = e.insert(column, rows.load(d + r * head), r);
    to.store(d * panel, column);
  });
}

Contents emitKeyVector(const TileContext &c, const RowLanes &around,
                       const Place &place, Pointer from, Num slot,
                       Num isActed) {
  int64_t width = c.layout.head;
  Contents contents = {c.contents + slot * width, width};
  auto load = [&](const RowLanes &lanes) {
    emitNormed(lanes, c.tables, place, width, from, contents.row);
  };
  if (around.norm)
    c.e.when(isActed, [&] { load({}); }, [&] { load(around); });
  else
    load({});
  return contents;
}

/// Keeps the vector of key `slot` of those being packed.
static Contents emitKeyContents(const TileContext &c, const RowLanes &around,
                                const Place &place, Pointer from, Num slot,
                                Num isActed) {
  if (!c.layout.readsKeys)
    return {};
  return emitKeyVector(c, around, place, from, slot, isActed);
}

/// The products of the keys first … first + lanes - 1, whose vectors are kept.
static void emitKeyProducts(const TileContext &c, Num first) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.head;
  constexpr int64_t rows = 4;
  for (auto [n, product] : llvm::enumerate(c.layout.products)) {
    if (product.side != Side::Key)
      continue;
    Pointer to = c.products[n] + first * product.padded;
    e.loop(0, e.index(lanes), rows, [&](Num slot) {
      emitProducts(c.tables, c.place, product,
                   {c.contents + slot * width, width}, rows, e.index(1),
                   e.index(0), e.index(product.vectors(lanes)),
                   to + slot * product.padded);
    });
  }
}

/// The times of key `number` as anchors of its stretch.
static void emitTileAnchors(const TileContext &c, const Indices &indices,
                            Num number, Pointer anchors) {
  AttentionOp op = c.op;
  Place place = keyPlace(c, indices, number);
  Nums slots = emitSlots(op.getColumns(), c.tables, place, true, false, {});
  auto time = [&](int64_t slot) { return slots[slot]; };
  emitAnchors(c.e, c.layout.forms.keys[0], false, time, c.tables, place,
              anchors);
}

/// The anchors of all stretches: each of its last key, or all of the tile's.
static void emitAnchorsOfTile(const TileContext &c, const Indices &indices,
                              Num begin, Num last) {
  Emitter &e = c.e;
  auto anchorsAt = [&](Num key) {
    return c.tileAnchors + c.layout.anchorsAt(key);
  };
  Num isShared = e.constant(e.i1, int64_t(1));
  if (c.layout.anchorStretches > 1) {
    Pointer first = frameSlots(e, e.i64, c.layout.anchors);
    emitTileAnchors(c, indices, begin, first);
    emitTileAnchors(c, indices, last, anchorsAt(last));
    isShared = canShareAnchor(c, keyPlace(c, indices, begin),
                              c.layout.forms.keys[0], first, anchorsAt(last));
  }
  int64_t keys = c.layout.anchorKeys;
  e.loop(begin, last + 1, keys, [&](Num key) {
    Num own = min(key + (keys - 1), last);
    emitTileAnchors(c, indices, select(isShared, last, own), anchorsAt(key));
  });
}

/// Asks for a row of k of the next stretches of keys, one of four in turn, as
/// decode does (DecodeLayout.h). Blocks have asked for what they pack.
static void askAhead(const TileContext &c, const Tensor &k, Num number) {
  constexpr int64_t chunk = 64, streams = 4, stretch = chunk / streams;
  Num next = alignDown(number, chunk) + chunk + number % streams * stretch +
             number % chunk / streams;
  KeySlot slot = locateKey(c.e, c.tables.call, c.place.sequence,
                           min(next, c.keyCount - 1));
  Pointer row = k.data + (slot.row * k.stride(0) + c.place.group * k.stride(1) +
                          slot.slot * k.stride(2));
  int64_t bytes = c.layout.head * row.elementBytes();
  for (int64_t at = 0; at < bytes; at += 64)
    prefetch(row.bytes(at));
}

/// Stores the slots behind the first of `values`, the index; adds all of them
/// to their bounds.
static Nums storeSlots(const TileContext &c, ArrayRef<Num> values, Num at,
                       ArrayRef<Num> bounds) {
  Nums next;
  for (auto [n, value] : llvm::enumerate(values)) {
    if (n)
      storeSlot(c.e, c.columnSlots[n - 1], at, value);
    Bounds b = Bounds{bounds[2 * n], bounds[2 * n + 1]}.with(value);
    next.append({b.low, b.high});
  }
  return next;
}

void emitPackKeys(const TileContext &c, const Indices &indices, const Tensor &k,
                  Num isActed, Num begin, Num end, Pointer scratch,
                  const TileTurns *turns) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num last = end - 1;
  Num strides[3] = {k.stride(0), k.stride(1), k.stride(2)};
  auto rowAt = [&](const Place &place) {
    return k.data + (place.row * strides[0] + place.group * strides[1] +
                     place.token * strides[2]);
  };
  RowLanes around = keyLanes(op);
  ArrayRef<Forms::Blocks> forms = c.layout.forms.keys;
  auto rowsOf = [&](int64_t form) {
    return scratch.as(c.layout.packedElement(e)) +
           form * (c.lanes() * c.layout.packedHead());
  };
  Nums start;
  SmallVector<Type> bounded = {e.i64};
  llvm::append_range(bounded, c.layout.columnSlots);
  for (Type type : bounded) {
    Bounds none = Bounds::none(e, type);
    start.append({none.low, none.high});
  }
  Pointer anchors = c.tileAnchors;
  // Branches have no anchor in common: what fades is left out of packed keys.
  bool isAnchored = c.layout.anchors && c.layout.forms.isOne();
  if (isAnchored)
    emitAnchorsOfTile(c, indices, begin, last);
  auto anchor = [&](BlockAttr block) {
    return anchorOf(forms[0], block, anchors);
  };
  // Whole panels are filled: the last key stands for those behind it.
  Num filled = alignUp(end, c.layout.panel);
  Nums ends = e.loop(
      begin, filled, c.lanes(), start,
      [&](Num first, ArrayRef<Num> outer) -> Nums {
        anchors = c.tileAnchors + c.layout.anchorsAt(first);
        Nums bounds = e.loop(
            0, e.index(c.lanes()), 1, outer,
            [&](Num n, ArrayRef<Num> carried) -> Nums {
              Num number = first + n;
              Place place = keyPlace(c, indices, min(number, last));
              Pointer from = rowAt(place);
              if (c.lanes() == 16)
                e.when(c.packsInOrder ^ 1, [&] { askAhead(c, k, number); });
              Contents contents =
                  emitKeyContents(c, around, place, from, n, isActed);
              Nums slots = {place.index};
              slots.append(emitSlots(op.getColumns(), c.tables, place, true,
                                     false, contents));
              c.keyIndices.store(number, e.convert(place.index, e.i32));
              Nums next = storeSlots(c, slots, number, carried);
              if (c.layout.slotsByHead)
                next = e.loop(
                    1, c.layout.slotHeads(c.tables.call), 1, next,
                    [&](Num head, ArrayRef<Num> before) -> Nums {
                      Place other = place;
                      other.head = place.head + head;
                      Nums own = {place.index};
                      own.append(emitSlots(op.getColumns(), c.tables, other,
                                           true, false, contents));
                      return storeSlots(c, own, head * c.slotStride + number,
                                        before);
                    });
              Pointer to;
              auto time = [&](int64_t slot) { return slots[slot + 1]; };
              auto act = [&](ArrayRef<BlockAttr> acting,
                             const RowLanes *lanes = nullptr) {
                Action action = {acting, false, c.layout.head,
                                 time,   Num(), lanes};
                if (isAnchored)
                  action.anchor = anchor;
                KeptTurns ofKey;
                if (turns && !acting.empty()) {
                  ofKey = {turns->words + (number - begin) * turns->step,
                           turns->isFresh};
                  action.turns = &ofKey;
                }
                emitAction(e, c.lanes(), action, c.tables, place, from, to);
              };
              for (auto [form, blocks] : llvm::enumerate(forms)) {
                to = rowsOf(form) + n * c.layout.packedHead();
                if (blocks.empty() && around.isEmpty())
                  act({});
                else
                  e.when(
                      isActed, [&] { act({}); }, [&] { act(blocks, &around); });
                padRow(c.layout, to);
              }
              return next;
            });
        emitKeyProducts(c, first);
        for (size_t form = 0; form < forms.size(); ++form)
          emitTransposed(c, c.keyForm(form), rowsOf(form).as(e.f32), first);
        return bounds;
      });
  Pointer words =
      c.tileBounds + begin / c.layout.keys * c.layout.tileBoundsWords();
  for (size_t n = 0; n < ends.size(); n += 2)
    storeBounds(e, words, n, {ends[n], ends[n + 1]});
}

/// `acts`: what acts on v has yet to.
static void emitPackRows(const TileContext &c, const Tensor &v, bool acts,
                         Num begin, Num end) {
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
  Pointer acted;
  if (acts)
    acted = frameSlots(e, e.f32, width);
  e.loop(begin, end, 1, [&](Num number) {
    KeySlot slot = locateKey(e, c.tables.call, c.place.sequence, number);
    Pointer row = v.data + (slot.row * strides[0] + c.place.group * strides[1] +
                            slot.slot * strides[2]);
    if (acts) {
      auto time = [&](int64_t slot) {
        return loadSlot(e, c.columnSlots[slot], number, 1,
                        c.layout.columnSlots[slot]);
      };
      emitValueAction(e, lanes, c.layout.forms.values, width, time, c.tables,
                      c.place, false, row, acted);
      row = acted;
    }
    for (const ValuePanels &panels : c.layout.valuePanels) {
      int64_t step = panels.vectors * lanes, first = panels.first * lanes;
      // The last panel may hold the end of a row.
      int64_t whole =
          std::min(panels.count, std::max<int64_t>(0, width - first) / step);
      auto panelAt = [&](Num column) {
        return c.packedValues(column, number, step);
      };
      e.loop(first, e.index(first + whole * step), step, [&](Num column) {
        for (int64_t n = 0; n < step; n += lanes)
          panelAt(column).store(n,
                                e.convert(row.load(column + n, lanes), e.f32));
      });
      for (int64_t p = whole; p < panels.count; ++p)
        for (int64_t n = 0; n < step; n += lanes)
          panelAt(e.index(first + p * step))
              .store(n, vectorAt(row, first + p * step + n));
    }
  });
}

void emitPackValues(const TileContext &c, const Tensor &v, Num isActed,
                    Num begin, Num end) {
  if (c.layout.pairs)
    return emitPackValuePairs(c, v, begin, end);
  AttentionOp op = c.op;
  bool acts = !c.layout.forms.values.empty();
  auto pack = [&] { emitPackRows(c, v, acts, begin, end); };
  if (!acts || !op.getValuesActed())
    return pack();
  c.e.when(isActed, [&] { emitPackRows(c, v, false, begin, end); }, pack);
}

} // namespace torsor
