// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times the values of a chunk. The outputs lie in the first cache; the
// registers hold a tile of values, which every row of the block uses.
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"

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

/// Adds the keys key … key + valueKeys - 1 in `vectors` vectors of columns;
/// `tail`: columns of the last vector, if it is not whole.
void DecodeChunk::emitValueTile(Num key, Num column, int64_t vectors,
                                int64_t tail, bool onlySeen) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), keys = split.tile.valueKeys;
  Nums values;
  for (int64_t k = 0; k < keys; ++k) {
    Pointer row = split.valueRow(inSplit(key + k)) + column;
    if (split.valuesInPairs() && vectors == split.tile.valueVectors && !tail) {
      for (int64_t v = 0; v < vectors; v += 2) {
        auto [even, odd] = loadPair(row, v * lanes, lanes);
        values.append({even, odd});
      }
      continue;
    }
    for (int64_t v = 0; v < vectors; ++v)
      values.push_back(tail && v + 1 == vectors
                           ? loadTail(row + v * lanes, lanes, tail)
                           : e.convert(row.load(v * lanes, lanes), e.f32));
  }
  e.loop(0, rows, 1, [&](Num row) {
    Pointer weights = c.scores + (row * decodeChunk + key);
    Pointer outputs = c.outputs + (row * c.layout.valueWidth() + column);
    Nums sums;
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(outputs.load(v * lanes, lanes));
    for (int64_t k = 0; k < keys; ++k) {
      Num weight = e.splat(weights.load(k), lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        Num added = fma(weight, values[k * vectors + v], sums[v]);
        sums[v] = onlySeen ? select(weight != 0.0, added, sums[v]) : added;
      }
    }
    for (int64_t v = 0; v < vectors; ++v)
      outputs.store(v * lanes, sums[v]);
  });
}

void DecodeChunk::emitSums(bool onlySeen) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), tail = c.layout.value % lanes;
  int64_t vectors = split.tile.valueVectors, keys = split.tile.valueKeys;
  int64_t whole = (c.layout.value / lanes) / vectors;
  int64_t left = c.layout.valueVectors - whole * vectors;
  int64_t pieces = whole + (left ? 1 : 0);
  auto emitTile = [&](Num key, Num piece, Num column, int64_t count,
                      int64_t end) {
    auto ask = [&](int64_t half) {
      if (!onlySeen)
        e.when(split.asks,
               [&] { emitAsk(key, keys, true, piece * 2 + half, 2 * pieces); });
    };
    ask(0);
    emitValueTile(key, column, count, end, onlySeen);
    ask(1);
  };
  // Keys behind the last weigh 0.
  e.loop(0, count, keys, [&](Num key) {
    e.loop(0, e.index(whole), 1, [&](Num piece) {
      emitTile(key, piece, piece * (vectors * lanes), vectors, 0);
    });
    if (left)
      emitTile(key, e.index(whole), e.index(whole * vectors * lanes), left,
               tail);
  });
}

void DecodeChunk::emitOutputs() const {
  Emitter &e = c.e;
  emitKept();
  emitSums(/*onlySeen=*/false);
  // 0 * inf is NaN: a key that a row does not see may have left one.
  e.when(outputsAreFinite() ^ 1, [&] {
    e.copy(c.outputs, split.scratch.bytes(split.at.kept).as(e.f32),
           rows * (c.layout.valueWidth() * 4));
    emitSums(/*onlySeen=*/true);
  });
}

} // namespace torsor
