// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of the rows of a decode block with the keys of a chunk.
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Prefetch.h"

#include <numeric>

using namespace mlir;

namespace torsor {

static int64_t linesOf(int64_t width, Type element) {
  return (width * element.getIntOrFloatBitWidth() / 8 + 63) / 64;
}

void DecodeChunk::emitAsk(Num number, int64_t keys, bool inValues, Num piece,
                          int64_t pieces) const {
  Emitter &e = c.e;
  int64_t half = inValues ? decodeChunk / 2 : 0;
  int64_t streams = split.tile.streams, stretch = decodeChunk / streams;
  AttentionOp op = c.op;
  for (bool isValue : {false, true}) {
    if (isValue && op.getValueLow()) // lines of the key
      continue;
    int64_t lines = isValue ? linesOf(c.layout.value, split.v.data.element)
                            : linesOf(c.layout.head, split.k.data.element);
    // Counted over the rows of the next chunk: a line of each stream in turn.
    int64_t share = (keys * lines + 1) / 2;
    int64_t count = (share + pieces - 1) / pieces;
    Num first = number * lines / 2 + half * lines + piece * count;
    auto ask = [&](Num stream, Num at, int64_t most) {
      Num row = inSplit(e.index(decodeChunk)) + stream * stretch + at / lines;
      Pointer to = isValue ? split.valueRow(row) : split.keyRow(row);
      to = to.bytes(at % lines * 64);
      for (int64_t n = 0; n < most; ++n)
        prefetch(to.bytes(n * 64));
    };
    if (2 * pieces * count != keys * lines || count % streams) {
      for (int64_t n = 0; n < count; ++n)
        ask((first + n) % streams, (first + n) / streams, 1);
      continue;
    }
    // Those of a stream that lie in one row, with one address.
    int64_t each = count / streams;
    int64_t most = std::gcd(each, lines);
    for (int64_t n = 0; n < each; n += most)
      for (int64_t stream = 0; stream < streams; ++stream)
        ask(e.index(stream), first / streams + n, most);
  }
}

/// Products of `rowCount` rows with the keys of `block`, a vector of keys.
void DecodeChunk::emitDots(Num firstRow, int64_t rowCount, Num block,
                           const KeyRows &keyRows) const {
  Emitter &e = c.e;
  const DecodeScratch &at = split.at;
  int64_t lanes = c.lanes(), head = c.layout.head;
  int64_t keys = split.tile.keysBeside(rowCount), whole = head / lanes * lanes;
  bool inPairs = split.keysInPairs(c.layout);
  Pointer sums = split.scratch.bytes(at.sums).as(e.f32);
  Pointer queries = c.queries + firstRow * at.queryWidth;
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  e.loop(0, e.index(lanes), keys, [&](Num n) {
    // In two pieces: the fewer lines at once, the less one waits to be asked.
    Num asks = (firstRow == 0) & split.asks;
    auto ask = [&](int64_t piece) {
      e.when(asks, [&] { emitAsk(block + n, keys, false, e.index(piece), 2); });
    };
    ask(0);
    SmallVector<Pointer> rows;
    for (int64_t k = 0; k < keys; ++k)
      rows.push_back(keyRows.row(block + n + k));
    auto add = [&](Num d, ArrayRef<Num> loaded, Nums &totals) {
      for (int64_t r = 0; r < rowCount; ++r) {
        Num query = queries.load(d + r * at.queryWidth, lanes);
        for (int64_t k = 0; k < keys; ++k)
          totals[r * keys + k] = fma(query, loaded[k], totals[r * keys + k]);
      }
    };
    Nums totals(rowCount * keys, zero);
    int64_t unroll = whole / lanes % 2 ? 1 : 2;
    totals = e.loop(0, e.index(whole), lanes * unroll, totals,
                    [&](Num d, ArrayRef<Num> carried) -> Nums {
                      Nums next(carried);
                      SmallVector<Nums, 2> loaded(unroll);
                      for (const Pointer &row : rows)
                        if (inPairs) {
                          auto [even, odd] = loadPair(row, d, lanes);
                          loaded[0].push_back(even);
                          loaded[1].push_back(odd);
                        } else {
                          for (int64_t u = 0; u < unroll; ++u)
                            loaded[u].push_back(e.convert(
                                row.load(d + u * lanes, lanes), e.f32));
                        }
                      for (int64_t u = 0; u < unroll; ++u)
                        add(d + u * lanes, loaded[u], next);
                      return next;
                    });
    ask(1);
    if (whole < head) {
      Nums tails;
      for (const Pointer &row : rows)
        tails.push_back(loadTail(row + whole, lanes, head - whole));
      add(e.index(whole), tails, totals);
    }
    for (int64_t r = 0; r < rowCount; ++r)
      for (int64_t k = 0; k < keys; ++k)
        sums.store((n + (k + r * lanes)) * lanes, totals[r * keys + k]);
  });
  e.loop(0, e.index(rowCount), 1, [&](Num r) {
    Nums vectors;
    for (int64_t n = 0; n < lanes; ++n)
      vectors.push_back(sums.load((r * lanes + n) * lanes, lanes));
    c.scores.store((firstRow + r) * decodeChunk + block, sumAcross(e, vectors));
  });
}

void DecodeChunk::emitRow(Num row, const KeyRows &keys) const {
  c.e.loop(0, count, c.lanes(),
           [&](Num block) { emitDots(row, 1, block, keys); });
}

void DecodeChunk::emitProducts(const KeyRows &keys) const {
  c.e.loop(0, count, c.lanes(),
           [&](Num block) { emitBlockProducts(keys, block); });
}

void DecodeChunk::emitBlockProducts(const KeyRows &keys, Num block) const {
  Emitter &e = c.e;
  // Three rows are taken as four: the fourth is there, and nobody reads it.
  Num left = e.loop(0, rows - (decodeRows - 2), decodeRows, {e.index(0)},
                    [&](Num row, ArrayRef<Num>) -> Nums {
                      emitDots(row, decodeRows, block, keys);
                      return {row + decodeRows};
                    })[0];
  Num rest = rows - left;
  e.when(rest == 1, [&] { emitDots(left, 1, block, keys); });
  e.when(rest == 2, [&] { emitDots(left, 2, block, keys); });
}

} // namespace torsor
