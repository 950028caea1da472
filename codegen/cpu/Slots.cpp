// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots in memory, their bounds, and the pair regions that read them.
#include "codegen/cpu/Slots.h"

#include "codegen/cpu/KeySlots.h"

#include <limits>

using namespace mlir;

namespace torsor {

Nums emitSlots(Region &region, const TableReader &tables, const Place &place,
               bool isKey, bool brought) {
  Emitter &e = tables.e;
  Nums arguments = {place.index, Num(), isKey ? place.group : place.head,
                    place.sequence.batchNumber, place.sequence.total};
  Type time = region.getArgument(1).getType();
  if (!region.getArgument(1).use_empty())
    arguments[1] = e.convert(tables.position(place, !brought), time);
  return cloneRegion(region, arguments, tables, place);
}

void storeSlot(Emitter &e, Pointer to, Num at, Num slot) {
  to.store(at, e.convert(slot, to.element));
}

Num loadSlot(Emitter &e, Pointer from, Num at, int64_t lanes, Type type) {
  Num stored = from.load(at, lanes);
  return type.isInteger(1) ? stored != 0 : stored;
}

/// Whether the region looks a per-token table up at its keys.
static bool readsAtKeys(const TileContext &c, Region &region) {
  return llvm::any_of(region.getOps<LookupOp>(), [&](LookupOp lookup) {
    const Table *table = c.kernel.find(lookup.getTable());
    return table && table->info.getKey() &&
           llvm::any_of(table->info.getAxes(),
                        [](StringAttr axis) { return axis == "token"; });
  });
}

/// The query and the keys of a pair region, where it looks tables up.
static Place pairPlace(const TileContext &c, Region &region, Num row,
                       Num key) {
  Emitter &e = c.e;
  Place place = c.place;
  if (region.getOps<LookupOp>().empty())
    return place;
  const Sequence &sequence = place.sequence;
  place.row = sequence.queryRow;
  place.token = c.rowTokens.load(row);
  if (!readsAtKeys(c, region))
    return place;
  Num first = c.firstKey ? key + c.firstKey : key;
  place.keyRows = place.keyTokens = e.undef(e.vec(c.lanes(), e.i64));
  for (int64_t lane = 0; lane < c.lanes(); ++lane) {
    // Padding reads the last key.
    Num number = min(first + lane, sequence.keyLength - 1);
    KeySlot slot = locateKey(e, c.tables.call, sequence, number);
    place.keyRows = e.insert(place.keyRows, slot.row, lane);
    place.keyTokens = e.insert(place.keyTokens, slot.slot, lane);
  }
  return place;
}

Num emitPair(const TileContext &c, Region &region, Num row, Num key,
             Num score) {
  Emitter &e = c.e;
  Nums arguments;
  if (score)
    arguments.push_back(score);
  auto isUsed = [&] {
    return !region.getArgument(arguments.size()).use_empty();
  };
  arguments.push_back(isUsed() ? e.convert(c.indices.load(row), e.i32) : Num());
  arguments.push_back(isUsed() ? c.keyIndices.load(key, c.lanes()) : Num());
  for (auto [n, type] : llvm::enumerate(c.layout.rowSlots))
    arguments.push_back(isUsed() ? loadSlot(e, c.rowSlots[n], row, 1, type)
                                 : Num());
  for (auto [n, type] : llvm::enumerate(c.layout.columnSlots))
    arguments.push_back(
        isUsed() ? loadSlot(e, c.columnSlots[n], key, c.lanes(), type) : Num());
  Num result = cloneRegion(region, arguments, c.tables, pairPlace(c, region, row, key))[0];
  return result.isVector() ? result : e.splat(result, c.lanes());
}

Num emitStart(const TileContext &c, Num row, Num key) {
  AttentionOp op = c.op;
  if (!op.getInit().empty())
    return emitPair(c, op.getInit(), row, key);
  return c.e.constant(c.e.vec(c.lanes(), c.e.f32), 0.0);
}

Bounds Bounds::none(Emitter &e, Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() == 1)
      return {e.constant(type, int64_t(1)), e.constant(type, int64_t(0))};
    bool wide = integer.getWidth() == 64;
    return {e.constant(type, wide ? std::numeric_limits<int64_t>::max()
                                  : std::numeric_limits<int32_t>::max()),
            e.constant(type, wide ? std::numeric_limits<int64_t>::min()
                                  : std::numeric_limits<int32_t>::min())};
  }
  double infinity = std::numeric_limits<double>::infinity();
  return {e.constant(type, infinity), e.constant(type, -infinity)};
}

Bounds Bounds::with(Num value) const {
  if (value.type().isInteger(1))
    return {low & value, high | value};
  if (isa<IntegerType>(value.type()))
    return {min(low, value), max(high, value)};
  // A comparison with NaN is false: written so that NaN enters and stays.
  Num nan = value.e->isNan(value);
  return {select((value < low) | nan, value, low),
          select((value > high) | nan, value, high)};
}

void storeBounds(Emitter &e, Pointer words, int64_t at, Bounds bounds) {
  Type type = bounds.low.type();
  Type stored = TileLayout::storedSlot(type);
  (words + at).as(stored).store(0, e.convert(bounds.low, stored));
  (words + (at + 1)).as(stored).store(0, e.convert(bounds.high, stored));
}

Bounds loadBounds(Emitter &e, Pointer words, Num at, Type type) {
  Pointer here = (words + at).as(TileLayout::storedSlot(type));
  return {loadSlot(e, here, e.index(0), 1, type),
          loadSlot(e, here.bytes(8), e.index(0), 1, type)};
}

} // namespace torsor
