// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the times of keys run on in steps, and which step each key is.
#include "codegen/cpu/DecodeSteps.h"
#include "codegen/cpu/PackKeys.h"

using namespace mlir;

namespace torsor {

/// A step of a real clock: how far the split's first two keys are apart.
Num KeySteps::emitUnit(const TileContext &c, const Indices &indices,
                       const Clock &clock, Num first, Num last,
                       Pointer scratch) const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  auto timeAt = [&](Num number) {
    Place place = keyPlace(c, indices, number);
    return emitSlots(op.getColumns(), c.tables, place, true, false)[clock.slot];
  };
  Num apart = timeAt(min(first + 1, last - 1)) - timeAt(first);
  apart = max(apart, e.constant(e.f64, 0.0) - apart);
  Pointer unit = scratch.bytes(clock.unit).as(e.f64);
  Num before = unit.load(0), now = select(apart > 0.0, apart, 1.0);
  unit.store(0, now);
  return before != now;
}

/// Of a vector.
static std::pair<Num, Num> extremes(Emitter &e, Num low, Num high) {
  Num least = e.lane(low, 0), most = e.lane(high, 0);
  for (int64_t lane = 1; lane < low.lanes(); ++lane) {
    least = min(least, e.lane(low, lane));
    most = max(most, e.lane(high, lane));
  }
  return {least, most};
}

Num KeySteps::emitClockSteps(const TileContext &c, const Clock &clock,
                             Num count, Pointer scratch) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Type type = layout.columnSlots[clock.slot];
  Pointer times = c.columnSlot(clock.slot, e.index(0)).as(type);
  Num first = e.splat(times.load(0), lanes);
  Nums ends = e.loop(0, count, lanes, {first, first},
                     [&](Num n, ArrayRef<Num> carried) -> Nums {
                       Num now = times.load(n, lanes);
                       return {min(now, carried[0]), max(now, carried[1])};
                     });
  auto [least, last] = extremes(e, ends[0], ends[1]);
  scratch.bytes(clock.anchor).as(type).store(0, last);
  Pointer steps = scratch.bytes(clock.steps).as(e.i64);
  constexpr int64_t within = decodeChunk - 1;
  if (!isReal(clock.slot)) {
    e.loop(0, count, lanes, [&](Num n) {
      steps.store(n, (e.splat(last, lanes) - times.load(n, lanes)) & within);
    });
    Num reach = last - least; // below 0, if it leaves 64 bits
    return (reach >= 0) & (reach <= within);
  }
  Num unit = scratch.bytes(clock.unit).as(e.f64).load(0);
  Num inverse = e.constant(e.f64, 1.0) / unit;
  Num none = e.constant(e.vec(lanes, e.f64), 0.0);
  Num strays = e.loop(
      0, count, lanes, {none}, [&](Num n, ArrayRef<Num> carried) -> Nums {
        Num now = times.load(n, lanes), all = e.splat(last, lanes);
        Num step = e.rint((all - now) * e.splat(inverse, lanes));
        Num back = e.constant(step.type(), 0.0) - step;
        // NaN is no step.
        Num holds = (step <= double(within)) &
                    (fma(back, e.splat(unit, lanes), all) == now);
        // A whole number lies in the low bits of a sum with 1.5 * 2^52.
        steps.store(n, e.bitcast(step + 0x1.8p52, e.i64) & within);
        return {select(holds, carried[0], 1.0)};
      })[0];
  return e.any(strays != 0.0) ^ 1;
}

Nums KeySteps::emitSteps(const TileContext &c, Num count,
                         Pointer scratch) const {
  Emitter &e = c.e;
  Nums regular;
  for (const Clock &clock : clocks)
    regular.push_back(emitClockSteps(c, clock, count, scratch));
  Nums found;
  for (ArrayRef<BlockAttr> blocks : branches) {
    Num all = blocks.empty() ? Num() : e.constant(e.i1, int64_t(1));
    for (BlockAttr block : blocks) {
      if (!block.acts())
        continue;
      const Clock &clock = clockOf(block.getT());
      all = all & regular[&clock - clocks.begin()];
      if (!block.isAnchored())
        continue;
      // From an anchor behind the query one side would grow.
      Type type = layout.columnSlots[clock.slot];
      Num own = loadSlot(e, c.rowSlots[block.getS()], e.index(0), 1, type);
      all = all & (scratch.bytes(clock.anchor).as(type).load(0) <= own);
    }
    found.push_back(all);
  }
  return found;
}

} // namespace torsor
