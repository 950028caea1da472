// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that moves cached keys to other positions.
#include "codegen/cpu/Rebase.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/Phase.h"
#include "codegen/cpu/Phases.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

namespace {

/// Keys of an item.
constexpr int64_t rebaseKeys = 64;

class Rebase {
public:
  Rebase(Emitter &e, const Kernel &kernel, RebaseOp op,
         ArrayRef<BlockAttr> blocks)
      : e(e), kernel(kernel), op(op), blocks(blocks),
        lanes(kernel.target->lanes), width(widthOf(op.getKCache())),
        isWide(elementOf(op.getKCache()).isF32()) {}

  PlanEntry plan(const Call &call) const;
  void move(const Call &call, Num begin, Num end) const;

private:
  Num itemsOf(const Sequence &sequence) const {
    return ceilDiv(sequence.keyLength, rebaseKeys);
  }
  /// Whether turns differ between the groups.
  bool isByGroup() const;
  /// Runs `body` for pieces of the pairs of a block: their first number, how
  /// many, and where they stand among the pairs of all blocks.
  void forPairs(function_ref<void(BlockAttr, Num, int64_t, Num)> body) const;
  void fillTurns(const TableReader &tables, const Place &place,
                 Pointer turns) const;
  void turnKey(Pointer key, Pointer turns) const;
  void moveKeys(const Call &call, const TableReader &tables, Place place,
                Num begin, Num end) const;
  void moveStream(const Call &call, const Sequence &sequence, StringRef name,
                  Num begin, Num end) const;

  Emitter &e;
  const Kernel &kernel;
  mutable RebaseOp op;
  ArrayRef<BlockAttr> blocks;
  int64_t lanes, width;
  /// f32 is turned in f64, and rounded once; 16 bits are turned in f32.
  bool isWide;
};

PlanEntry Rebase::plan(const Call &call) const {
  Num items = sumSequences(
      e, call, [&](const Sequence &sequence) { return itemsOf(sequence); });
  Num keys = sumSequences(
      e, call, [&](const Sequence &sequence) { return sequence.keyLength; });
  int64_t moved = 0; // lanes
  for (BlockAttr block : blocks)
    moved += block.getKind() == BlockKind::Turn
                 ? 2 * block.getLanes().getCount()
                 : width;
  int64_t bytes = elementOf(op.getKCache()).getIntOrFloatBitWidth() / 8;
  Num vectors = e.convert(keys * call.groups, e.f64);
  Num traffic = vectors * double(moved * bytes);
  return {{items}, e.index(0), 0, vectors * double(3 * moved),
          traffic, traffic};
}

bool Rebase::isByGroup() const {
  return llvm::any_of(kernel.tables, [](const Table &table) {
    return hasAxis(table, "G") || hasAxis(table, "H");
  });
}

void Rebase::forPairs(
    function_ref<void(BlockAttr, Num, int64_t, Num)> body) const {
  int64_t before = 0;
  for (BlockAttr block : blocks) {
    int64_t count = block.getLanes().getCount(), done = 0;
    // Two vectors of f32 are one of 16 bits.
    for (int64_t step : {isWide ? lanes : 2 * lanes, lanes, int64_t(1)}) {
      int64_t end = done + (count - done) / step * step;
      if (done < end)
        e.loop(done, e.index(end), step,
               [&](Num p) { body(block, p, step, p + before); });
      done = end;
    }
    before += count;
  }
}

/// cos and sin of the shift for each pair, rounded once.
void Rebase::fillTurns(const TableReader &tables, const Place &place,
                       Pointer turns) const {
  Pointer sines = turns + e.index(countTurns(blocks));
  forPairs([&](BlockAttr block, Num p, int64_t n, Num at) {
    const Table &rates = kernel.tables[block.getRates()];
    Num rate = tables.rates(rates, place, p + block.getRateOffset(), n);
    CosSin turn = emitWideCosSin(e, place.sequence.shift, rate);
    turns.store(at, e.convert(turn.cos, turns.element));
    sines.store(at, e.convert(turn.sin, turns.element));
  });
}

/// Lanes first, first + step, … of a key in f32.
static Num loadLanes(Emitter &e, Pointer key, Num first, int64_t step,
                     int64_t n) {
  Num all =
      n == 1 || step == 1 ? key.load(first, n) : e.undef(e.vec(n, key.element));
  for (int64_t lane = 0; n > 1 && step > 1 && lane < n; ++lane)
    all = e.insert(all, key.load(first + lane * step), lane);
  return e.convert(all, e.f32);
}

static void storeLanes(Emitter &e, Pointer key, Num first, int64_t step,
                       Num value) {
  value = e.convert(value, key.element);
  if (step == 1 || value.lanes() == 1)
    return key.store(first, value);
  for (int64_t lane = 0; lane < value.lanes(); ++lane)
    key.store(first + lane * step, e.lane(value, lane));
}

void Rebase::turnKey(Pointer key, Pointer turns) const {
  Pointer sines = turns + e.index(countTurns(blocks));
  forPairs([&](BlockAttr block, Num p, int64_t n, Num at) {
    PairsAttr pairs = block.getLanes();
    int64_t step = pairs.getStep();
    Num first = p * step + pairs.getFirst();
    Num second = p * step + pairs.getSecond();
    bool adjacent =
        n > 1 && step == 2 && pairs.getSecond() == pairs.getFirst() + 1;
    SmallVector<int32_t> even, odd, both;
    for (int32_t lane = 0; lane < n; ++lane) {
      even.push_back(2 * lane);
      odd.push_back(2 * lane + 1);
      both.append({lane, lane + int32_t(n)});
    }
    Num x, y;
    if (adjacent) {
      Num row = e.convert(key.load(first, 2 * n), e.f32);
      x = e.shuffle(row, row, even);
      y = e.shuffle(row, row, odd);
    } else {
      x = loadLanes(e, key, first, step, n);
      y = loadLanes(e, key, second, step, n);
    }
    x = e.convert(x, turns.element);
    y = e.convert(y, turns.element);
    Num c = turns.load(at, n), s = sines.load(at, n);
    Num turnedX = e.convert(x * c - y * s, e.f32);
    Num turnedY = e.convert(x * s + y * c, e.f32);
    if (adjacent) {
      Num row = e.shuffle(turnedX, turnedY, both);
      return key.store(first, e.convert(row, key.element));
    }
    storeLanes(e, key, first, step, turnedX);
    storeLanes(e, key, second, step, turnedY);
  });
}

void Rebase::moveKeys(const Call &call, const TableReader &tables, Place place,
                      Num begin, Num end) const {
  Tensor keys = cacheStream(call, kernel, 0, elementOf(op.getKCache()));
  bool inSteps = needsSteps(blocks, width);
  Pointer turns;
  place.group = e.index(0);
  if (!inSteps) {
    turns = frameSlots(e, isWide ? e.f64 : e.f32, 2 * countTurns(blocks));
    if (!isByGroup())
      fillTurns(tables, place, turns);
  }
  e.loop(0, call.groups, 1, [&](Num group) {
    place.group = group;
    if (!inSteps && isByGroup())
      fillTurns(tables, place, turns);
    forKeyRuns(e, call, place.sequence, begin, end,
               [&](Num, const KeyRun &run) {
                 Pointer first = keys.data + (run.first.row * keys.stride(0) +
                                              group * keys.stride(1) +
                                              run.first.slot * keys.stride(2));
                 e.loop(0, run.count, 1, [&](Num n) {
                   Pointer key = first + n * keys.stride(2);
                   if (!inSteps)
                     return turnKey(key, turns);
                   auto time = [&](int64_t) { return place.sequence.shift; };
                   Action act = {blocks, false, width, time, Num()};
                   emitAction(e, lanes, act, tables, place, key, key);
                 });
               });
  });
}

void Rebase::moveStream(const Call &call, const Sequence &sequence,
                        StringRef name, Num begin, Num end) const {
  InterfaceOp interface = kernel.scheme->interface;
  for (auto [n, attr] : llvm::enumerate(interface.getStreams())) {
    auto field = cast<FieldAttr>(attr);
    bool besideKeys = field.getFlags() & TORSOR_ARG_OPTIONAL; // not k, v
    if (!besideKeys || field.getName() != name)
      continue;
    Tensor stored = cacheStream(call, kernel, n, field.getType());
    Num shift = e.convert(sequence.shift, field.getType());
    e.when(stored.isAbsent() ^ 1, [&] {
      forKeyRuns(e, call, sequence, begin, end, [&](Num, const KeyRun &run) {
        Pointer first = stored.data + (run.first.row * stored.stride(0) +
                                       run.first.slot * stored.stride(1));
        e.loop(0, run.count, 1, [&](Num key) {
          Pointer at = first + key * stored.stride(1);
          Num old = at.load(0), moved = old + shift;
          at.store(0, name == "index" ? select(old < 0, old, moved) : moved);
        });
      });
    });
  }
}

void Rebase::move(const Call &call, Num begin, Num end) const {
  TableReader tables(e, kernel, call);
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) { return itemsOf(sequence); },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num item, Num) {
        Num first = item * rebaseKeys;
        Num last = min(first + rebaseKeys, sequence.keyLength);
        Place place;
        place.sequence = sequence;
        if (!blocks.empty())
          moveKeys(call, tables, place, first, last);
        for (StringRef name : op.getStreams().getAsValueRange<StringAttr>())
          moveStream(call, sequence, name, first, last);
      });
}

} // namespace

FailureOr<OperationInfo> emitRebase(Emitter &e, const Kernel &kernel,
                                    RebaseOp op) {
  auto blocks = readBlocks(op, op.getBlocks());
  if (failed(blocks))
    return failure();
  Rebase rebase(e, kernel, op, *blocks);
  emitPlanFunction(e, kernel,
                   [&](const Call &call) { return rebase.plan(call); });
  auto move = [&](const Call &call, Num begin, Num end, Pointer) {
    rebase.move(call, begin, end);
  };
  emitRunFunction(e, kernel, {move});
  OperationInfo info;
  info.op = TORSOR_REBASE;
  info.flags = TORSOR_CAN_PAGED | TORSOR_CAN_RING;
  return info;
}

} // namespace torsor
