// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of many queries: prepare, pack, compute.
#include "codegen/cpu/Prefill.h"

#include "codegen/cpu/AnchorSpans.h"
#include "codegen/cpu/FadingBranches.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/PrefillKernel.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/ScoreTile.h"
#include "codegen/cpu/SoftmaxTile.h"
#include "codegen/cpu/ValueRows.h"
#include "codegen/cpu/ValueTile.h"
#include "runtime/torsor_kernel.h"

#include <optional>

using namespace mlir;

namespace torsor {

PlanEntry Prefill::plan(const Call &call) const {
  TableReader tables = tablesOf(call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  Num zero = e.index(0), none = e.constant(e.f64, 0.0);
  Nums sums = e.loop(
      0, call.count, 1, {zero, zero, zero, none, none, none},
      [&](Num number, ArrayRef<Num> carried) -> Nums {
        Sequence sequence = call.sequence(number);
        Range hull = emitSequenceHull(e, op.getVisible(), sequence, indices);
        Num queries = e.convert(sequence.queryLength * call.heads, e.f64);
        Num keys = e.convert((hull.end - hull.begin), e.f64);
        Num groups = e.convert(layout.runs(call), e.f64);
        int64_t both = layout.head + layout.value;
        return {carried[0] + packsOf(call, sequence, indices),
                carried[1] + blocksOf(call, sequence) * layout.runs(call),
                carried[2] + bytesOf(call, sequence),
                carried[3] + queries * keys * double(2 * both),
                carried[4] + keys * groups * double(4 * both) +
                    queries * double(4 * layout.head),
                carried[5] + queries * double(4 * layout.value)};
      });
  return {{sums[0], sums[1]},
          sums[2],
          layout.groupBytes(call, e.index(layout.keys)) + layout.scratchBytes,
          sums[3],
          sums[4],
          sums[5]};
}

TileContext Prefill::context(const Call &call, const TableReader &tables,
                             const Sequence &sequence, Num run) const {
  TileContext c = {
      .e = e, .kernel = kernel, .op = op, .layout = layout, .tables = tables};
  c.place.sequence = sequence;
  layout.setRun(c.place, call, run);
  c.keyCount = sequence.keyLength;
  return c;
}

Pointer Prefill::packedAt(const Call &call, const Sequence &sequence, Num run,
                          Num base) const {
  return call.workspace.bytes(preparedBytes(e, kernel, call) + base +
                              run *
                                  layout.groupBytes(call, sequence.keyLength));
}

/// Ranges of each row group into its words; the hull of what any row sees.
Range Prefill::groupRanges(const TileContext &c, const Indices &indices,
                           Num groups) const {
  Num far = e.index(int64_t(1) << 62), none = e.index(0);
  Nums hull = e.loop(
      0, groups, 1, {far, none}, [&](Num group, ArrayRef<Num> carried) -> Nums {
        Pointer rows = c.indices + group * layout.rowTile;
        Num own = rows.load(0);
        Nums ends =
            e.loop(1, e.index(layout.rowTile), 1, {own, own},
                   [&](Num r, ArrayRef<Num> found) -> Nums {
                     Num index = rows.load(r);
                     return {min(found[0], index), max(found[1], index)};
                   });
        Num first = ends[0], last = ends[1];
        int64_t word = 0;
        auto keep = [&](ArrayRef<Range> ranges) {
          for (const Range &range : ranges) {
            Pointer words = c.groupWord(group, word);
            words.store(0, range.begin);
            words.store(1, range.end);
            word += 2;
          }
        };
        SmallVector<Range> seen =
            emitRanges(e, op.getVisible(), c.place.sequence, indices.mapsHold,
                       true, first, last);
        keep(seen);
        keep(emitRanges(e, op.getFull(), c.place.sequence, indices.mapsHold,
                        false, first, last));
        Range all = hullOf(e, seen);
        return {min(carried[0], select(all.isEmpty(), far, all.begin)),
                max(carried[1], all.end)};
      });
  return {min(hull[0], hull[1]), hull[1]};
}

/// First and last key of each row group in the tile; whether any has one.
Num Prefill::tileLimits(const TileContext &c, Num groups, Num tile,
                        Num tileEnd) const {
  return e.loop(0, groups, 1, {e.constant(e.i1, int64_t(0))},
                [&](Num group, ArrayRef<Num> carried) -> Nums {
                  SmallVector<Range> inside;
                  for (int64_t n = 0; n < layout.visibleRanges; ++n) {
                    Pointer words = c.groupWord(group, 2 * n);
                    inside.push_back({max(words.load(0), tile),
                                      min(words.load(1), tileEnd)});
                  }
                  Range hull = hullOf(e, inside);
                  c.tileFirst(group).store(0, hull.begin);
                  c.tileFirst(group).store(1, hull.end);
                  return {carried[0] | (hull.isEmpty() ^ 1)};
                })[0];
}

/// What is known of all rows and the tile: from the region `tile`, and where
/// keys have given indices, from the ranges of indices that the rows see.
TileVerdict Prefill::classify(const TileContext &c, const Indices &indices,
                              Num tile, const TileSide &queries) const {
  Pointer words = c.tileBounds + tile / layout.keys * layout.tileBoundsWords();
  SmallVector<Bounds> bounds = loadKeyBounds(c, words);
  Bounds keys = bounds[0];
  ArrayRef<Bounds> slots = ArrayRef<Bounds>(bounds).drop_front();
  TileVerdict verdict = emitTileTest(c, queries, {keys, slots});
  auto ranges = [&](ArrayAttr intervals) {
    return emitIndexRanges(e, intervals, c.place.sequence, queries.indices.low,
                           queries.indices.high);
  };
  Num some = e.constant(e.i1, int64_t(0)), all = some;
  for (Range range : ranges(op.getVisible()))
    some = some | ((range.begin <= keys.high) & (keys.low < range.end));
  for (Range range : ranges(op.getFull()))
    all = all | ((range.begin <= keys.low) & (keys.high < range.end));
  Num given = indices.mapsTell & (indices.keys.isAbsent() ^ 1);
  verdict.some = verdict.some & (some | (given ^ 1));
  verdict.all = verdict.all | (all & given);
  if (near.op())
    verdict.isNear = near.hold(e, queries.slots, slots);
  return verdict;
}

/// Least and greatest index of the rows.
static Bounds indicesOf(const TileContext &c, Num rows) {
  Emitter &e = c.e;
  Bounds none = Bounds::none(e, e.i64);
  Nums ends = e.loop(0, rows, 1, {none.low, none.high},
                     [&](Num row, ArrayRef<Num> carried) -> Nums {
                       Bounds next = Bounds{carried[0], carried[1]}.with(
                           c.indices.load(row));
                       return {next.low, next.high};
                     });
  return {ends[0], ends[1]};
}

/// The scores of a tile by stretches of keys, each with anchors of its own.
static void emitFadingScores(const TileContext &c, const Anchors &anchors,
                             Num groups, Num tile, Num tileEnd,
                             const TileVerdict &verdict) {
  Num keys = select(sharesAnchor(c, tile, tileEnd), c.layout.keys,
                    c.e.index(c.layout.anchorKeys));
  Num lastStretch = tile + (tileEnd - 1 - tile) / keys * keys;
  c.e.loop(tile, tileEnd, keys, [&](Num begin) {
    if (c.layout.paths) // from the last key down
      begin = tile + (lastStretch - begin);
    Num end = min(begin + keys, tileEnd);
    TileVerdict known = verdict;
    known.isComputed = anchors.emit(tile, begin, end, groups);
    TileContext acted = c;
    acted.queries = anchors.rows();
    emitScores(acted, groups, tile, begin, end, known);
  });
}

void Prefill::computeBlock(const Call &call, const TileContext &c,
                           const Indices &indices, Num run, RowBlock block,
                           Pointer scratch) const {
  Tensor q = call.tensor(TORSOR_AT_Q, elementOf(op.getQ()));
  Tensor o = call.tensor(TORSOR_AT_O, elementOf(op.getO()));
  Tensor lse = call.tensor(TORSOR_AT_LSE, e.f32);
  Num groups = ceilDiv(block.count, layout.rowTile);
  Num used = alignUp(groups * layout.rowTile, layout.lanes);
  SmallVector<Bounds> bounds = emitQueryRows(c, indices, q, block, used);
  TileSide queries = {indicesOf(c, block.count), bounds};
  Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
  TileContext held = c; // the packed keys of the tile at hand
  std::optional<Anchors> anchors;
  std::optional<FadingBranches> branches;
  if (layout.anchors && layout.forms.isOne())
    anchors.emplace(held, indices, k, block, bounds, used);
  else if (layout.anchors)
    branches.emplace(held, indices, k, block, bounds, used);
  Range hull = groupRanges(c, indices, groups);
  Num firstTile = alignDown(hull.begin, layout.keys);
  Num lastTile = alignDown(max(hull.end - 1, 0), layout.keys);
  e.loop(firstTile, hull.end, layout.keys, [&](Num tile) {
    if (layout.paths) // from the last key down
      tile = firstTile + (lastTile - tile);
    Num tileEnd = min(tile + layout.keys, c.keyCount);
    Num inBlock = c.packsInBlock;
    held.takePacked(c, select(inBlock, tile, 0));
    Num any = tileLimits(c, groups, tile, tileEnd);
    e.when(inBlock & any, [&] {
      packTile(call, c.place.sequence, run, tile / layout.keys,
               scratch.bytes(layout.scratchBytes), inBlock, inBlock, scratch);
    });
    TileVerdict verdict = classify(held, indices, tile, queries);
    e.when(verdict.some & any, [&] {
      if (!op.getTile().empty())
        narrowGroups(held, groups, tile, tileEnd, verdict.all ^ 1);
      TileContext inTile = held;
      inTile.near = near.op() ? &near : nullptr;
      inTile.isNear = verdict.isNear;
      if (branches) {
        branches->emit(tile, tileEnd, groups, verdict);
        verdict.isComputed = e.constant(e.i1, int64_t(1));
      }
      if (anchors)
        emitFadingScores(inTile, *anchors, groups, tile, min(tileEnd, hull.end),
                         verdict);
      else
        emitScores(inTile, groups, tile, tile, tileEnd, verdict);
      emitRowStatistics(c, groups);
      emitWeights(c, groups, tile);
      emitValueWeights(inTile, groups, tile);
      emitOutputs(inTile, groups, tile);
    });
  });
  emitValueRows(c, block.count);
  emitResultRows(c, indices, o, lse, block);
}

void Prefill::compute(const Call &call, Num begin, Num end,
                      Pointer scratch) const {
  TableReader tables = tablesOf(call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return blocksOf(call, sequence) * layout.runs(call);
      },
      [&](const Sequence &sequence) { return bytesOf(call, sequence); },
      [&](const Sequence &sequence, Num item, Num base) {
        Num perGroup = layout.headsPerRun(call);
        Num count = blocksOf(call, sequence);
        Num run = item / count, inBlock = packsInBlock(call, sequence);
        TileContext c = context(call, tables, sequence, run);
        c.placeScratch(scratch);
        Pointer packed = packedAt(call, sequence, run, base);
        packed.base = select(inBlock, scratch.bytes(layout.scratchBytes).base,
                             packed.base);
        c.placePacked(call, packed, select(inBlock, layout.keys, c.keyCount));
        c.packsInBlock = inBlock;
        c.packsInOrder = inBlock & (areScattered(call) ^ 1);
        Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
        c.callersKeys = {k, sequence, c.place.group, layout.head};
        c.callersValues = {valuesOf(call, op), sequence, c.place.group,
                           layout.value};
        c.runsOn = indices.runOn(tables);
        c.valuesInPlace = areValuesInPlace(e, call, op, layout);
        bias.place(c, indices, biasTableOf(call, sequence, base));
        // The last rows see most keys: they come first, so that no worker is
        // left with a long item at the end.
        Num first = (count - 1 - item % count) * layout.rows;
        Num rows = min(sequence.queryLength * perGroup - first, layout.rows);
        computeBlock(call, c, indices, run, {first, rows, perGroup}, scratch);
      });
}

FailureOr<OperationInfo> emitPrefill(Emitter &e, const Kernel &kernel,
                                     AttentionOp op) {
  auto blocks = readAttention(op);
  if (failed(blocks))
    return failure();
  Prefill prefill(e, kernel, op, *blocks);
  prefill.emitPackFunction();
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return prefill.plan(call); });
  auto pack = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    prefill.pack(call, begin, end, scratch);
  };
  auto compute = [&](const Call &call, Num begin, Num end, Pointer scratch) {
    prefill.compute(call, begin, end, scratch);
  };
  emitRunFunction(e, kernel, {pack, compute});
  OperationInfo info;
  info.op = TORSOR_PREFILL;
  // A part of the keys knows no running sum of the whole.
  bool parts = !prefill.sumsPaths() && areAllEach(kernel);
  info.flags = (parts ? TORSOR_CAN_PARTIAL : 0) |
               (prefill.sumsPaths() ? TORSOR_NEEDS_ORDER : 0) | TORSOR_CAN_LSE |
               TORSOR_CAN_PAGED | TORSOR_CAN_RING;
  return info;
}

} // namespace torsor
