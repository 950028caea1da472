// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Online softmax over a key tile: statistics of a vector of rows at once.
#include "codegen/cpu/SoftmaxTile.h"

#include "codegen/cpu/Exp.h"

using namespace mlir;

namespace torsor {

/// Halves the number of vectors: units of `unit` lanes within stretches of
/// `stretch` lanes; the even ones of both vectors against the odd ones.
static Nums combinePairs(Emitter &e, ArrayRef<Num> vectors, int64_t unit,
                         int64_t stretch, function_ref<Num(Num, Num)> combine) {
  int64_t lanes = vectors[0].lanes();
  Nums halved;
  for (size_t n = 0; n < vectors.size(); n += 2) {
    SmallVector<int32_t> even, odd;
    for (int64_t at = 0; at < lanes; at += stretch)
      for (int64_t from : {at, at + lanes})
        for (int64_t u = 0; u < stretch; u += 2 * unit)
          for (int64_t lane = 0; lane < unit; ++lane) {
            even.push_back(from + u + lane);
            odd.push_back(from + u + unit + lane);
          }
    halved.push_back(combine(e.shuffle(vectors[n], vectors[n + 1], even),
                             e.shuffle(vectors[n], vectors[n + 1], odd)));
  }
  return halved;
}

Num reduceAcross(Emitter &e, Nums vectors,
                 function_ref<Num(Num, Num)> combine) {
  // Within 128 bits shuffles are cheap: first there, then across.
  vectors = combinePairs(e, vectors, 1, 4, combine);
  vectors = combinePairs(e, vectors, 1, 4, combine);
  while (vectors.size() > 1)
    vectors = combinePairs(e, vectors, 4, vectors[0].lanes(), combine);
  return vectors[0];
}

void emitRowStatistics(const TileContext &c, Num groups) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num lowest = e.constant(e.vec(lanes, e.f32), lowestMaximum);
  e.loop(0, groups * c.layout.rowTile, lanes, [&](Num row) {
    Nums found;
    for (int64_t n = 0; n < lanes; ++n) {
      found.push_back(c.rowMax.load((row + n) * lanes, lanes));
      c.rowMax.store((row + n) * lanes, lowest);
    }
    Num highest =
        reduceAcross(e, found, [](Num a, Num b) { return max(a, b); });
    Num before = c.maxima.load(row, lanes);
    Num now = max(before, highest);
    c.maxima.store(row, now);
    c.alphas.store(row, emitExp2(e, c.target(), before - now));
  });
}

/// The scores at `at` … become weights; gives them added to the sums, a vector
/// each. Step by step over all vectors: chains of dependent operations as long
/// as exp2's fill the machine only side by side.
static Nums weigh(const TileContext &c, Pointer scores, Num at, Num negatedTop,
                  Nums sums) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  // Words of two bf16 lie behind what is still read.
  Type kept = c.layout.packedElement(e);
  AttentionOp op = c.op;
  Nums weights;
  for (int64_t n = 0, count = sums.size(); n < count; ++n) {
    Num score = scores.load(at + n * lanes, lanes);
    weights.push_back(op.getLinear() ? select(score == hiddenScore, 0.0, score)
                                     : score + negatedTop);
  }
  if (!op.getLinear())
    weights = emitExp2(e, c.target(), weights);
  for (int64_t n = 0, count = sums.size(); n < count; ++n) {
    scores.as(kept).store(at + n * lanes, e.convert(weights[n], kept));
    sums[n] = sums[n] + weights[n];
  }
  return sums;
}

void emitWeights(const TileContext &c, Num groups, Num tile) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  e.loop(0, groups, 1, [&](Num group) {
    Num begin = alignDown(c.tileFirst(group).load(0) - tile, lanes);
    Num end = c.tileFirst(group).load(1) - tile;
    // Pairs of vectors, and one that may be left over.
    Num pairs = alignDown(max(alignUp(end - begin, lanes), 0), 2 * lanes);
    Num middle = begin + pairs;
    e.loop(group * c.layout.rowTile, (group + 1) * c.layout.rowTile, 1,
           [&](Num row) {
             Num top = e.splat(e.real(0.0) - c.maxima.load(row), lanes);
             Num alpha = e.splat(c.alphas.load(row), lanes);
             Pointer scores = c.scores + row * c.layout.keys;
             Num sum = c.rowSum.load(row * lanes, lanes) * alpha;
             Nums sums =
                 e.loop(begin, middle, 2 * lanes, {sum, zero},
                        [&](Num at, ArrayRef<Num> carried) {
                          return weigh(c, scores, at, top, Nums(carried));
                        });
             sum = sums[0] + sums[1];
             sum = e.choose(
                 middle < end,
                 [&]() -> Nums { return weigh(c, scores, middle, top, {sum}); },
                 [&]() -> Nums { return {sum}; })[0];
             c.rowSum.store(row * lanes, sum);
           });
  });
}

} // namespace torsor
