// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far what grows or fades may lie from an anchor.
#include "codegen/cpu/AnchorSpans.h"

#include "codegen/cpu/ActSteps.h"

#include <cmath>

using namespace mlir;

namespace torsor {

/// Both sides together may grow by 2 to this: far from the end of f32, and the
/// products lose nothing.
static constexpr double mostGrowth = 80;
/// Where queries lie before the anchor, the terms of a chain cancel; they may
/// be so many times as large as what is left.
static constexpr double mostCancelled = 16;

double allowedGrowth(BlockAttr block) {
  if (block.getKind() == BlockKind::Decay)
    return mostGrowth;
  double power = double(block.getOrder() - 1);
  return std::pow(mostCancelled * std::tgamma(power + 1), 1 / power);
}

static Num magnitude(Num x) { return max(x, x.e->constant(x.type(), 0.0) - x); }

Num largestRate(const TileContext &c, const Place &place, BlockAttr block) {
  Emitter &e = c.e;
  const Table &table = c.kernel.tables[block.getRates()];
  return e.loop(0, e.index(block.getLanes().getCount()), 1,
                {e.constant(e.f64, 0.0)},
                [&](Num p, ArrayRef<Num> carried) -> Nums {
                  Num size = magnitude(c.tables.rates(
                      table, place, p + block.getRateOffset(), 1));
                  // NaN stays, and is unsafe.
                  return {select(size <= carried[0], carried[0], size)};
                })[0];
}

Num mostFaded(const TileContext &c, const Place &place, BlockAttr block,
              function_ref<Num(Num)> apart) {
  Emitter &e = c.e;
  const Table &rates = c.kernel.tables[block.getRates()];
  return e.loop(
      0, e.index(block.getLanes().getCount()), 1, {e.constant(e.f64, 0.0)},
      [&](Num p, ArrayRef<Num> carried) -> Nums {
        Num rate = c.tables.rates(rates, place, p + block.getRateOffset(), 1);
        Num faded = apart(p) * magnitude(rate);
        return {select(faded <= carried[0], carried[0], faded)};
      })[0];
}

Num canShareAnchor(const TileContext &c, const Place &place,
                   ArrayRef<BlockAttr> blocks, Pointer first, Pointer last) {
  Emitter &e = c.e;
  Num can = e.constant(e.i1, int64_t(1));
  for (BlockAttr each : blocks) {
    if (!each.isAnchored())
      continue;
    Pointer from = anchorOf(blocks, each, first),
            to = anchorOf(blocks, each, last);
    Num faded;
    if (each.getFamily()) {
      faded = mostFaded(c, place, each, [&](Num p) {
        return magnitude(to.as(e.f64).load(p) - from.as(e.f64).load(p));
      });
    } else {
      Type type = c.layout.columnSlots[each.getT()];
      Num apart = to.as(type).load(0) - from.as(type).load(0);
      faded = magnitude(e.convert(apart, e.f64)) * largestRate(c, place, each);
    }
    // Half of what is borne: rows of a block begin before the tile's last key.
    can = can & (faded * (2.0 / allowedGrowth(each)) <= 1.0);
  }
  return can;
}

Num sharesAnchor(const TileContext &c, Num tile, Num tileEnd) {
  Emitter &e = c.e;
  Pointer first = c.tileAnchors + c.layout.anchorsAt(tile);
  Pointer last = c.tileAnchors + c.layout.anchorsAt(tileEnd - 1);
  return e.loop(0, e.index(c.layout.anchors), 1, {e.constant(e.i1, int64_t(1))},
                [&](Num n, ArrayRef<Num> carried) -> Nums {
                  return {carried[0] & (first.load(n) == last.load(n))};
                })[0];
}

} // namespace torsor
