// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys against the rows of a decode block: what the keys
// bring, masks and biases, weights.
#include "codegen/cpu/DecodeChunk.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Exp.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/ValueRows.h"

using namespace mlir;

namespace torsor {

bool DecodeSplit::keysInPairs(const TileLayout &layout) const {
  return comeInPairs(k.data.element) && layout.head / layout.lanes % 2 == 0;
}

bool DecodeSplit::valuesInPairs() const {
  return comeInPairs(v.data.element) && valueBlocks.empty();
}

void DecodeSplit::emitInOrder(const TileContext &c, Num rows) const {
  int64_t lanes = c.lanes(), tileWidth = tile.valueVectors * lanes;
  if (valuesInPairs())
    emitPairOrder(c.outputs, rows, c.layout.valueWidth(),
                  c.layout.value / tileWidth * tileWidth, lanes,
                  /*back=*/true);
}

void DecodeSplit::emitAddresses(const TileContext &c) const {
  int64_t lanes = c.lanes() / 2; // of 8 bytes
  auto fill = [&](int64_t to, const Tensor &tensor, Num number,
                  const KeyRun &run) {
    Pointer list = scratch.bytes(to).as(e.i64) + (number - begin);
    Pointer row = tensor.data + (run.first.row * tensor.stride(0) +
                                 c.place.group * tensor.stride(1) +
                                 run.first.slot * tensor.stride(2));
    Num step = tensor.stride(2) * row.elementBytes();
    Num start = e.splat(addressOf(row.base), lanes) +
                e.iota(e.i64, lanes) * e.splat(step, lanes);
    Num jump = e.splat(step * lanes, lanes);
    e.loop(0, run.count, lanes, {start},
           [&](Num n, ArrayRef<Num> carried) -> Nums {
             list.store(n, carried[0]);
             return {carried[0] + jump};
           });
  };
  Num known = min(end + decodeChunk, c.keyCount);
  forKeyRuns(e, c.tables.call, c.place.sequence, begin, known,
             [&](Num number, const KeyRun &run) {
               fill(at.keyRows, k, number, run);
               fill(at.valueRows, v, number, run);
             });
  Pointer keys = scratch.bytes(at.keyRows).as(e.pointer);
  Pointer values = scratch.bytes(at.valueRows).as(e.pointer);
  if (!valueBlocks.empty())
    emitActedValues(c);
  Num count = valueBlocks.empty() ? known - begin : end - begin;
  Num key = keys.load(count - 1), value = values.load(count - 1);
  e.loop(count, alignUp(end - begin, decodeChunk) + decodeChunk, 1, [&](Num n) {
    keys.store(n, key);
    values.store(n, value);
  });
}

void DecodeSplit::emitActedValues(const TileContext &c) const {
  AttentionOp op = c.op;
  Pointer values = scratch.bytes(at.valueRows).as(e.pointer);
  e.loop(begin, end, 1, [&](Num number) {
    Place place = keyPlace(c, indices, number);
    Nums slots = emitSlots(op.getColumns(), c.tables, place, true, false);
    auto time = [&](int64_t slot) { return slots[slot]; };
    Num n = number - begin;
    Pointer from = {values.load(n), v.data.element};
    Pointer to = scratch.bytes(at.actedValues).as(e.f32) + n * c.layout.value;
    auto act = [&](ArrayRef<BlockAttr> blocks) {
      emitValueAction(e, c.lanes(), blocks, c.layout.value, time, c.tables,
                      place, false, from, to);
    };
    if (op.getValuesActed()) // lanes of a key that may lie acted on
      e.when(isActed, [&] { act({}); }, [&] { act(valueBlocks); });
    else
      act(valueBlocks);
    values.store(n, to.base);
  });
}

Place DecodeChunk::place(Num number) const {
  // Keys behind the last are taken to be the last; they are hidden.
  return keyPlace(c, split.indices, first + min(number, count - 1));
}

SmallVector<Bounds> DecodeChunk::emitColumns() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  SmallVector<Type> bounded;
  if (!op.getTile().empty()) {
    bounded.push_back(e.i64);
    llvm::append_range(bounded, c.layout.columnSlots);
  }
  Nums start;
  for (Type type : bounded) {
    Bounds none = Bounds::none(e, type);
    start.append({none.low, none.high});
  }
  Nums ends = e.loop(
      0, alignUp(count, c.lanes()), 1, start,
      [&](Num number, ArrayRef<Num> carried) -> Nums {
        Place at = place(number);
        Contents contents;
        if (c.layout.readsKeys)
          contents =
              emitKeyVector(c, keyLanes(op), at,
                            split.keyRow(inSplit(min(number, count - 1))),
                            number, split.isActed);
        c.keyIndices.store(number, e.convert(at.index, e.i32));
        auto evaluate = [&](Num row, ArrayRef<Num> before) -> Nums {
          if (c.layout.slotsByHead)
            at.head = c.rowHeads.load(row);
          Nums slots = {at.index};
          slots.append(
              emitSlots(op.getColumns(), c.tables, at, true, false, contents));
          Num to = c.layout.slotsByHead ? row * c.slotStride + number : number;
          for (auto [n, slot] : llvm::enumerate(ArrayRef(slots).drop_front()))
            storeSlot(e, c.columnSlots[n], to, slot);
          Nums next;
          for (size_t n = 0; n < bounded.size(); ++n) {
            Bounds bounds =
                Bounds{before[2 * n], before[2 * n + 1]}.with(slots[n]);
            next.append({bounds.low, bounds.high});
          }
          return next;
        };
        if (!c.layout.slotsByHead)
          return evaluate(e.index(0), carried);
        return e.loop(0, rows, 1, carried, evaluate);
      });
  SmallVector<Bounds> bounds;
  for (size_t n = 0; n < ends.size(); n += 2)
    bounds.push_back({ends[n], ends[n + 1]});
  return bounds;
}

Num DecodeChunk::needsColumns(Num partial) const {
  AttentionOp op = c.op;
  if (!op.getTile().empty() || !op.getInit().empty() ||
      !op.getLogit().empty() || c.layout.valueRows)
    return c.e.constant(c.e.i1, int64_t(1));
  return split.blocks.empty() ? partial : partial | (split.isActed ^ 1);
}

KeyRows DecodeChunk::cachedRows() const {
  Pointer list = split.scratch.bytes(split.at.keyRows).as(c.e.pointer);
  return {list + inSplit(c.e.index(0)), split.k.data.element};
}

void DecodeChunk::emitActedKeys(int64_t form, const KeyRows &acted) const {
  Emitter &e = c.e;
  ArrayRef<BlockAttr> blocks = c.layout.forms.keys[form];
  Pointer anchors =
      split.scratch.bytes(split.at.anchors + form * c.layout.anchors * 8);
  Pointer keys = split.scratch.bytes(split.at.keys).as(e.f32);
  e.loop(0, count, 1, [&](Num number) {
    auto time = [&](int64_t slot) {
      return loadSlot(e, c.columnSlots[slot], number, 1,
                      c.layout.columnSlots[slot]);
    };
    RowLanes around = keyLanes(c.op);
    Action action = {blocks, false, c.layout.head, time, Num(), &around};
    auto anchor = [&](BlockAttr block) {
      return anchorOf(blocks, block, anchors);
    };
    action.anchor = anchor;
    emitAction(e, c.lanes(), action, c.tables, place(number),
               split.keyRow(inSplit(number)), keys + number * c.layout.head);
  });
  e.loop(0, alignUp(count, c.lanes()), 1, [&](Num number) {
    Num at = min(number, count - 1);
    acted.list.store(number, (keys + at * c.layout.head).base);
  });
}

void DecodeChunk::emitForm(int64_t query, int64_t key) const {
  Emitter &e = c.e;
  ArrayRef<BlockAttr> blocks = c.layout.forms.keys[key];
  TileContext inForm = c;
  inForm.queries = c.queryRow(query, e.index(0));
  DecodeChunk chunk = {inForm, split, rows, first, count};
  KeyRows cached = cachedRows();
  if (blocks.empty() && keyLanes(c.op).isEmpty())
    return chunk.emitProducts(cached);
  KeyRows acted = {frameSlots(e, e.pointer, decodeChunk), e.f32};
  auto act = [&] { chunk.emitActedKeys(key, acted); };
  if (cached.element != acted.element) {
    e.when(
        split.isActed, [&] { chunk.emitProducts(cached); },
        [&] {
          act();
          chunk.emitProducts(acted);
        });
    return;
  }
  // The products are much code: one copy does for both.
  e.when(split.isActed ^ 1, act);
  Num list = select(split.isActed, cached.list.base, acted.list.base);
  chunk.emitProducts({e.at(list, e.pointer), e.f32});
}

/// Least and greatest branch of the chunk's pairs.
SmallVector<Num, 2> DecodeChunk::branchBounds() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  Type vector = e.vec(lanes, e.i32);
  Nums start = {e.constant(vector, int64_t(INT32_MAX)),
                e.constant(vector, int64_t(INT32_MIN))};
  Nums ends =
      e.loop(0, rows, 1, start, [&](Num row, ArrayRef<Num> outer) -> Nums {
        return e.loop(0, count, lanes, outer,
                      [&](Num key, ArrayRef<Num> carried) -> Nums {
                        Num branch = emitPair(c, op.getBranch(), row, key);
                        return {min(carried[0], branch),
                                max(carried[1], branch)};
                      });
      });
  Num low = e.lane(ends[0], 0), high = e.lane(ends[1], 0);
  for (int64_t lane = 1; lane < lanes; ++lane) {
    low = min(low, e.lane(ends[0], lane));
    high = max(high, e.lane(ends[1], lane));
  }
  return {low, high};
}

void DecodeChunk::emitBranches() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  SmallVector<Num, 2> ends = branchBounds();
  Num isMixed = ends[0] != ends[1];
  Pointer merged = split.scratch.bytes(split.at.merged).as(e.f32);
  auto eachVector = [&](function_ref<void(Num, Num, Num)> body) {
    e.loop(0, rows, 1, [&](Num row) {
      e.loop(0, count, lanes,
             [&](Num key) { body(row, key, row * decodeChunk + key); });
    });
  };
  for (auto [n, forms] : llvm::enumerate(c.layout.forms.branches)) {
    int64_t branch = n;
    Num hasSome = (ends[0] <= branch) & (ends[1] >= branch);
    e.when(hasSome, [&] {
      emitForm(forms.query, forms.key);
      e.when(isMixed, [&] {
        eachVector([&](Num row, Num key, Num at) {
          Num own = emitPair(c, op.getBranch(), row, key) == branch;
          merged.store(at, select(own, c.scores.load(at, lanes),
                                  merged.load(at, lanes)));
        });
      });
    });
  }
  e.when(isMixed, [&] {
    eachVector(
        [&](Num, Num, Num at) { c.scores.store(at, merged.load(at, lanes)); });
  });
}

void DecodeChunk::emitAllForms() const {
  if (c.layout.forms.isOne())
    emitForm(0, 0);
  else
    emitBranches();
}

void DecodeChunk::emitScores(Num partial) const {
  AttentionOp op = c.op;
  emitAllForms();
  if (!op.getInit().empty() || !op.getLogit().empty())
    return emitBiases(partial);
  c.e.when(partial, [&] { emitMask(); });
}

/// The greatest lane of a vector without NaN.
static Num greatest(Emitter &e, Num vector) {
  for (int64_t n = vector.lanes() / 2; n > 1; n /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < n; ++lane) {
      low.push_back(lane);
      high.push_back(lane + int32_t(n));
    }
    vector =
        max(e.shuffle(vector, vector, low), e.shuffle(vector, vector, high));
  }
  return max(e.lane(vector, 0), e.lane(vector, 1));
}

void DecodeChunk::emitWeights() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  AttentionOp op = c.op;
  bool isLinear = op.getLinear();
  Num filled = alignUp(count, lanes);
  // Of a linear readout the maximum says only whether a key is seen.
  auto rank = [&](Num score) {
    return isLinear ? select(score == hiddenScore, score, 0.0) : score;
  };
  e.loop(0, rows, 1, [&](Num row) {
    Pointer scores = c.scores + row * decodeChunk;
    Num start = e.constant(e.vec(lanes, e.f32), lowestMaximum);
    Num highest = e.loop(
        0, filled, lanes, {start}, [&](Num key, ArrayRef<Num> carried) -> Nums {
          return {max(carried[0], rank(scores.load(key, lanes)))};
        })[0];
    Num before = c.maxima.load(row);
    Num now = max(before, greatest(e, highest));
    c.maxima.store(row, now);
    Num alpha = emitExp2(e, c.target(), before - now);
    c.alphas.store(row, alpha);
    Num sum = c.rowSum.load(row * lanes, lanes) * e.splat(alpha, lanes);
    sum = e.loop(
        0, filled, lanes, {sum}, [&](Num key, ArrayRef<Num> carried) -> Nums {
          Num score = scores.load(key, lanes);
          Num weight =
              isLinear ? select(score == hiddenScore, 0.0, score)
                       : emitExp2(e, c.target(), score - e.splat(now, lanes));
          scores.store(key, weight);
          return {carried[0] + weight};
        })[0];
    c.rowSum.store(row * lanes, sum);
    if (c.layout.valueRows)
      emitRowWeights(c, row, scores, e.index(0), filled, e.index(0));
  });
}

} // namespace torsor
