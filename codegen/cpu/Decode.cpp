// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of few queries against a long row-major run of keys.
#include "codegen/cpu/Decode.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodeKernel.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Exp.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/ValueRows.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

PlanEntry Decode::plan(const Call &call) const {
  TableReader tables(e, kernel, call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  Num zero = e.index(0), none = e.constant(e.f64, 0.0);
  int64_t both = layout.head + layout.value;
  Nums sums =
      e.loop(0, call.count, 1, {zero, zero, zero, none, none, none},
             [&](Num number, ArrayRef<Num> carried) -> Nums {
               Sequence sequence = call.sequence(number);
               Range hull =
                   emitSequenceHull(e, op.getVisible(), sequence, indices);
               Num rows = e.convert(sequence.queryLength * call.heads, e.f64);
               Num keys = e.convert(hull.end - hull.begin, e.f64);
               int64_t bytes = elementOf(op.getK()).getIntOrFloatBitWidth() / 8;
               return {carried[0] + itemsOf(call, sequence, indices),
                       carried[1] + rowsOf(call, sequence) * layout.runs(call),
                       carried[2] + bytesOf(call, sequence),
                       carried[3] + rows * keys * double(2 * both),
                       carried[4] + keys * e.convert(layout.runs(call), e.f64) *
                                        double(bytes * both),
                       carried[5] + rows * double(bytes * layout.value)};
             });
  SmallVector<Num, 4> items = {sums[0], sums[1]};
  if (layout.paths)
    items.insert(items.begin(), sums[0]);
  return {items, sums[2], scratchAt.bytes, sums[3], sums[4], sums[5]};
}

TileContext Decode::context(const TableReader &tables, const Sequence &sequence,
                            Num group, Pointer scratch) const {
  TileContext c = {
      .e = e, .kernel = kernel, .op = op, .layout = layout, .tables = tables};
  c.place.sequence = sequence;
  layout.setRun(c.place, tables.call, group);
  c.keyCount = sequence.keyLength;
  c.placeScratch(scratch);
  c.queryStride = scratchAt.queryWidth;
  c.queries = scratch.bytes(scratchAt.queries).as(e.f32);
  c.keyIndices = scratch.bytes(scratchAt.keyIndices).as(e.i32);
  c.slotStride = e.index(decodeChunk);
  c.slotsByRow = true;
  for (auto [n, slot] : llvm::enumerate(layout.columnSlots))
    c.columnSlots.push_back(
        scratch.bytes(scratchAt.slots + int64_t(n) * scratchAt.slotBytes)
            .as(TileLayout::storedSlot(slot)));
  return c;
}

RowBlock Decode::rowsOfBlock(const Call &call, const Sequence &sequence,
                             Num number) const {
  Num heads = layout.headsPerRun(call);
  if (!layout.anchors) {
    Num first = number * layout.rows;
    return {first, min(rowsOf(call, sequence) - first, layout.rows), heads};
  }
  Num each = ceilDiv(heads, layout.rows);
  Num skipped = number % each * layout.rows;
  return {number / each * heads + skipped, min(heads - skipped, layout.rows),
          heads};
}

void Decode::forBlocks(const Call &call, Num begin, Num end, Pointer scratch,
                       function_ref<void(const TileContext &, const Indices &,
                                         RowBlock, Range, Num, Num)>
                           body) const {
  TableReader tables(e, kernel, call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  if (steps.exist())
    steps.forgetTables(scratch.bytes(scratchAt.steps));
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return itemsOf(call, sequence, indices);
      },
      [&](const Sequence &sequence) { return bytesOf(call, sequence); },
      [&](const Sequence &sequence, Num item, Num base) {
        Range tiles = tilesOf(sequence, indices);
        Num splits = tiles.end - tiles.begin;
        Num perGroup = blocksOf(call, sequence) * splits;
        RowBlock block = rowsOfBlock(call, sequence, item % perGroup / splits);
        TileContext c = context(tables, sequence, item / perGroup, scratch);
        body(c, indices, block, {tiles.begin + item % splits, tiles.end},
             item / perGroup, base);
      });
}

void Decode::totals(const Call &call, Num begin, Num end,
                    Pointer scratch) const {
  forBlocks(call, begin, end, scratch,
            [&](const TileContext &c, const Indices &indices, RowBlock block,
                Range splits, Num run, Num base) {
              emitBlock(call, c, indices, block, splits.begin,
                        /*isTotal=*/true, scratch);
              e.loop(0, block.count, 1, [&](Num row) {
                Pointer to = pathTotals(call, c.place.sequence, base, run,
                                        block.first + row, splits.begin);
                for (int64_t n = 0; n < layout.paths; ++n)
                  to.store(n, c.pathSums.load(row + n * layout.rows));
              });
            });
}

void Decode::partial(const Call &call, Num begin, Num end,
                     Pointer scratch) const {
  forBlocks(
      call, begin, end, scratch,
      [&](const TileContext &c, const Indices &indices, RowBlock block,
          Range splits, Num run, Num base) {
        const Sequence &sequence = c.place.sequence;
        auto carry = [&] { // the sums of the splits behind
          e.loop(0, block.count, 1, [&](Num row) {
            e.loop(splits.begin + 1, splits.end, 1, [&](Num split) {
              Pointer from = pathTotals(call, sequence, base, run,
                                        block.first + row, split);
              for (int64_t n = 0; n < layout.paths; ++n) {
                Pointer to = c.pathSums + (row + n * layout.rows);
                to.store(0, to.load(0) + from.load(n));
              }
            });
          });
        };
        emitBlock(call, c, indices, block, splits.begin, /*isTotal=*/false,
                  scratch, carry);
        e.loop(0, block.count, 1, [&](Num row) {
          Pointer to = record(call, sequence, base, run, block.first + row,
                              splits.begin);
          to.store(0, c.maxima.load(row));
          to.store(1, e.sum(c.rowSum.load(row * layout.lanes, layout.lanes)));
          e.loop(0, e.index(layout.valueWidth()), layout.lanes, [&](Num at) {
            to.store(
                at + layout.lanes,
                c.outputs.load(row * layout.valueWidth() + at, layout.lanes));
          });
        });
      });
}

/// Whether the caches that the call reads are more than the second cache of a
/// processor holds: what lies there needs no asking, which costs instructions.
Num Decode::asksFor(const Call &call, const Sequence &sequence) const {
  constexpr int64_t held = int64_t(1) << 20;
  Num bytes = sequence.keyLength * call.groups * call.count *
              (bytesOf(op.getK()) + bytesOf(op.getV()));
  return bytes > held;
}

void Decode::emitBlock(const Call &call, const TileContext &c,
                       const Indices &indices, RowBlock block, Num number,
                       bool isTotal, Pointer scratch,
                       function_ref<void()> carry) const {
  Tensor q = call.tensor(TORSOR_AT_Q, elementOf(op.getQ()));
  Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
  Tensor v = valuesOf(call, op);
  Num used = alignUp(block.count, decodeRows);
  if (scratchAt.queryWidth != layout.head)
    e.fill(c.queries,
           e.index(scratchAt.formBytes * int64_t(layout.forms.queries.size())),
           0);
  // Rows behind the last weigh 0.
  e.fill(c.scores + block.count * decodeChunk,
         (used - block.count) * (decodeChunk * 4), 0);
  auto keep = [&](Num row, const Place &place, Pointer from, Num gain) {
    steps.emitPlainRow(c, place, from, gain, row,
                       scratch.bytes(scratchAt.steps));
  };
  TileContext ofSplit = c; // whose keys alone are met
  if (!layout.products.empty()) {
    ofSplit.runsOn = indices.runOn(c.tables);
    ofSplit.keysFrom = number * layout.keys;
    ofSplit.keysTo = min((number + 1) * layout.keys, c.keyCount);
  }
  SmallVector<Bounds> slots =
      steps.exist() ? emitQueryRows(ofSplit, indices, q, block, used, keep)
                    : emitQueryRows(ofSplit, indices, q, block, used);
  if (layout.anchors) {
    Num distinct = layout.actsByHead ? block.count : e.index(1);
    e.loop(0, distinct, 1, [&](Num row) {
      auto time = [&](int64_t slot) {
        return loadSlot(e, c.rowSlots[slot], row, 1, layout.rowSlots[slot]);
      };
      for (auto [form, acting] : llvm::enumerate(layout.forms.keys))
        emitAnchors(e, acting, true, time, c.tables,
                    block.place(c, indices, row),
                    scratch.bytes(row * (layout.anchors * 8) +
                                  (scratchAt.anchors +
                                   int64_t(form) * scratchAt.anchorBytes)));
    });
  }
  Num firstIndex = c.indices.load(0);
  Nums ends = e.loop(0, block.count, 1, {firstIndex, firstIndex},
                     [&](Num row, ArrayRef<Num> carried) -> Nums {
                       Num index = c.indices.load(row);
                       return {min(carried[0], index), max(carried[1], index)};
                     });
  TileSide queries = {{ends[0], ends[1]}, slots};
  const Sequence &sequence = c.place.sequence;
  Range seen = hullOf(e, emitRanges(e, op.getVisible(), sequence,
                                    indices.mapsHold, true, ends[0], ends[1]));
  SmallVector<Range> full = emitRanges(
      e, op.getFull(), sequence, indices.mapsHold, false, ends[0], ends[1]);
  Num begin = max(seen.begin, number * layout.keys);
  Num end = min(seen.end, (number + 1) * layout.keys);
  Num isActed = emitKeysActed(e, kernel, call, blocks);
  DecodeSplit split = {e,
                       tile,
                       scratchAt,
                       scratch,
                       blocks,
                       steps,
                       dots,
                       indices,
                       k,
                       v,
                       isActed,
                       begin,
                       end,
                       layout.forms.values,
                       asksFor(call, sequence)};
  if (split.keysInPairs(layout))
    for (size_t form = 0; form < layout.forms.queries.size(); ++form)
      emitPairOrder(c.queries.bytes(int64_t(form) * scratchAt.formBytes), used,
                    scratchAt.queryWidth,
                    layout.head / layout.lanes * layout.lanes, layout.lanes,
                    /*back=*/false);
  if (layout.paths && carry)
    carry();
  e.when(begin < end, [&] {
    split.emitAddresses(c);
    if (steps.exist())
      steps.emitTables(c, indices, block.count, ownerOf(call, c, block), begin,
                       end, split.stepsAt());
    split.emitDotRows(c, block.count);
    Num last = begin + alignDown(end - begin - 1, decodeChunk);
    e.loop(begin, end, decodeChunk, [&](Num at) {
      if (layout.paths) // from the last key down
        at = begin + (last - at);
      emitChunk(c, split, queries, full, block.count, isTotal, at);
    });
    if (isTotal)
      return;
    split.emitInOrder(c, block.count);
    emitValueRows(c, block.count);
  });
}

void Decode::emitChunk(const TileContext &c, const DecodeSplit &split,
                       const TileSide &queries, ArrayRef<Range> full, Num rows,
                       bool isTotal, Num at) const {
  Num count = min(split.end - at, decodeChunk);
  TileContext inChunk = c;
  inChunk.firstKey = at;
  DecodeChunk chunk = {inChunk, split, rows, at, count};
  Num isFull = e.constant(e.i1, int64_t(0));
  for (const Range &range : full)
    isFull = isFull | ((range.begin <= at) & (at + count <= range.end));
  auto compute = [&](Num allSeen) {
    // Whole vectors, or their surplus must be hidden.
    Num partial = (allSeen & (count % layout.lanes == 0)) ^ 1;
    if (op.getTile().empty())
      e.when(chunk.needsColumns(partial), [&] { chunk.emitColumns(); });
    if (isTotal)
      return chunk.emitPathTotals();
    chunk.emitScores(partial);
    chunk.emitWeights();
    chunk.emitOutputs();
  };
  if (op.getTile().empty())
    return compute(isFull);
  SmallVector<Bounds> bounds = chunk.emitColumns();
  TileSide keys = {bounds[0], ArrayRef(bounds).drop_front()};
  TileVerdict verdict = emitTileTest(inChunk, queries, keys);
  e.when(verdict.some, [&] { compute(isFull | verdict.all); });
}

void Decode::combine(const Call &call, Num begin, Num end,
                     Pointer scratch) const {
  TableReader tables(e, kernel, call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return rowsOf(call, sequence) * layout.runs(call);
      },
      [&](const Sequence &sequence) { return bytesOf(call, sequence); },
      [&](const Sequence &sequence, Num item, Num base) {
        Num rows = rowsOf(call, sequence);
        Num group = item / rows;
        TileContext c = context(tables, sequence, group, scratch);
        emitRow(call, c, indices, tilesOf(sequence, indices), base, group,
                item % rows);
      });
}

/// Joins the splits of one row.
void Decode::emitRow(const Call &call, const TileContext &c,
                     const Indices &indices, Range tiles, Num base, Num group,
                     Num row) const {
  const Sequence &sequence = c.place.sequence;
  int64_t lanes = layout.lanes;
  auto at = [&](Num split) {
    return record(call, sequence, base, group, row, split);
  };
  Num top = e.loop(tiles.begin, tiles.end, 1, {e.real(lowestMaximum)},
                   [&](Num split, ArrayRef<Num> carried) -> Nums {
                     return {max(carried[0], at(split).load(0))};
                   })[0];
  e.fill(c.outputs, e.index(layout.valueWidth() * 4), 0);
  Num sum = e.loop(tiles.begin, tiles.end, 1, {e.real(0.0)},
                   [&](Num split, ArrayRef<Num> carried) -> Nums {
                     Pointer from = at(split);
                     Num weight =
                         emitExp2(e, *kernel.target, from.load(0) - top);
                     e.loop(0, e.index(layout.valueWidth()), lanes, [&](Num d) {
                       c.outputs.store(d, fma(e.splat(weight, lanes),
                                              from.load(d + lanes, lanes),
                                              c.outputs.load(d, lanes)));
                     });
                     return {fma(weight, from.load(1), carried[0])};
                   })[0];
  RowBlock block = {row, e.index(1), layout.headsPerRun(call)};
  emitResultRow(c, block.place(c, indices, e.index(0)), c.outputs, top, sum,
                Num(), call.tensor(TORSOR_AT_O, elementOf(op.getO())),
                call.tensor(TORSOR_AT_LSE, e.f32));
}

FailureOr<OperationInfo> emitDecode(Emitter &e, const Kernel &kernel,
                                    AttentionOp op) {
  auto blocks = readAttention(op);
  if (failed(blocks))
    return failure();
  Decode decode(e, kernel, op, *blocks);
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return decode.plan(call); });
  auto partial = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    decode.partial(call, begin, end, scratch);
  };
  auto combine = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    decode.combine(call, begin, end, scratch);
  };
  auto totals = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    decode.totals(call, begin, end, scratch);
  };
  SmallVector<PhaseBody> phases = {partial, combine};
  if (decode.sumsPaths())
    phases.insert(phases.begin(), totals);
  emitRunFunction(e, kernel, phases);
  OperationInfo info;
  info.op = TORSOR_DECODE;
  // A part of the keys knows no running sum of the whole.
  bool parts = !decode.sumsPaths() && areAllEach(kernel);
  info.flags = (parts ? TORSOR_CAN_PARTIAL : 0) |
               (decode.sumsPaths() ? TORSOR_NEEDS_ORDER : 0) | TORSOR_CAN_LSE |
               TORSOR_CAN_PAGED | TORSOR_CAN_RING;
  return info;
}

} // namespace torsor
