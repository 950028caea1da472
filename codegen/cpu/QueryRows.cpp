// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a block: queries in, results out.
#include "codegen/cpu/QueryRows.h"

#include "codegen/cpu/BfloatPairs.h"
#include "codegen/cpu/Exp.h"
#include "codegen/cpu/PairRuns.h"
#include "runtime/torsor_kernel.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;

namespace torsor {

Place RowBlock::place(const TileContext &c, const Indices &indices,
                      Num row) const {
  Place place = c.place;
  const Sequence &sequence = place.sequence;
  Num at = first + row;
  Num query = at / headsPerGroup;
  place.head = place.head + at % headsPerGroup;
  place.row = sequence.queryRow;
  place.token = sequence.queryStart + query;
  place.number = query;
  place.index = tokenIndex(indices.queries, place.row, place.token,
                           sequence.queryIndex + query);
  return place;
}

FailureOr<SmallVector<BlockAttr>> readAttention(AttentionOp op) {
  for (Region *region :
       {&op.getRows(), &op.getColumns(), &op.getInit(), &op.getToeplitz(),
        &op.getPath(), &op.getLogit(), &op.getMask(), &op.getTile(),
        &op.getBranch(), &op.getValueRow(), &op.getDivide()})
    if (failed(checkRegion(*region)))
      return failure();
  if (op.getBranches().empty())
    return SmallVector<BlockAttr>();
  return readBlocks(op, cast<ArrayAttr>(op.getBranches()[0]));
}

Num emitQueryGain(Emitter &e, AttentionOp op, ArrayRef<Num> slots) {
  Num gain;
  if (auto scale = op.getScale())
    gain = e.real(scale->convertToDouble());
  if (auto slot = op.getScaleSlot()) {
    Num factor = slots[*slot];
    gain = gain ? gain * factor : factor;
  }
  return gain;
}

/// The running sums of all used rows at their start.
static void emitStartOfSums(const TileContext &c, Num used) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num lowest = e.constant(e.vec(lanes, e.f32), lowestMaximum);
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  e.loop(0, used, lanes, [&](Num row) { c.maxima.store(row, lowest); });
  e.loop(0, used, 1, [&](Num row) {
    c.rowMax.store(row * lanes, lowest);
    c.rowSum.store(row * lanes, zero);
  });
  e.fill(c.outputs, used * (c.layout.valueWidth() * 4), 0);
  if (c.layout.paths)
    e.fill(c.pathSums, e.index(c.layout.paths * c.layout.rows * 4), 0);
  if (c.layout.valueRows)
    e.fill(c.valueWeights, used * (c.layout.valueRows * 4), 0);
}

/// Keeps the vector of a row in f32, where regions read it.
static Contents emitQueryContents(const TileContext &c, const RowLanes &around,
                                  const Place &place, Pointer from, Num row) {
  if (!c.layout.readsQueries)
    return {};
  int64_t width = c.layout.head;
  Contents contents = {c.contents + row * width, width};
  emitNormed(around, c.tables, place, width, from, contents.row);
  return contents;
}

/// The vectors of a table of products that the rows row … lastRow need: all, or
/// where indices run on those between what the first and the last key that is
/// seen pick.
static Range productRange(const TileContext &c, const Indices &indices,
                          const ProductTable &product, Num row, Num lastRow) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Range whole = {e.index(0), e.index(product.vectors(c.lanes()))};
  if (!c.runsOn)
    return whole;
  Range keys = {c.keysFrom, c.keysTo};
  if (!c.keysFrom)
    keys = hullOf(e, emitRanges(e, op.getVisible(), c.place.sequence,
                                indices.mapsHold, true, c.indices.load(row),
                                c.indices.load(lastRow)));
  Range found = whole;
  found.end = e.index(0);
  bool some = false;
  for (Region *region :
       {&op.getInit(), &op.getPath(), &op.getLogit(), &op.getMask()}) {
    if (region->empty())
      continue;
    PairRuns runs(c, *region);
    for (auto dot : region->getOps<RowDotOp>()) {
      if (dot.getTable() != product.table || dot.getSide() != product.side)
        continue;
      auto ends = runs.bounds(dot, row, lastRow, keys.begin, keys.end - 1);
      if (!ends)
        return whole;
      Num low = max(min(ends->first, product.rows - 1), 0) / c.lanes();
      Num high = max(min(ends->second, product.rows - 1), 0) / c.lanes() + 1;
      found.begin = some ? min(found.begin, low) : low;
      found.end = max(found.end, high);
      some = true;
    }
  }
  found.end = select(keys.isEmpty(), found.begin, found.end);
  return {select(c.runsOn, found.begin, whole.begin),
          select(c.runsOn, found.end, whole.end)};
}

/// The products of `count` rows with tables, where pairs read them: of several
/// rows at once that read one table, where heads have their own those of a
/// head.
static void emitQueryProducts(const TileContext &c, const Indices &indices,
                              Num headsPerGroup, Num count) {
  Emitter &e = c.e;
  int64_t width = c.layout.head;
  for (auto [n, product] : llvm::enumerate(c.layout.products)) {
    if (product.side != Side::Query)
      continue;
    bool byHead = hasAxis(*c.kernel.find(product.table), "H");
    Num apart = byHead ? headsPerGroup : e.index(1);
    Pointer products = c.products[n];
    auto emit = [&](Num row, int64_t rows) {
      Place place = c.place;
      place.head = c.rowHeads.load(row);
      Num last = row + apart * (rows - 1);
      Range vectors = productRange(c, indices, product, row, last);
      emitProducts(c.tables, place, product, {c.contents + row * width, width},
                   rows, apart, vectors.begin, vectors.end,
                   products + row * product.padded);
    };
    int64_t rowTile = c.layout.rowTile;
    e.loop(0, min(apart, count), 1, [&](Num first) {
      Num own = (count - first + apart - 1) / apart;
      Num whole = first + alignDown(own, rowTile) * apart;
      e.loop(first, whole, apart * rowTile,
             [&](Num row) { emit(row, rowTile); });
      e.loop(whole, count, apart, [&](Num row) { emit(row, 1); });
    });
  }
}

SmallVector<Bounds>
emitQueryRows(const TileContext &c, const Indices &indices, const Tensor &q,
              RowBlock block, Num used,
              function_ref<void(Num, const Place &, Pointer, Num)> keep) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  emitStartOfSums(c, used);
  Nums start;
  for (Type type : c.layout.rowSlots) {
    Bounds none = Bounds::none(e, type);
    start.append({none.low, none.high});
  }
  Num strides[3] = {q.stride(0), q.stride(1), q.stride(2)};
  RowLanes around = queryLanes(op);
  SmallVector<KeptTurns> turns;
  for (ArrayRef<BlockAttr> acting : c.layout.forms.queries)
    turns.push_back(
        {frameSlots(e, e.f32, std::max<int64_t>(1, 2 * countTurns(acting))),
         Num()});
  Nums ends =
      e.loop(0, used, 1, start, [&](Num row, ArrayRef<Num> carried) -> Nums {
        Place place = block.place(c, indices, min(row, block.count - 1));
        Pointer from =
            q.data + (place.row * strides[0] + place.head * strides[1] +
                      place.token * strides[2]);
        Contents contents = emitQueryContents(c, around, place, from, row);
        Nums slots =
            emitSlots(op.getRows(), c.tables, place, false, true, contents);
        c.indices.store(row, place.index);
        c.rowTokens.store(row, place.token);
        c.rowHeads.store(row, place.head);
        Nums bounds;
        for (auto [n, slot] : llvm::enumerate(slots)) {
          storeSlot(e, c.rowSlots[n], row, slot);
          Bounds next = Bounds{carried[2 * n], carried[2 * n + 1]}.with(slot);
          bounds.append({next.low, next.high});
        }
        if (keep)
          keep(row, place, from, emitQueryGain(e, op, slots));
        auto time = [&](int64_t slot) { return slots[slot]; };
        for (auto [form, acting] : llvm::enumerate(c.layout.forms.queries)) {
          Action action = {acting,
                           /*onQuery=*/true,
                           c.layout.head,
                           time,
                           emitQueryGain(e, op, slots),
                           &around};
          if (shareTurns(op.getRows(), c.kernel, acting, true)) {
            Num head = (block.first + row) % block.headsPerGroup;
            turns[form].isFresh = (row == 0) | (head == 0);
            action.turns = &turns[form];
          }
          Pointer to = c.queryRow(form, row);
          emitAction(e, c.lanes(), action, c.tables, place, from, to);
          padRow(c.layout, to);
        }
        return bounds;
      });
  emitQueryProducts(c, indices, block.headsPerGroup, block.count);
  SmallVector<Bounds> bounds;
  for (size_t n = 0; n < ends.size(); n += 2)
    bounds.push_back({ends[n], ends[n + 1]});
  return bounds;
}

/// What is left of a row when all keys are summed: o = factor * sum of
/// weights * v, 0 without a visible key.
struct RowEnd {
  Num factor, isEmpty;
  /// Computes the natural LSE of a row that is not empty; called where it is
  /// stored.
  std::function<Num()> lse;
};

static RowEnd emitRowEnd(Emitter &e, const Target &target, Num maximum, Num sum,
                         Num sink, Num isPadding) {
  Num isEmpty = (sum == 0.0) | isPadding;
  Num top = maximum, total = sum, kept = e.real(1.0);
  if (sink) {
    top = max(maximum, sink);
    kept = emitExp2(e, target, maximum - top);
    total = sum * kept + emitExp2(e, target, sink - top);
  }
  return {select(isEmpty, e.real(0.0), kept / total), isEmpty, [=, &e] {
            return (e.call("llvm.log2.f32", e.f32, {total}) + top) * M_LN2;
          }};
}

/// The end of a row whose weights are its terms: `maximum` is 0 if some key is
/// seen.
static RowEnd emitLinearEnd(const TileContext &c, const Place &place,
                            Num maximum, Num sum) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num isEmpty = (maximum < 0.0) | (place.index < 0);
  Num factor = e.real(1.0);
  if (!op.getDivide().empty()) {
    Nums arguments = {sum};
    arguments.append(emitSlots(op.getRows(), c.tables, place, false, true));
    Num divisor = cloneRegion(op.getDivide(), arguments, c.tables, place)[0];
    Num partial = (place.sequence.flags & int64_t(TORSOR_PARTIAL)) != 0;
    factor = select(partial, factor, factor / divisor);
  }
  return {select(isEmpty, e.real(0.0), factor), isEmpty, [=] { return sum; }};
}

void emitResultRow(const TileContext &c, const Place &place, Pointer from,
                   Num maximum, Num sum, Num sink, const Tensor &o,
                   const Tensor &lse) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes(), width = c.layout.value;
  Num negative = e.real(-std::numeric_limits<double>::infinity());
  if (auto slot = op.getSinkSlot()) {
    if (!sink)
      sink = emitSlots(op.getRows(), c.tables, place, false, true)[*slot];
    Num partial = (place.sequence.flags & int64_t(TORSOR_PARTIAL)) != 0;
    sink = select(partial, negative, sink);
  }
  RowEnd end = op.getLinear() ? emitLinearEnd(c, place, maximum, sum)
                              : emitRowEnd(e, c.target(), maximum, sum, sink,
                                           place.index < 0);
  if (ArrayRef<BlockAttr> blocks = c.layout.forms.values; !blocks.empty()) {
    Nums slots = emitSlots(op.getRows(), c.tables, place, false, true);
    auto time = [&](int64_t slot) { return slots[slot]; };
    emitValueAction(e, lanes, blocks, width, time, c.tables, place, true, from,
                    from);
  }
  Pointer to = o.data + (place.row * o.stride(0) + place.head * o.stride(1) +
                         place.token * o.stride(2));
  // A factor of 0 stands for a row without keys, whatever its sums hold.
  auto piece = [&](Num at, int64_t n) {
    Num factor = e.splat(end.factor, n);
    Num value = select(factor == 0.0, factor, from.load(at, n) * factor);
    to.store(at, e.convert(value, to.element));
  };
  int64_t whole = width / lanes * lanes;
  e.loop(0, e.index(whole), lanes, [&](Num at) { piece(at, lanes); });
  e.loop(whole, e.index(width), 1, [&](Num at) { piece(at, 1); });
  e.when(lse.isAbsent() ^ 1, [&] {
    lse.data.store(place.row * lse.stride(0) + place.head * lse.stride(1) +
                       place.token * lse.stride(2),
                   select(end.isEmpty, negative, end.lse()));
  });
}

void emitResultRows(const TileContext &c, const Indices &indices,
                    const Tensor &o, const Tensor &lse, RowBlock block) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  e.loop(0, block.count, 1, [&](Num row) {
    Num sink;
    if (auto slot = op.getSinkSlot())
      sink = c.rowSlots[*slot].load(row);
    emitResultRow(c, block.place(c, indices, row),
                  c.outputs + row * c.layout.valueWidth(), c.maxima.load(row),
                  e.sum(c.rowSum.load(row * c.lanes(), c.lanes())), sink, o,
                  lse);
  });
}

} // namespace torsor
