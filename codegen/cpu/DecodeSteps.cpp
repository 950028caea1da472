// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys at regular times, acted on by tables.
#include "codegen/cpu/DecodeSteps.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/PackKeys.h"

using namespace mlir;

namespace torsor {

/// Tables of one kernel are no larger.
static constexpr int64_t mostBytes = int64_t(4) << 20;

bool KeySteps::isRegular(AttentionOp op, const Kernel &kernel,
                         BlockAttr block) const {
  BlockKind kind = block.getKind();
  if (kind == BlockKind::Zero)
    return true;
  if ((kind != BlockKind::Turn && !block.isAnchored()) || block.getFamily() ||
      block.getKeys() == KeyPlace::Cached)
    return false;
  // The gain of what fades stands in the rows of q before they fade.
  if (block.isAnchored() && block.qGain() != 1)
    return false;
  // Phases that are rounded as elsewhere are no differences of phases.
  if (kernel.tables[block.getRates()].element.isF32())
    return false;
  return layout.rowSlots[block.getS()] == layout.columnSlots[block.getT()] &&
         isSharedByHeads(kernel, op.getColumns(), block.getT()) &&
         (!block.isAnchored() ||
          isSharedByHeads(kernel, op.getRows(), block.getS()));
}

bool KeySteps::isReal(int64_t slot) const {
  return isa<FloatType>(layout.columnSlots[slot]);
}

std::optional<size_t> KeySteps::findTable(BlockAttr block) const {
  for (auto [n, table] : llvm::enumerate(tables)) {
    BlockAttr other = table.block;
    // Steps of whole clocks are one.
    bool stepsAlike = isReal(block.getT()) || isReal(other.getT())
                          ? block.getT() == other.getT()
                          : true;
    if (stepsAlike && other.getKind() == block.getKind() &&
        other.getRates() == block.getRates() &&
        other.getRateOffset() == block.getRateOffset() &&
        other.getOrder() == block.getOrder() &&
        other.getLanes().getCount() == block.getLanes().getCount())
      return n;
  }
  return std::nullopt;
}

void KeySteps::addTable(BlockAttr block) {
  if (findTable(block))
    return;
  int64_t words = countFactors(block);
  tables.push_back({block, end, words});
  end = roundUp(end + heads * decodeChunk * words * 4, 64);
}

/// The pairs that all blocks turn, beside lanes that nothing turns.
PairsAttr KeySteps::turnedPairs(ArrayRef<BlockAttr> blocks) const {
  PairsAttr pairs;
  for (BlockAttr block : blocks) {
    if (block.kGain() != 1)
      return {};
    if (block.getKind() == BlockKind::Zero)
      continue;
    PairsAttr at = block.getLanes();
    bool holds = block.getKind() == BlockKind::Turn &&
                 areVectorPairs(at, layout.lanes) &&
                 at.getFirst() % layout.lanes == 0;
    if (!holds || (pairs && pairs != at))
      return {};
    pairs = at;
  }
  return pairs;
}

/// What the blocks of a branch act with, in the form that suits them.
void KeySteps::addTables(AttentionOp op, int64_t branch) {
  ArrayRef<BlockAttr> blocks = branches[branch];
  bool isPlain = keyLanes(op).isEmpty();
  auto map = isPlain ? StepMap::of(blocks, layout.head, layout.lanes,
                                   elementOf(op.getK()))
                     : std::nullopt;
  if (!map) {
    if (isPlain)
      branchPairs[branch] = turnedPairs(blocks);
    for (BlockAttr block : blocks)
      if (block.acts())
        addTable(block);
    return;
  }
  for (auto [n, known] : llvm::enumerate(maps))
    if (known.map.blocks() == map->blocks()) {
      branchMaps[branch] = n;
      return;
    }
  branchMaps[branch] = maps.size();
  int64_t slot = llvm::find_if(blocks, [](BlockAttr block) {
                   return block.acts();
                 })->getT();
  maps.push_back({*map, slot, end});
  end = roundUp(end + heads * decodeChunk * map->words() * 4, 64);
}

KeySteps::KeySteps(AttentionOp op, const Kernel &kernel,
                   const TileLayout &layout)
    : layout(layout), heads(layout.actsByHead ? layout.rows : 1),
      width(roundUp(layout.head, layout.lanes)) {
  branches.resize(layout.forms.branches.size());
  branchPairs.resize(branches.size());
  branchMaps.resize(branches.size(), -1);
  if (op.getPlan().getForm() != PlanForm::Split)
    return;
  // Gains by lane do not commute with turns: a score is then no function of
  // the distance, and nothing is acted on from another key.
  if (queryLanes(op).gains >= 0 || keyLanes(op).gains >= 0)
    return;
  for (auto [n, list] : llvm::enumerate(op.getBranches())) {
    Blocks blocks;
    for (BlockAttr block : cast<ArrayAttr>(list).getAsRange<BlockAttr>())
      blocks.push_back(block);
    int64_t bytes = 0;
    for (BlockAttr block : blocks)
      bytes += countFactors(block) * heads * decodeChunk * 4;
    if (!bytes || bytes + end > mostBytes ||
        !llvm::all_of(blocks, [&](BlockAttr block) {
          return isRegular(op, kernel, block);
        }))
      continue;
    branches[n] = blocks;
    addTables(op, n);
  }
  if (!exist())
    return;
  auto take = [&](int64_t bytes) {
    int64_t begin = end;
    end = roundUp(end + bytes, 64);
    return begin;
  };
  for (ArrayRef<BlockAttr> blocks : branches)
    for (BlockAttr block : blocks) {
      if (!block.acts())
        continue;
      sharesTurns &= !hasAxis(kernel.tables[block.getRates()], "H") &&
                     isSharedByHeads(kernel, op.getRows(), block.getS());
      if (!llvm::any_of(clocks, [&](const Clock &clock) {
            return clock.slot == block.getT();
          }))
        clocks.push_back(
            {block.getT(), take(decodeChunk * 8), take(8), take(8)});
    }
  plainRows = take(layout.rows * width * 4);
  actedRows = take(layout.rows * width * 4);
  owners = take(8);
}

const KeySteps::Clock &KeySteps::clockOf(int64_t slot) const {
  return *llvm::find_if(clocks,
                        [&](const Clock &clock) { return clock.slot == slot; });
}

void KeySteps::emitPlainRow(const TileContext &c, const Place &place,
                            Pointer from, Num gain, Num row,
                            Pointer scratch) const {
  RowLanes around = queryLanes(c.op);
  auto time = [&](int64_t) { return Num(); };
  Action action = {{}, /*onQuery=*/true, layout.head, time, gain, &around};
  emitAction(c.e, c.lanes(), action, c.tables, place, from,
             scratch.bytes(plainRows).as(c.e.f32) + row * width);
}

void KeySteps::forSteps(
    const TileContext &c, int64_t slot, Num rows, Pointer scratch,
    function_ref<void(Num, Num, const Action &, const Place &)> body) const {
  Emitter &e = c.e;
  Pointer zero = frameSlots(e, e.i64, 1);
  zero.store(0, e.index(0));
  auto anchor = [&](BlockAttr) { return zero; };
  Num count = e.index(1);
  if (layout.actsByHead)
    count = min(rows, layout.headsPerRun(c.tables.call));
  e.loop(0, count, 1, [&](Num row) {
    Place place = c.place;
    if (layout.actsByHead)
      place.head = c.rowHeads.load(row);
    e.loop(0, e.index(decodeChunk), 1, [&](Num step) {
      Num now = e.index(0) - step;
      if (isReal(slot))
        now = e.convert(now, e.f64) *
              scratch.bytes(clockOf(slot).unit).as(e.f64).load(0);
      auto time = [&](int64_t) { return now; };
      Action action = {{}, false, layout.head, time, Num()};
      action.anchor = anchor;
      body(row, step, action, place);
    });
  });
}

void KeySteps::forgetTables(Pointer scratch) const {
  Emitter &e = *scratch.base.e;
  scratch.bytes(owners).as(e.i64).store(0, e.index(0));
}

void KeySteps::emitTables(const TileContext &c, const Indices &indices,
                          Num rows, Num owner, Num first, Num last,
                          Pointer scratch) const {
  Emitter &e = c.e;
  Pointer kept = scratch.bytes(owners).as(e.i64);
  Num differ = kept.load(0) != owner;
  kept.store(0, owner);
  for (const Clock &clock : clocks)
    if (isReal(clock.slot))
      differ = differ | emitUnit(c, indices, clock, first, last, scratch);
  e.when(differ, [&] { fillTables(c, rows, scratch); });
}

void KeySteps::fillTables(const TileContext &c, Num rows,
                          Pointer scratch) const {
  Emitter &e = c.e;
  if (width != layout.head)
    e.fill(scratch.bytes(actedRows), e.index(layout.rows * width * 4), 0);
  for (const Table &table : tables)
    forSteps(c, table.block.getT(), rows, scratch,
             [&](Num row, Num step, const Action &action, const Place &place) {
               Pointer to = scratch.bytes(table.offset).as(e.f32) +
                            (row * decodeChunk + step) * table.words;
               emitFactors(e, c.lanes(), action, table.block, c.tables, place,
                           to);
             });
  for (const Map &each : maps)
    forSteps(c, each.slot, rows, scratch,
             [&](Num row, Num step, const Action &action, const Place &place) {
               Pointer to = scratch.bytes(each.offset).as(e.f32) +
                            (row * decodeChunk + step) * each.map.words();
               each.map.emit(e, action, c.tables, place, to);
             });
}

void KeySteps::emitQueries(const TileContext &c, int64_t branch, Num rows,
                           Pointer scratch) const {
  Emitter &e = c.e;
  ArrayRef<BlockAttr> blocks = branches[branch];
  SmallVector<Pointer> kept;
  for (BlockAttr block : blocks)
    kept.push_back(
        frameSlots(e, e.f32, std::max<int64_t>(1, countFactors(block))));
  auto known = [&](BlockAttr block) {
    return kept[llvm::find(blocks, block) - blocks.begin()];
  };
  e.loop(0, rows, 1, [&](Num row) {
    Place place = c.place;
    place.head = c.rowHeads.load(row);
    Num before = c.rowTokens.load(max(row - 1, 0));
    Num isFresh = (row == 0) | (before != c.rowTokens.load(row));
    auto turn = [&] {
      for (auto [n, block] : llvm::enumerate(blocks)) {
        if (!block.acts())
          continue;
        Type type = layout.columnSlots[block.getT()];
        Pointer from = scratch.bytes(clockOf(block.getT()).anchor);
        auto anchor = [&](BlockAttr) { return from; };
        auto time = [&](int64_t slot) {
          Num now = loadSlot(e, c.rowSlots[slot], row, 1, type);
          // What is anchored takes its anchor away itself.
          return block.isAnchored() ? now : now - from.as(type).load(0);
        };
        Action action = {block, true, layout.head, time, Num()};
        action.anchor = anchor;
        emitFactors(e, c.lanes(), action, block, c.tables, place, kept[n]);
      }
    };
    if (sharesTurns)
      e.when(isFresh, turn);
    else
      turn();
    auto time = [&](int64_t) { return Num(); };
    Action action = {blocks, true, layout.head, time, Num()};
    action.anchor = known;
    action.known = known;
    emitAction(e, c.lanes(), action, c.tables, place,
               scratch.bytes(plainRows).as(e.f32) + row * width,
               queries(scratch) + row * width);
  });
}

Num KeySteps::tablesOf(const TileContext &c, Num row) const {
  // The first rows of a block have all its heads.
  return layout.actsByHead ? row % layout.headsPerRun(c.tables.call)
                           : c.e.index(0);
}

Pointer KeySteps::factors(BlockAttr block, Num number, Num head,
                          Pointer scratch) const {
  Emitter &e = *number.e;
  const Table &table = tables[*findTable(block)];
  Num step = scratch.bytes(clockOf(block.getT()).steps).as(e.i64).load(number);
  return scratch.bytes(table.offset).as(e.f32) +
         (head * decodeChunk + step) * table.words;
}

PairsAttr KeySteps::pairsApart(int64_t branch) const {
  if (!isDirect(branch))
    return {};
  PairsAttr pairs = pairsOf(branch) ? pairsOf(branch) : map(branch).pairs();
  return pairs && pairs.getStep() == 2 ? pairs : PairsAttr();
}

Pointer KeySteps::mapTable(int64_t branch, Num number, Num head,
                           Pointer scratch) const {
  Emitter &e = *number.e;
  const Map &each = maps[branchMaps[branch]];
  Num step = scratch.bytes(clockOf(each.slot).steps).as(e.i64).load(number);
  return scratch.bytes(each.offset).as(e.f32) +
         (head * decodeChunk + step) * each.map.words();
}

} // namespace torsor
