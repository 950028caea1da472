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

void DecodeChunk::addPlainParts(KeySource &source, int64_t begin, int64_t end,
                                bool inPairs) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), whole = (end - begin) / lanes * lanes;
  int64_t unroll = whole / lanes % 2 ? 1 : 2;
  if (whole)
    source.parts.push_back(
        {whole, lanes * unroll,
         [=](Num at) {
           Nums columns;
           for (int64_t u = 0; u < unroll; ++u)
             columns.push_back(at + (begin + u * lanes));
           return columns;
         },
         [=, &e](const KeySource::Key &key, Num at) -> Nums {
           if (inPairs) {
             auto [even, odd] = loadPair(key.row, at + begin, lanes);
             return {even, odd};
           }
           Nums loaded;
           for (int64_t u = 0; u < unroll; ++u)
             loaded.push_back(e.convert(
                 key.row.load(at + (begin + u * lanes), lanes), e.f32));
           return loaded;
         }});
  int64_t left = end - begin - whole;
  if (left)
    source.parts.push_back(
        {1, 1, [=, &e](Num) { return Nums{e.index(begin + whole)}; },
         [=](const KeySource::Key &key, Num) {
           return Nums{loadTail(key.row + (begin + whole), lanes, left)};
         }});
}

KeySource DecodeChunk::sourceOf(const KeyRows &keys) const {
  KeySource source;
  source.open = [=](Num number) {
    return KeySource::Key{keys.row(number), {}};
  };
  addPlainParts(source, 0, c.layout.head, split.keysInPairs(c.layout));
  return source;
}

void DecodeChunk::emitTileSums(Num firstRow, int64_t rowCount, Num block,
                               Num first, const KeySource &source) const {
  Emitter &e = c.e;
  const DecodeScratch &at = split.at;
  int64_t lanes = c.lanes(), keys = split.tile.keysBeside(rowCount);
  Pointer sums = split.scratch.bytes(at.sums).as(e.f32) +
                 firstRow % sumRows * (lanes * lanes);
  Pointer queries = c.queries + firstRow * at.queryWidth;
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  e.loop(first, first + split.tile.mostKeys, keys, [&](Num n) {
    SmallVector<KeySource::Key> opened;
    for (int64_t k = 0; k < keys; ++k)
      opened.push_back(source.open(block + n + k));
    auto add = [&](const KeySource::Part &part, Num number,
                   ArrayRef<Num> carried) {
      Nums next(carried);
      SmallVector<Nums> loaded;
      for (const KeySource::Key &key : opened)
        loaded.push_back(part.load(key, number));
      for (auto [u, column] : llvm::enumerate(part.columns(number)))
        for (int64_t r = 0; r < rowCount; ++r) {
          Num query = queries.load(column + r * at.queryWidth, lanes);
          for (int64_t k = 0; k < keys; ++k)
            next[r * keys + k] = fma(query, loaded[k][u], next[r * keys + k]);
        }
      return next;
    };
    Nums totals(rowCount * keys, zero);
    for (const KeySource::Part &part : source.parts)
      totals = part.end == part.step
                   ? add(part, e.index(0), totals)
                   : e.loop(0, e.index(part.end), part.step, totals,
                            [&](Num number, ArrayRef<Num> carried) {
                              return add(part, number, carried);
                            });
    for (int64_t r = 0; r < rowCount; ++r)
      for (int64_t k = 0; k < keys; ++k)
        sums.store((n + (k + r * lanes)) * lanes, totals[r * keys + k]);
  });
}

void DecodeChunk::emitDots(Num firstRow, Num rowCount, Num block,
                           function_ref<void(Num)> tileSums) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), keys = split.tile.mostKeys;
  Num asks = (firstRow == 0) & split.asks;
  e.loop(0, e.index(lanes), keys, [&](Num n) {
    // In two pieces: the fewer lines at once, the less one waits to be asked.
    auto ask = [&](int64_t piece) {
      e.when(asks, [&] { emitAsk(block + n, keys, false, e.index(piece), 2); });
    };
    ask(0);
    tileSums(n);
    ask(1);
  });
  Pointer sums = split.scratch.bytes(split.at.sums).as(e.f32);
  e.loop(0, rowCount, 1, [&](Num r) {
    Pointer row = sums + (firstRow + r) % sumRows * (lanes * lanes);
    Nums vectors;
    for (int64_t n = 0; n < lanes; ++n)
      vectors.push_back(row.load(n * lanes, lanes));
    c.scores.store((firstRow + r) * decodeChunk + block, sumAcross(e, vectors));
  });
}

void DecodeChunk::emitRowDots(Num row, Num block, const KeySource &keys) const {
  emitDots(row, c.e.index(1), block,
           [&](Num n) { emitTileSums(row, 1, block, n, keys); });
}

void DecodeChunk::emitRow(Num row, const KeySource &keys) const {
  c.e.loop(0, count, c.lanes(),
           [&](Num block) { emitRowDots(row, block, keys); });
}

void DecodeChunk::emitProducts(const KeySource &keys,
                               const KeySource *acted) const {
  c.e.loop(0, count, c.lanes(),
           [&](Num block) { emitBlockProducts(keys, block, acted); });
}

void DecodeChunk::emitBlockProducts(const KeySource &keys, Num block,
                                    const KeySource *acted) const {
  c.e.loop(0, rows, sumRows, [&](Num top) {
    Num present = min(rows - top, sumRows);
    emitDots(top, present, block, [&](Num n) {
      c.e.loop(top, top + present, decodeRows,
               [&](Num row) { emitRowTile(row, block, n, keys, acted); });
    });
  });
}

/// Rows up to four are there, and nobody reads those behind the last: three are
/// taken as four, and two as well where keys were just acted on.
void DecodeChunk::emitRowTile(Num row, Num block, Num n, const KeySource &keys,
                              const KeySource *acted) const {
  Emitter &e = c.e;
  Num left = rows - row;
  auto sums = [&](int64_t rowCount, const KeySource &of) {
    emitTileSums(row, rowCount, block, n, of);
  };
  auto cached = [&] {
    e.when(
        left == 1, [&] { sums(1, keys); },
        [&] {
          e.when(
              left == 2, [&] { sums(2, keys); },
              [&] { sums(decodeRows, keys); });
        });
  };
  if (!acted)
    return cached();
  e.when(split.isActed, cached, [&] {
    e.when(
        left == 1, [&] { sums(1, *acted); }, [&] { sums(decodeRows, *acted); });
  });
}

} // namespace torsor
