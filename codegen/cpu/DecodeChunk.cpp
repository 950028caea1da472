// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chunk of row-major keys and values against the rows of a decode block.
// Every row of k and v is read whole and in address order, which is what keeps
// the hardware prefetcher at the bandwidth of the memory.
#include "codegen/cpu/DecodeChunk.h"

#include "codegen/cpu/Exp.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/SoftmaxTile.h"
#include "codegen/cpu/ValueTile.h"

using namespace mlir;

namespace torsor {

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

DecodeScratch::DecodeScratch(const TileLayout &layout)
    : queryWidth(roundUp(layout.head, layout.lanes)) {
  int64_t next = layout.scratchBytes;
  auto take = [&](int64_t size) {
    int64_t begin = next;
    next = roundUp(next + size, 64);
    return begin;
  };
  queries = take(layout.rows * queryWidth * 4);
  sums = take(decodeRows * layout.lanes * layout.lanes * 4);
  keys = take(decodeChunk * layout.head * 4);
  values = take(decodeChunk * layout.valueWidth() * 4);
  keyIndices = take(decodeChunk * 4);
  slotBytes = decodeChunk * 8;
  slots = take(slotBytes * layout.columnSlots.size());
  bytes = next;
}

Place DecodeChunk::place(Num number) const {
  // Keys behind the last are taken to be the last; they are hidden.
  return keyPlace(c, indices, first + min(number, count - 1));
}

Pointer DecodeChunk::rowOf(const Tensor &tensor, Num number) const {
  const Sequence &sequence = c.place.sequence;
  return tensor.data +
         (sequence.keyRow * tensor.stride(0) +
          c.place.group * tensor.stride(1) +
          (sequence.keyStart + first + number) * tensor.stride(2));
}

void DecodeChunk::emitColumns() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num filled = alignUp(count, c.lanes());
  e.loop(0, filled, 1, [&](Num number) {
    Place at = place(number);
    c.keyIndices.store(number, e.convert(at.index, e.i32));
    for (auto [n, slot] :
         llvm::enumerate(emitSlots(op.getColumns(), c.tables, at, true, false)))
      storeSlot(e, c.columnSlots[n], number, slot);
  });
}

void DecodeChunk::emitActedKeys() const {
  Emitter &e = c.e;
  e.loop(0, count, 1, [&](Num number) {
    auto time = [&](int64_t slot) {
      return loadSlot(e, c.columnSlots[slot], number, 1,
                      c.layout.columnSlots[slot]);
    };
    Action action = {blocks, false, c.layout.head, time, Num()};
    emitAction(e, c.lanes(), action, c.tables, place(number), rowOf(k, number),
               scratch.bytes(this->at.keys).as(e.f32) + number * c.layout.head);
  });
}

/// Asks for the line at `address`: while one of k and v is summed from L1, the
/// memory would idle.
static void prefetch(Pointer address) {
  Emitter &e = *address.base.e;
  auto word = [&](int64_t value) { return e.constant(e.i32, value); };
  e.call("llvm.prefetch.p0", Type(), {address.base, word(0), word(3), word(1)});
}

static int64_t linesOf(int64_t width, Type element) {
  return (width * element.getIntOrFloatBitWidth() / 8 + 63) / 64;
}

/// Dot products of `rowCount` rows with the keys of `block`, a vector of keys.
void DecodeChunk::emitDots(Num firstRow, int64_t rowCount, Num block,
                           bool acted) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), head = c.layout.head;
  Pointer sums = scratch.bytes(at.sums).as(e.f32);
  Pointer queries =
      scratch.bytes(at.queries).as(e.f32) + firstRow * at.queryWidth;
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  e.loop(0, e.index(lanes), 1, [&](Num n) {
    Num number = min(block + n, count - 1);
    Pointer values = rowOf(v, number);
    for (int64_t line = 0; line < linesOf(c.layout.value, v.data.element);
         ++line)
      prefetch(values.bytes(line * 64));
    Pointer row = acted ? rowOf(k, number)
                        : scratch.bytes(at.keys).as(e.f32) + number * head;
    auto step = [&](Num d, Num key, ArrayRef<Num> carried) -> Nums {
      Nums next;
      for (int64_t r = 0; r < rowCount; ++r)
        next.push_back(
            fma(queries.load(d + r * at.queryWidth, lanes), key, carried[r]));
      return next;
    };
    int64_t whole = head / lanes * lanes;
    Nums totals(rowCount, zero);
    totals =
        e.loop(0, e.index(whole), lanes, totals,
               [&](Num d, ArrayRef<Num> carried) -> Nums {
                 return step(d, e.convert(row.load(d, lanes), e.f32), carried);
               });
    if (whole < head) {
      Num tail = zero;
      for (int64_t d = whole; d < head; ++d)
        tail = e.insert(tail, e.convert(row.load(d), e.f32), d - whole);
      totals = step(e.index(whole), tail, totals);
    }
    for (int64_t r = 0; r < rowCount; ++r)
      sums.store((n + r * lanes) * lanes, totals[r]);
  });
  for (int64_t r = 0; r < rowCount; ++r) {
    Nums vectors;
    for (int64_t n = 0; n < lanes; ++n)
      vectors.push_back(sums.load((r * lanes + n) * lanes, lanes));
    Num scores = reduceAcross(e, vectors, [](Num a, Num b) { return a + b; });
    c.scores.store((firstRow + r) * decodeChunk + block, scores);
  }
}

void DecodeChunk::emitScores(Num partial) const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  auto dots = [&](bool acted) {
    e.loop(0, count, lanes, [&](Num block) {
      Num left = e.loop(0, rows - (decodeRows - 1), decodeRows, {e.index(0)},
                        [&](Num row, ArrayRef<Num>) -> Nums {
                          emitDots(row, decodeRows, block, acted);
                          return {row + decodeRows};
                        })[0];
      e.when(
          left + 1 == rows, [&] { emitDots(left, 1, block, acted); },
          [&] {
            e.when(left < rows,
                   [&] { emitDots(left, decodeRows, block, acted); });
          });
    });
  };
  if (blocks.empty())
    dots(true);
  else
    e.when(
        isActed, [&] { dots(true); },
        [&] {
          emitActedKeys();
          dots(false);
        });
  Num hidden = e.constant(e.vec(lanes, e.f32), hiddenScore);
  e.loop(0, rows, 1, [&](Num row) {
    e.loop(0, count, lanes, [&](Num key) {
      Num at = row * decodeChunk + key;
      Num score = c.scores.load(at, lanes);
      score = score + emitStart(c, row, key);
      if (!op.getLogit().empty())
        score = emitPair(c, op.getLogit(), row, key, score);
      score = e.choose(
          partial,
          [&]() -> Nums {
            Num number =
                e.splat(e.convert(key, e.i32), lanes) + e.iota(e.i32, lanes);
            Num seen = (number < e.convert(count, e.i32)) &
                       (c.keyIndices.load(key, lanes) >= 0);
            if (!op.getMask().empty())
              seen = seen & emitPair(c, op.getMask(), row, key);
            return {select(seen, score, hidden)};
          },
          [&]() -> Nums { return {score}; })[0];
      c.scores.store(at, score);
    });
  });
}

void DecodeChunk::emitWeights() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num filled = alignUp(count, lanes);
  e.loop(0, rows, 1, [&](Num row) {
    Pointer scores = c.scores + row * decodeChunk;
    Num start = e.constant(e.vec(lanes, e.f32), lowestMaximum);
    Num highest = e.loop(0, filled, lanes, {start},
                         [&](Num key, ArrayRef<Num> carried) -> Nums {
                           return {max(carried[0], scores.load(key, lanes))};
                         })[0];
    Num before = c.maxima.load(row);
    Num now = before;
    for (int64_t n = 0; n < lanes; ++n)
      now = max(now, e.lane(highest, n));
    c.maxima.store(row, now);
    Num alpha = emitExp2(e, c.target(), before - now);
    c.alphas.store(row, alpha);
    Num sum = c.rowSum.load(row * lanes, lanes) * e.splat(alpha, lanes);
    sum = e.loop(
        0, filled, lanes, {sum}, [&](Num key, ArrayRef<Num> carried) -> Nums {
          Num weight = emitExp2(e, c.target(),
                                scores.load(key, lanes) - e.splat(now, lanes));
          scores.store(key, weight);
          return {carried[0] + weight};
        })[0];
    c.rowSum.store(row * lanes, sum);
  });
}

void DecodeChunk::emitOutputs() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.valueWidth();
  Pointer values = scratch.bytes(at.values).as(e.f32);
  // One pass over the memory in order; the tiles then read from L1.
  e.loop(0, count, 1, [&](Num number) {
    Pointer row = rowOf(v, number), to = values + number * width;
    int64_t whole = c.layout.value / lanes * lanes;
    e.loop(0, e.index(whole), lanes,
           [&](Num d) { to.store(d, e.convert(row.load(d, lanes), e.f32)); });
    e.loop(whole, e.index(c.layout.value), 1,
           [&](Num d) { to.store(d, e.convert(row.load(d), e.f32)); });
  });
  auto tile = [&](Num row, int64_t count, Num panel, Num column,
                  int64_t vectors) {
    // The panels share the lines of the next chunk's keys between them.
    int64_t all = 0;
    for (const ValuePanels &panels : c.layout.valuePanels)
      all += panels.count;
    int64_t each = (linesOf(c.layout.head, k.data.element) + all - 1) / all;
    auto nextKeys = [&](Num key) {
      Pointer next = rowOf(k, key + decodeChunk).bytes(panel * (each * 64));
      for (int64_t line = 0; line < each; ++line)
        prefetch(next.bytes(line * 64));
    };
    emitValueTile({.lanes = lanes,
                   .rows = count,
                   .vectors = vectors,
                   .weights = c.scores + row * decodeChunk,
                   .weightStride = decodeChunk,
                   .values = values + column,
                   .valueStride = width,
                   .outputs = c.outputs + (row * width + column),
                   .outputStride = width,
                   .alphas = c.alphas + row,
                   .beside = nextKeys},
                  e.index(0), this->count);
  };
  for (const ValuePanels &panels : c.layout.valuePanels)
    e.loop(0, e.index(panels.count), 1, [&](Num panel) {
      Num column = panel * (panels.vectors * lanes) + panels.first * lanes;
      Num number = panel + panels.first / panels.vectors;
      // One row alone, else rows by fours: those behind the last are there in
      // scratch, and nobody reads them.
      e.when(
          rows == 1,
          [&] { tile(e.index(0), 1, number, column, panels.vectors); },
          [&] {
            e.loop(0, rows, decodeRows, [&](Num row) {
              tile(row, decodeRows, number, column, panels.vectors);
            });
          });
    });
}

} // namespace torsor
