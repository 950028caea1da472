// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks, biases and path sums on the scores of a decode chunk.
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/PathSums.h"
#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

void DecodeChunk::maskScores(Num row, Num key, Num &score) const {
  Num hidden = c.e.constant(c.e.vec(c.lanes(), c.e.f32), hiddenScore);
  score = select(emitSeen(c, row, key, count), score, hidden);
}

void DecodeChunk::emitMask() const {
  c.e.loop(0, rows, 1, [&](Num row) {
    c.e.loop(0, count, c.lanes(), [&](Num key) {
      Num at = row * decodeChunk + key;
      Num score = c.scores.load(at, c.lanes());
      maskScores(row, key, score);
      c.scores.store(at, score);
    });
  });
}

/// The score of a pair with its biases, hidden if it is.
void DecodeChunk::emitBias(Num row, Num key, Num partial) const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  Num at = row * decodeChunk + key;
  Num score = c.scores.load(at, lanes) + emitStart(c, row, key);
  Nums paths;
  if (c.layout.paths)
    paths = emitPathSums(
        c, row,
        emitPathTerms(c, row, key, score, emitSeen(c, row, key, count)));
  if (!op.getLogit().empty())
    score = emitPair(c, op.getLogit(), row, key, score, paths);
  score = e.choose(
      partial,
      [&]() -> Nums {
        Num masked = score;
        maskScores(row, key, masked);
        return {masked};
      },
      [&]() -> Nums { return {score}; })[0];
  c.scores.store(at, score);
}

void DecodeChunk::emitBiases(Num partial) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num last = alignDown(count - 1, lanes);
  if (c.layout.paths) { // from the last key down
    e.loop(0, rows, 1, [&](Num row) {
      e.loop(0, count, lanes,
             [&](Num key) { emitBias(row, last - key, partial); });
    });
    return;
  }
  // A query's heads one behind the other, for each vector of keys.
  auto token = [&](Num row) { return c.rowTokens.load(row); };
  e.loop(0, rows, 1, [&](Num first) {
    Num isFirst = (first == 0) | (token(max(first - 1, 0)) != token(first));
    e.when(isFirst, [&] {
      Num end = e.loop(
          first, rows, 1, {first}, [&](Num row, ArrayRef<Num> found) -> Nums {
            return {select(token(row) == token(first), row + 1, found[0])};
          })[0];
      e.loop(0, count, lanes, [&](Num key) {
        PairArguments shared(c, first, key);
        TileContext inVector = c;
        inVector.shared = &shared;
        DecodeChunk chunk = {inVector, split, rows, this->first, count};
        e.loop(first, end, 1,
               [&](Num row) { chunk.emitBias(row, key, partial); });
      });
    });
  });
}

void DecodeChunk::emitPathTotals() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  bool readsScore = !op.getPath().getArgument(0).use_empty();
  if (readsScore)
    emitAllForms();
  e.loop(0, rows, 1, [&](Num row) {
    e.loop(0, count, lanes, [&](Num key) {
      Num score = e.constant(e.vec(lanes, e.f32), 0.0);
      if (readsScore)
        score = c.scores.load(row * decodeChunk + key, lanes) +
                emitStart(c, row, key);
      Nums terms =
          emitPathTerms(c, row, key, score, emitSeen(c, row, key, count));
      for (auto [n, term] : llvm::enumerate(terms)) {
        Pointer total = c.pathSums + (row + int64_t(n) * c.layout.rows);
        total.store(0, total.load(0) + e.sum(term));
      }
    });
  });
}

} // namespace torsor
