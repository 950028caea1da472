// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a row of q with keys that are turned for its head alone: the turn
// and the product are one.
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Phase.h"

using namespace mlir;

namespace torsor {

bool DecodeChunk::turnsInProducts(int64_t branch) const {
  ArrayRef<BlockAttr> blocks = split.steps.blocks(branch);
  if (!c.layout.actsByHead || blocks.empty() || !keyLanes(c.op).isEmpty())
    return false;
  PairsAttr at = blocks[0].getLanes();
  int64_t step = at.getStep();
  bool isWhole = at.getSecond() >= 0 && 2 * at.getCount() == c.layout.head &&
                 at.getCount() % c.lanes() == 0 &&
                 (step == 1 || (step == 2 && at.getSecond() == 1));
  return isWhole && llvm::all_of(blocks, [&](BlockAttr block) {
           return block.getKind() == BlockKind::Turn &&
                  block.getLanes() == at && block.kGain() == 1;
         });
}

/// The pairs p … p + lanes - 1 of a row: firsts and seconds, in f32.
static std::pair<Num, Num> loadPairs(Pointer row, PairsAttr at, Num p,
                                     int64_t lanes) {
  Emitter &e = *p.e;
  if (at.getStep() == 1)
    return {e.convert(row.load(p + at.getFirst(), lanes), e.f32),
            e.convert(row.load(p + at.getSecond(), lanes), e.f32)};
  auto [even, odd] = loadPair(row, p * 2, lanes);
  return {e.convert(even, e.f32), e.convert(odd, e.f32)};
}

/// <q, R k> = sum of c (qx x + qy y) + s (qy x - qx y) over the pairs of lanes.
void DecodeChunk::emitTurned(int64_t branch, Num row) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  constexpr int64_t keys = 4; // beside each other
  ArrayRef<BlockAttr> blocks = split.steps.blocks(branch);
  PairsAttr at = blocks[0].getLanes();
  int64_t pairs = at.getCount();
  // The row's firsts, then its seconds.
  Pointer query = frameSlots(e, e.f32, 2 * pairs);
  Pointer from =
      split.steps.queries(split.stepsAt()) + row * split.at.queryWidth;
  e.loop(0, e.index(pairs), lanes, [&](Num p) {
    auto [x, y] = loadPairs(from, at, p, lanes);
    query.store(p, x);
    query.store(p + pairs, y);
  });
  Num tables = split.steps.tablesOf(c, row);
  Pointer sums = split.scratch.bytes(split.at.sums).as(e.f32);
  KeyRows cached = cachedRows();
  auto turnOf = [&](Num number, Num p) {
    CosSin turn;
    for (BlockAttr block : blocks) {
      Pointer own = split.steps.factors(block, number, tables, split.stepsAt());
      Num c = own.load(p, lanes), s = own.load(p + pairs, lanes);
      turn = turn.cos ? CosSin{turn.cos * c - turn.sin * s,
                               turn.sin * c + turn.cos * s}
                      : CosSin{c, s};
    }
    return turn;
  };
  Nums zero(keys, e.constant(e.vec(lanes, e.f32), 0.0));
  e.loop(0, count, lanes, [&](Num block) {
    e.loop(0, e.index(lanes), keys, [&](Num n) {
      e.when((row == 0) & split.asks,
             [&] { emitAsk(block + n, keys, false, e.index(0), 1); });
      Nums totals = e.loop(
          0, e.index(pairs), lanes, zero,
          [&](Num p, ArrayRef<Num> carried) -> Nums {
            Nums next;
            Num qx = query.load(p, lanes), qy = query.load(p + pairs, lanes);
            for (int64_t k = 0; k < keys; ++k) {
              Num number = min(block + n + k, count - 1);
              auto [x, y] = loadPairs(cached.row(number), at, p, lanes);
              CosSin turn = turnOf(number, p);
              Num along = fma(qx, x, qy * y), across = qy * x - qx * y;
              next.push_back(
                  fma(turn.cos, along, fma(turn.sin, across, carried[k])));
            }
            return next;
          });
      for (int64_t k = 0; k < keys; ++k)
        sums.store((n + k) * lanes, totals[k]);
    });
    Nums vectors;
    for (int64_t n = 0; n < lanes; ++n)
      vectors.push_back(sums.load(n * lanes, lanes));
    c.scores.store(row * decodeChunk + block, sumAcross(e, vectors));
  });
}

} // namespace torsor
