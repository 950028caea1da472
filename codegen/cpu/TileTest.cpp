// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The test that tells hidden, partial and visible tiles of pairs apart.
#include "codegen/cpu/TileTest.h"

using namespace mlir;

namespace torsor {

TileVerdict emitTileTest(const TileContext &c, const TileSide &queries,
                         const TileSide &keys) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num yes = e.constant(e.i1, int64_t(1)), no = e.constant(e.i1, int64_t(0));
  if (op.getTile().empty())
    return {yes, no, Num(), Num()};
  Nums arguments = {queries.indices.low, queries.indices.high, keys.indices.low,
                    keys.indices.high};
  Num strange = no; // a slot is NaN
  for (ArrayRef<Bounds> slots : {queries.slots, keys.slots})
    for (const Bounds &bounds : slots) {
      arguments.append({bounds.low, bounds.high});
      if (isa<FloatType>(bounds.low.type()))
        strange = strange | e.isNan(bounds.low);
    }
  Nums verdict = cloneRegion(op.getTile(), arguments, c.tables, c.place);
  Num low, high;
  if (!op.getBranch().empty()) {
    low = select(strange, 0, verdict[2]);
    high = select(strange, int64_t(op.getBranches().size()) - 1, verdict[3]);
  }
  // A key with an index below 0 is padding, whatever the mask says.
  return {verdict[0] | strange,
          verdict[1] & (strange ^ 1) & (keys.indices.low >= 0), low, high};
}

SmallVector<Bounds> loadKeyBounds(const TileContext &c, Pointer words) {
  Emitter &e = c.e;
  SmallVector<Bounds> bounds = {loadBounds(e, words, e.index(0), e.i64)};
  for (auto [n, type] : llvm::enumerate(c.layout.columnSlots))
    bounds.push_back(loadBounds(e, words, e.index(2 * (n + 1)), type));
  return bounds;
}

/// Joins what `read` gives for begin … end-1 into bounds: an index, and slots.
static SmallVector<Bounds> boundsOf(Emitter &e, Num begin, Num end,
                                    ArrayRef<Type> slots,
                                    function_ref<Nums(Num)> read) {
  Nums none;
  auto add = [&](Type type) {
    Bounds bounds = Bounds::none(e, type);
    none.append({bounds.low, bounds.high});
  };
  add(e.i64);
  llvm::for_each(slots, add);
  Nums ends =
      e.loop(begin, end, 1, none, [&](Num at, ArrayRef<Num> carried) -> Nums {
        Nums next;
        for (auto [n, value] : llvm::enumerate(read(at))) {
          Bounds own = Bounds{carried[2 * n], carried[2 * n + 1]}.with(value);
          next.append({own.low, own.high});
        }
        return next;
      });
  SmallVector<Bounds> bounds;
  for (size_t n = 0; n < ends.size(); n += 2)
    bounds.push_back({ends[n], ends[n + 1]});
  return bounds;
}

static TileSide sideOf(ArrayRef<Bounds> bounds) {
  return {bounds[0], bounds.drop_front()};
}

namespace {

/// The keys of a tile, in stretches whose bounds lie in memory.
struct Stretches {
  const TileContext &c;
  Emitter &e = c.e;
  /// Slots of another head lie elsewhere: then packing's own bounds, of all.
  bool isWhole = c.layout.slotsByHead;
  int64_t keys = isWhole ? c.layout.keys : c.layout.panel;
  int64_t words = c.layout.tileBoundsWords();
  Pointer memory = {};

  void compute(Num tile, Num tileEnd) {
    if (isWhole) {
      memory = c.tileBounds + tile / c.layout.keys * words;
      return;
    }
    memory = frameSlots(e, e.i64, c.layout.keys / keys * words);
    e.loop(tile, tileEnd, keys, [&](Num begin) {
      SmallVector<Bounds> bounds = boundsOf(
          e, begin, min(begin + keys, tileEnd), c.layout.columnSlots,
          [&](Num key) {
            Nums values = {e.convert(c.keyIndices.load(key), e.i64)};
            for (auto [n, type] : llvm::enumerate(c.layout.columnSlots))
              values.push_back(loadSlot(e, c.columnSlots[n], key, 1, type));
            return values;
          });
      Pointer to = memory + (begin - tile) / keys * words;
      for (auto [n, each] : llvm::enumerate(bounds))
        storeBounds(e, to, int64_t(2 * n), each);
    });
  }

  SmallVector<Bounds> load(Num offset) const {
    return loadKeyBounds(c, memory + offset / keys * words);
  }
};

} // namespace

/// Of a row group: the hull of the stretches that it may see, and the last run
/// of those that it sees wholly.
static void narrowGroup(const TileContext &c, const Stretches &stretches,
                        Num group, Num tile, Num tileEnd) {
  Emitter &e = c.e;
  Num first = group * c.layout.rowTile;
  SmallVector<Bounds> rows = boundsOf(
      e, first, first + c.layout.rowTile, c.layout.rowSlots, [&](Num row) {
        Nums values = {c.indices.load(row)};
        for (auto [n, type] : llvm::enumerate(c.layout.rowSlots))
          values.push_back(loadSlot(e, c.rowSlots[n], row, 1, type));
        return values;
      });
  Num none = e.index(0), far = e.index(int64_t(1) << 62);
  Nums found =
      e.loop(tile, tileEnd, stretches.keys, {far, none, none, none},
             [&](Num at, ArrayRef<Num> carried) -> Nums {
               Num end = min(at + stretches.keys, tileEnd);
               TileVerdict verdict = emitTileTest(
                   c, sideOf(rows), sideOf(stretches.load(at - tile)));
               Num runsOn = carried[3] == at;
               return {select(verdict.some, min(carried[0], at), carried[0]),
                       select(verdict.some, end, carried[1]),
                       select(verdict.all & (runsOn ^ 1), at, carried[2]),
                       select(verdict.all, end, carried[3])};
             });
  Pointer limits = c.tileFirst(group), seen = c.tileSeen(group);
  limits.store(0, max(limits.load(0), found[0]));
  limits.store(1, min(limits.load(1), found[1]));
  seen.store(0, found[2]);
  seen.store(1, found[3]);
}

void narrowGroups(const TileContext &c, Num groups, Num tile, Num tileEnd,
                  Num partial) {
  Emitter &e = c.e;
  Stretches stretches{c};
  e.when(partial, [&] {
    stretches.compute(tile, tileEnd);
    e.loop(0, groups, 1,
           [&](Num group) { narrowGroup(c, stretches, group, tile, tileEnd); });
  });
}

} // namespace torsor
