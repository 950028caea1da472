// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that grow or fade, in the tiles of prefill.
#include "codegen/cpu/Anchors.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/AnchorSpans.h"
#include "codegen/cpu/PackKeys.h"

using namespace mlir;

namespace torsor {

Anchors::Anchors(const TileContext &c, const Indices &indices, const Tensor &k,
                 RowBlock rows, ArrayRef<Bounds> rowBounds, Num used,
                 int64_t branch)
    : c(c), e(c.e), indices(indices), k(k), block(rows), rowBounds(rowBounds),
      used(used), branch(branch),
      blocks(c.layout.forms.keys[c.layout.forms.branches[branch].key]) {
  for (BlockAttr each : blocks)
    if (each.isAnchored())
      largest.push_back(
          each.getFamily()
              ? Num()
              : largestRate(c, block.place(c, indices, e.index(0)), each));
  first = frameSlots(e, e.i64, c.layout.anchors);
  emitRowAnchors(e.index(0), first);
  isSorted = e.constant(e.i1, int64_t(1));
  for (BlockAttr each : blocks)
    if (each.isAnchored() && each.getFamily())
      isSorted = isSorted & indices.queries.isAbsent();
    else if (each.isAnchored())
      isSorted = isSorted & (rowBounds[each.getS()].low >=
                             anchorOf(blocks, each, first)
                                 .as(c.layout.rowSlots[each.getS()])
                                 .load(0));
  e.loop(0, used, 1, [&](Num row) { emitQuery(row, first, relative(row)); });
}

Pointer Anchors::anchorsOf(Num begin) const {
  return c.tileAnchors + c.layout.anchorsAt(begin);
}

bool Anchors::isTokenTime(BlockAttr each) const {
  AttentionOp op = c.op;
  auto isToken = [](Region &slots, int64_t number) {
    auto argument = dyn_cast<BlockArgument>(
        slots.front().getTerminator()->getOperand(number));
    return argument && argument.getArgNumber() <= 1;
  };
  return !each.getFamily() && isToken(op.getRows(), each.getS()) &&
         isToken(op.getColumns(), each.getT());
}

bool Anchors::isCausal() const {
  AttentionOp op = c.op;
  AffineExpr end = getAffineDimExpr(1, op.getContext()) + 1;
  return llvm::all_of(
      op.getVisible().getAsRange<IntervalAttr>(), [&](IntervalAttr interval) {
        return llvm::is_contained(interval.getUpper().getResults(), end);
      });
}

Bounds Anchors::keyTimes(BlockAttr each, Num begin) const {
  Type type = c.layout.columnSlots[each.getT()];
  Pointer words =
      c.tileBounds + begin / c.layout.keys * c.layout.tileBoundsWords();
  Bounds tile = loadBounds(e, words, e.index(2 * (each.getT() + 1)), type);
  if (!c.runsOn || !isTokenTime(each))
    return tile;
  Num first = loadSlot(e, c.columnSlots[each.getT()], begin, 1, type);
  Num last = anchorOf(blocks, each, anchorsOf(begin)).as(type).load(0);
  return {select(c.runsOn, first, tile.low), select(c.runsOn, last, tile.high)};
}

Num Anchors::growth(BlockAttr each, Num largest, Num begin) const {
  Num anchor = anchorOf(blocks, each, anchorsOf(begin))
                   .as(c.layout.columnSlots[each.getT()])
                   .load(0);
  Bounds keys = keyTimes(each, begin);
  Num zero = e.constant(e.f64, 0.0);
  auto above = [&](Num a, Num b) { // a - b where it is above 0
    Num apart = e.convert(a - b, e.f64);
    return select(apart <= 0.0, zero, apart);
  };
  Num before = above(anchor, rowBounds[each.getS()].low);
  Num behind = above(keys.high, anchor);
  Num reach = before + behind;
  if (each.getKind() == BlockKind::Jordan) // all terms of the keys cancel too
    reach = select(reach == 0.0, reach, reach + above(anchor, keys.low));
  return reach * largest * (1.0 / allowedGrowth(each));
}

/// Of running sums in the order of the keys: the last key's is the greatest,
/// the first query's the least.
Num Anchors::familyGrowth(BlockAttr each, Num begin) const {
  Place place = block.place(c, indices, e.index(0));
  Pointer anchor = anchorOf(blocks, each, anchorsOf(begin)).as(e.f64);
  const Table &times = c.kernel.tables[each.getS()];
  Num most = mostFaded(c, place, each, [&](Num p) {
    return anchor.load(p) -
           c.tables.times(times, place, p + each.getMember(), 1);
  });
  return most * (1.0 / allowedGrowth(each));
}

Num Anchors::isUnsafe(Num begin) const {
  Num unsafe = isSorted ^ 1;
  size_t n = 0;
  for (BlockAttr each : blocks) {
    if (!each.isAnchored())
      continue;
    Num share = each.getFamily() ? familyGrowth(each, begin)
                                 : growth(each, largest[n], begin);
    ++n;
    unsafe = unsafe | ((share <= 1.0) ^ 1);
    if (each.getFamily())
      unsafe = unsafe | (indices.keys.isAbsent() ^ 1);
  }
  return unsafe;
}

Num Anchors::isNear(Num begin) const {
  if (!c.runsOn || !isCausal())
    return {};
  Num near = c.runsOn;
  size_t n = 0;
  for (BlockAttr each : blocks) {
    if (!each.isAnchored())
      continue;
    if (!isTokenTime(each))
      return {};
    Bounds keys = keyTimes(each, begin);
    // A row lies behind the keys it sees, and so does the anchor.
    Num reach = e.convert(keys.high - keys.low, e.f64);
    if (each.getKind() == BlockKind::Jordan)
      reach = reach * 2.0;
    near = near & (reach * largest[n++] * (1.0 / allowedGrowth(each)) <= 1.0);
  }
  return near;
}

void Anchors::emitRowAnchors(Num row, Pointer anchors) const {
  auto time = [&](int64_t slot) {
    return loadSlot(e, c.rowSlots[slot], row, 1, c.layout.rowSlots[slot]);
  };
  emitAnchors(e, blocks, true, time, c.tables,
              block.place(c, indices, min(row, block.count - 1)), anchors);
}

void Anchors::emitQuery(Num row, Pointer anchors, Pointer to) const {
  auto time = [&](int64_t slot) {
    return loadSlot(e, c.rowSlots[slot], row, 1, c.layout.rowSlots[slot]);
  };
  auto anchor = [&](BlockAttr each) { return anchorOf(blocks, each, anchors); };
  // All else is behind the row; a key's form does not know its times.
  SmallVector<BlockAttr> fading = llvm::to_vector(llvm::make_filter_range(
      blocks, [](BlockAttr each) { return each.isAnchored(); }));
  Action action = {fading, /*onQuery=*/true, c.layout.head, time, Num()};
  action.anchor = anchor;
  action.isAnchoredOnly = true;
  emitAction(e, c.lanes(), action, c.tables,
             block.place(c, indices, min(row, block.count - 1)), query(row),
             to);
}

/// The rows of the groups that see some key, each from its own time.
void Anchors::emitNearRows(Num begin, Num end, Num groups) const {
  int64_t rowTile = c.layout.rowTile;
  Pointer anchors = anchorsOf(begin);
  e.loop(0, groups, 1, [&](Num group) {
    Pointer limits = c.tileFirst(group);
    e.when((limits.load(0) < end) & (limits.load(1) > begin), [&] {
      e.loop(group * rowTile, (group + 1) * rowTile, 1, [&](Num row) {
        emitQuery(row, anchors, c.anchoredQueries + row * c.layout.head);
      });
    });
  });
}

void Anchors::emitKey(Num number, Pointer anchors, Pointer to) const {
  Place place = keyPlace(c, indices, number);
  auto time = [&](int64_t slot) {
    return loadSlot(e, c.columnSlots[slot], number, 1,
                    c.layout.columnSlots[slot]);
  };
  auto anchor = [&](BlockAttr each) { return anchorOf(blocks, each, anchors); };
  RowLanes around = keyLanes(c.op);
  Action action = {blocks, false, c.layout.head, time, Num(), &around};
  action.anchor = anchor;
  Pointer from = k.data + (place.row * k.stride(0) + place.group * k.stride(1) +
                           place.token * k.stride(2));
  emitAction(e, c.lanes(), action, c.tables, place, from, to);
}

Num Anchors::isBefore(Num number, Pointer anchors) const {
  Num before = isSorted;
  for (BlockAttr each : blocks) {
    if (!each.isAnchored())
      continue;
    Pointer anchor = anchorOf(blocks, each, anchors);
    if (!each.getFamily()) {
      Type type = c.layout.columnSlots[each.getT()];
      Num time = loadSlot(e, c.columnSlots[each.getT()], number, 1, type);
      before = before & (time <= anchor.as(type).load(0));
      continue;
    }
    Place place = keyPlace(c, indices, number);
    const Table &times = c.kernel.tables[each.getT()];
    before = e.loop(0, e.index(each.getLanes().getCount()), 1, {before},
                    [&](Num p, ArrayRef<Num> carried) -> Nums {
                      Num time =
                          c.tables.times(times, place, p + each.getMember(), 1);
                      return {carried[0] & (time <= anchor.as(e.f64).load(p))};
                    })[0];
  }
  return before;
}

Num Anchors::dot(Pointer a, Pointer b) const {
  int64_t head = c.layout.head, lanes = c.lanes(), whole = head / lanes * lanes;
  Num start = e.constant(e.vec(lanes, e.f32), 0.0);
  Num sums =
      e.loop(0, e.index(whole), lanes, {start},
             [&](Num d, ArrayRef<Num> carried) -> Nums {
               return {fma(a.load(d, lanes), b.load(d, lanes), carried[0])};
             })[0];
  return e.loop(whole, e.index(head), 1, {e.sum(sums)},
                [&](Num d, ArrayRef<Num> carried) -> Nums {
                  return {fma(a.load(d), b.load(d), carried[0])};
                })[0];
}

void Anchors::emitProducts(Num tile, Num begin, Num end, Num groups) const {
  Pointer acted = frameSlots(e, e.f32, c.layout.head);
  e.loop(begin, end, 1, [&](Num number) {
    e.when(isBefore(number, first), [&] {
      emitKey(number, first, acted);
      e.loop(0, groups * c.layout.rowTile, 1, [&](Num row) {
        c.scores.store(row * c.layout.keys + (number - tile),
                       dot(relative(row), acted));
      });
    });
  });
  e.loop(0, groups, 1,
         [&](Num group) { emitGroup(tile, begin, end, group, acted); });
}

/// The keys behind the block's first row, for the rows of a register tile.
void Anchors::emitGroup(Num tile, Num begin, Num end, Num group,
                        Pointer acted) const {
  int64_t head = c.layout.head, rowTile = c.layout.rowTile;
  Pointer anchors = frameSlots(e, e.i64, c.layout.anchors);
  Pointer own = frameSlots(e, e.i64, c.layout.anchors);
  Pointer rows = frameSlots(e, e.f32, rowTile * head);
  Num firstRow = group * rowTile;
  emitRowAnchors(firstRow, anchors);
  e.loop(0, e.index(rowTile), 1,
         [&](Num r) { emitQuery(firstRow + r, anchors, rows + r * head); });
  Pointer limits = c.tileFirst(group);
  Num from = max(limits.load(0), begin), to = min(limits.load(1), end);
  e.loop(from, to, 1, [&](Num number) {
    auto put = [&](Num r, Num product) {
      c.scores.store((firstRow + r) * c.layout.keys + (number - tile), product);
    };
    auto shared = [&] {
      emitKey(number, anchors, acted);
      e.loop(0, e.index(rowTile), 1,
             [&](Num r) { put(r, dot(rows + r * head, acted)); });
    };
    auto alone = [&] {
      e.loop(0, e.index(rowTile), 1, [&](Num r) {
        emitRowAnchors(firstRow + r, own);
        emitKey(number, own, acted);
        put(r, dot(query(firstRow + r), acted));
      });
    };
    e.when(isBefore(number, first) ^ 1,
           [&] { e.when(isBefore(number, anchors), shared, alone); });
  });
}

Num Anchors::emit(Num tile, Num begin, Num end, Num groups) const {
  Num unsafe = isUnsafe(begin), near = isNear(begin);
  Num alone = near ? unsafe & (near ^ 1) : unsafe;
  auto products = [&] { emitProducts(tile, begin, end, groups); };
  auto rare = [&] {
    if (near)
      e.when(near, [&] { emitNearRows(begin, end, groups); }, products);
    else
      products();
  };
  e.when(unsafe, rare, [&] { emitRows(begin); });
  return alone;
}

} // namespace torsor
