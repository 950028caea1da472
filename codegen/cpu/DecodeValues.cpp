// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times the values of a chunk. The registers hold a tile of outputs,
// which some keys are added to one by one.
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/KeySlots.h"

using namespace mlir;

namespace torsor {

/// outputs = alpha * outputs, and a copy for the case that the sums must be
/// made again.
void DecodeChunk::emitKept() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.valueWidth();
  Pointer kept = split.scratch.bytes(split.at.kept).as(e.f32);
  e.loop(0, rows, 1, [&](Num row) {
    Num alpha = e.splat(c.alphas.load(row), lanes);
    e.loop(row * width, (row + 1) * width, lanes, [&](Num at) {
      Num scaled = c.outputs.load(at, lanes) * alpha;
      c.outputs.store(at, scaled);
      kept.store(at, scaled);
    });
  });
}

Num DecodeChunk::outputsAreFinite() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  // Rows are there in whole decodeRows, and chains that do not wait for each
  // other are as many.
  Num share = alignUp(rows, decodeRows) * c.layout.valueWidth() / decodeRows;
  Nums probes = e.loop(
      0, share, lanes, Nums(decodeRows, zero),
      [&](Num at, ArrayRef<Num> carried) -> Nums {
        Nums next;
        for (auto [n, probe] : llvm::enumerate(carried))
          next.push_back(
              fma(c.outputs.load(at + share * int64_t(n), lanes), zero, probe));
        return next;
      });
  Num probe = probes[0];
  for (Num other : ArrayRef<Num>(probes).drop_front())
    probe = probe + other;
  return e.any(e.isNan(probe)) ^ 1;
}

Pointer DecodeChunk::actedValueRow(Num number) const {
  LaneSpan span = split.at.acted;
  return split.scratch.bytes(split.at.actedValues).as(c.e.f32) +
         (number * span.size() - span.begin);
}

void DecodeChunk::emitActedValues() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  LaneSpan span = split.at.acted;
  SmallVector<BlockAttr> changing;
  llvm::copy_if(split.valueBlocks, std::back_inserter(changing), changesValues);
  e.loop(0, count, 1, [&](Num number) {
    Place own = place(number);
    Nums slots = emitSlots(op.getColumns(), c.tables, own, true, false);
    auto time = [&](int64_t slot) { return slots[slot]; };
    auto act = [&](ArrayRef<BlockAttr> blocks) {
      Action action = {blocks, false, c.layout.value, time, Num()};
      action.copyBegin = span.begin;
      action.copyEnd = span.end;
      emitAction(e, c.lanes(), action, c.tables, own,
                 split.valueRow(inSplit(number)), actedValueRow(number));
    };
    if (op.getValuesActed()) // lanes of a key that may lie acted on
      e.when(split.isActed, [&] { act({}); }, [&] { act(changing); });
    else
      act(changing);
  });
}

Nums DecodeChunk::loadValues(Num number, const Piece &piece) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), tail = piece.tail;
  int64_t whole = tail ? piece.vectors - 1 : piece.vectors;
  Pointer row = (piece.isActed ? actedValueRow(number)
                               : split.valueRow(inSplit(number))) +
                piece.column;
  Nums values;
  int64_t paired = split.valuesInPairs() ? whole / 2 * 2 : 0;
  for (int64_t v = 0; v < paired; v += 2) {
    auto [even, odd] = loadPair(row, v * lanes, lanes);
    values.append({even, odd});
  }
  for (int64_t v = paired; v < whole; ++v)
    values.push_back(e.convert(row.load(v * lanes, lanes), e.f32));
  if (tail)
    values.push_back(loadTail(row + whole * lanes, lanes, tail));
  return values;
}

/// Adds the keys from `begin` to before `end` to `vectors` vectors of columns
/// of `rowCount` rows, which lie in registers meanwhile.
void DecodeChunk::emitValueTile(const Piece &piece, Num row, int64_t rowCount,
                                Num begin, Num end, bool onlySeen) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.valueWidth();
  Pointer outputs = c.outputs + (row * width + piece.column);
  Pointer weights = c.scores + row * decodeChunk;
  Nums sums;
  for (int64_t r = 0; r < rowCount; ++r)
    for (int64_t v = 0; v < piece.vectors; ++v)
      sums.push_back(outputs.load(r * width + v * lanes, lanes));
  sums = e.loop(begin, end, 1, sums, [&](Num key, ArrayRef<Num> carried) {
    Nums next(carried);
    Nums values = loadValues(key, piece);
    for (int64_t r = 0; r < rowCount; ++r) {
      Num weight = e.splat((weights + key).load(r * decodeChunk), lanes);
      for (auto [v, value] : llvm::enumerate(values)) {
        Num &sum = next[r * piece.vectors + int64_t(v)];
        Num added = fma(weight, value, sum);
        sum = onlySeen ? select(weight != 0.0, added, sum) : added;
      }
    }
    return next;
  });
  for (int64_t r = 0; r < rowCount; ++r)
    for (int64_t v = 0; v < piece.vectors; ++v)
      outputs.store(r * width + v * lanes, sums[r * piece.vectors + v]);
}

/// A piece of the columns of all rows.
void DecodeChunk::emitPiece(const Piece &piece, Num begin, Num end,
                            bool onlySeen) const {
  Emitter &e = c.e;
  auto tile = [&](Num row, int64_t rowCount) {
    emitValueTile(piece, row, rowCount, begin, end, onlySeen);
  };
  if (onlySeen) // seldom run: one copy does
    return e.loop(0, rows, 1, [&](Num row) { tile(row, 1); });
  // Rows up to four are there, and those behind the last weigh 0: three are
  // taken as four, two one by one.
  e.loop(0, rows, decodeRows, [&](Num row) {
    e.when(
        rows - row <= 2,
        [&] { e.loop(row, rows, 1, [&](Num one) { tile(one, 1); }); },
        [&] { tile(row, decodeRows); });
  });
}

SmallVector<std::pair<LaneSpan, bool>, 3> DecodeChunk::columnSpans() const {
  LaneSpan acted = split.at.acted;
  SmallVector<std::pair<LaneSpan, bool>, 3> spans = {
      {{0, acted.begin}, false},
      {acted, true},
      {{acted.end, c.layout.value}, false}};
  llvm::erase_if(spans, [](const auto &span) { return !span.first.size(); });
  return spans;
}

void DecodeChunk::forPieces(function_ref<void(Num, const Piece &)> body) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), vectors = split.tile.valueVectors, number = 0;
  for (auto [span, isActed] : columnSpans()) {
    int64_t tail = span.size() % lanes, all = (span.size() + lanes - 1) / lanes;
    int64_t whole = span.size() / lanes / vectors, left = all - whole * vectors;
    if (whole)
      e.loop(0, e.index(whole), 1, [&](Num n) {
        body(n + number,
             {n * (vectors * lanes) + span.begin, vectors, 0, isActed});
      });
    if (left)
      body(
          e.index(number + whole),
          {e.index(span.begin + whole * vectors * lanes), left, tail, isActed});
    number += whole + (left ? 1 : 0);
  }
}

int64_t DecodeChunk::countPieces() const {
  int64_t pieces = 0, columns = split.tile.valueVectors * c.lanes();
  for (const auto &span : columnSpans())
    pieces += (span.first.size() + columns - 1) / columns;
  return pieces;
}

void DecodeChunk::emitSums(bool onlySeen) const {
  Emitter &e = c.e;
  int64_t keys = split.tile.valueKeys, pieces = countPieces();
  e.loop(0, count, keys, [&](Num key) {
    Num end = min(key + keys, count);
    forPieces([&](Num number, const Piece &piece) {
      auto ask = [&](int64_t half) {
        if (!onlySeen)
          e.when(split.asks, [&] {
            emitAsk(key, keys, true, number * 2 + half, 2 * pieces);
          });
      };
      ask(0);
      emitPiece(piece, key, end, onlySeen);
      ask(1);
    });
  });
}

void DecodeChunk::emitOutputs() const {
  Emitter &e = c.e;
  if (split.at.acted.size())
    emitActedValues();
  emitKept();
  emitSums(/*onlySeen=*/false);
  // 0 * inf is NaN: a key that a row does not see may have left one.
  e.when(outputsAreFinite() ^ 1, [&] {
    int64_t rowBytes = c.layout.valueWidth() * 4;
    e.copy(c.outputs, split.scratch.bytes(split.at.kept).as(e.f32),
           rows * rowBytes);
    e.fill(c.outputs.bytes(rows * rowBytes),
           (alignUp(rows, decodeRows) - rows) * rowBytes, 0);
    emitSums(/*onlySeen=*/true);
  });
}

} // namespace torsor
