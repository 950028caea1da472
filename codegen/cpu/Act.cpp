// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The action on one row of q or k, as code.
#include "codegen/cpu/Act.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/Gather.h"
#include "codegen/cpu/Phase.h"
#include "runtime/torsor_kernel.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace torsor {

FailureOr<SmallVector<BlockAttr>> readBlocks(Operation *op, ArrayAttr blocks) {
  SmallVector<BlockAttr> read;
  for (Attribute attr : blocks) {
    read.push_back(cast<BlockAttr>(attr));
  }
  return read;
}

Num emitKeysActed(Emitter &e, const Kernel &kernel, const Call &call,
                  ArrayRef<BlockAttr> blocks) {
  InterfaceOp interface = kernel.scheme->interface;
  // A norm alone stands in no block.
  bool stored = blocks.empty() ? interface.getKeysActed()
                               : llvm::all_of(blocks, [](BlockAttr block) {
                                   return block.getKeys() == KeyPlace::Cached;
                                 });
  return stored ? (call.flags & int64_t(TORSOR_KEYS_ACTED)) != 0
                : e.constant(e.i1, int64_t(0));
}

namespace {

/// Reads and writes `count` lanes of a row that are `step` apart.
struct Lanes {
  Emitter &e;
  int64_t step;

  Num load(Pointer row, Num first, int64_t count) const {
    if (step == 1 || count == 1)
      return row.load(first, count);
    return gather(row + first, e.iota(e.i32, count) * step);
  }
  void store(Pointer row, Num first, Num value) const {
    if (step == 1)
      return row.store(first, value);
    for (int64_t n = 0; n < value.lanes(); ++n)
      row.store(first + n * step, e.lane(value, n));
  }
};

class RowAction {
public:
  /// Phases that are rounded as elsewhere are rounded one by one.
  bool mergesTurns() const {
    return llvm::none_of(action.blocks, [&](BlockAttr block) {
      return block.getKind() == BlockKind::Turn && block.getRates() >= 0 &&
             tables.kernel.tables[block.getRates()].element.isF32();
    });
  }
  /// Whether the blocks need the row in f32, one after the other.
  bool needsSteps() const {
    return torsor::needsSteps(action.blocks, action.width, mergesTurns());
  }
  RowAction(Emitter &e, int64_t lanes, const Action &action,
            const TableReader &tables, const Place &place, Pointer from,
            Pointer to)
      : e(e), lanes(lanes), action(action), tables(tables), place(place),
        from(from), to(to) {}

  void emit() {
    for (BlockAttr block : action.blocks)
      emitBlock(block);
    emitPassive();
  }
  /// Blocks in turn, each on what the one before left in the f32 row.
  void emitInSteps(ArrayRef<BlockAttr> blocks) {
    for (BlockAttr block : blocks) {
      if (block.isAnchored() && !action.anchor && action.onQuery)
        emitGainAhead(block);
      if (block.isAnchored() ? !action.anchor : action.isAnchoredOnly)
        continue;
      if (block.getKind() == BlockKind::Zero ||
          block.getKind() == BlockKind::Turn)
        emitBlock(block);
      else
        emitStep(e, lanes, action, block, tables, place, to);
    }
  }

private:
  /// A query fades from an anchor, once or more often, or not at all where the
  /// anchor is its own time: its gain stands in the row, once.
  void emitGainAhead(BlockAttr block) {
    PairsAttr at = block.getLanes();
    double gain = block.qGain();
    if (gain == 1)
      return;
    int64_t links = block.getKind() == BlockKind::Jordan ? block.getOrder() : 1;
    int64_t link = at.getSecond() - at.getFirst();
    Lanes apart{e, at.getStep()};
    forPairs(e, at.getCount(), lanes, [&](Num p, int64_t n) {
      for (int64_t l = 0; l < links; ++l) {
        Num lane = p * at.getStep() + (at.getFirst() + l * link);
        apart.store(to, lane, apart.load(to, lane, n) * gain);
      }
    });
  }

  Num scaled(Num value, double blockGain) {
    value = e.convert(value, e.f32);
    if (action.gain)
      value = value * action.gain;
    return blockGain == 1.0 ? value : value * blockGain;
  }
  void put(const Lanes &at, Num first, Num value) {
    at.store(to, first, e.convert(value, to.element));
  }

  void emitBlock(BlockAttr block) {
    PairsAttr at = block.getLanes();
    double gain = action.onQuery ? block.qGain() : block.kGain();
    int64_t first = at.getFirst(), second = at.getSecond(), step = at.getStep();
    Lanes apart{e, step};
    auto laneOf = [&](int64_t start, Num p) { return p * step + start; };
    if (block.getKind() == BlockKind::Zero || second < 0) {
      forPairs(e, at.getCount(), lanes, [&](Num p, int64_t n) {
        for (int64_t start : {first, second})
          if (start >= 0)
            put(apart, laneOf(start, p),
                scaled(apart.load(from, laneOf(start, p), n), gain));
      });
      return;
    }
    SmallVector<BlockAttr, 2> together = {block};
    if (mergesTurns()) {
      if (isMergedTurn(action.blocks, block))
        return;
      for (BlockAttr other : action.blocks)
        if (isMergedTurn(action.blocks, other) && other.getLanes() == at) {
          together.push_back(other);
          gain *= action.onQuery ? other.qGain() : other.kGain();
        }
    }
    bool isRounded = tables.kernel.tables[block.getRates()].element == e.f32;
    bool adjacent = step == 2 && second == first + 1;
    Nums times;
    for (BlockAttr each : together)
      times.push_back(action.known ? Num()
                                   : action.time(action.onQuery ? each.getS()
                                                                : each.getT()));
    forPairs(e, at.getCount(), lanes, [&](Num p, int64_t n) {
      CosSin turn = turnOf(block, times[0], p, n);
      for (size_t m = 1; m < together.size(); ++m)
        turn = composed(turn, turnOf(together[m], times[m], p, n));
      auto [x, y] = adjacent && n > 1
                        ? loadAdjacent(laneOf(first, p), n)
                        : std::pair(apart.load(from, laneOf(first, p), n),
                                    apart.load(from, laneOf(second, p), n));
      auto [turnedX, turnedY] = turned(turn, isRounded, gain, x, y);
      if (adjacent && n > 1)
        return storeAdjacent(laneOf(first, p), turnedX, turnedY);
      put(apart, laneOf(first, p), turnedX);
      put(apart, laneOf(second, p), turnedY);
    });
  }

  /// Pairs that the blocks before `block` turn.
  int64_t turnsBefore(BlockAttr block) const {
    auto at = llvm::find(action.blocks, block);
    return countTurns(action.blocks.take_front(at - action.blocks.begin()));
  }
  /// The turn of `n` pairs of a block from `p` on, at `time`.
  CosSin turnOf(BlockAttr block, Num time, Num p, int64_t n) {
    if (action.known) {
      Pointer cosines = action.known(block);
      Pointer sines = cosines + block.getLanes().getCount();
      return {cosines.load(p, n), sines.load(p, n)};
    }
    auto computed = [&] {
      Num rate = tables.rates(tables.kernel.tables[block.getRates()], place,
                              p + block.getRateOffset(), n);
      return emitCosSin(e, time, rate);
    };
    if (!action.turns)
      return computed();
    Num at = p + turnsBefore(block);
    Pointer cosines = action.turns->words;
    Pointer sines = cosines + countTurns(action.blocks);
    Nums turn = e.choose(
        action.turns->isFresh,
        [&]() -> Nums {
          CosSin fresh = computed();
          cosines.store(at, fresh.cos);
          sines.store(at, fresh.sin);
          return {fresh.cos, fresh.sin};
        },
        [&]() -> Nums { return {cosines.load(at, n), sines.load(at, n)}; });
    return {turn[0], turn[1]};
  }

  /// The pair x, y of the row after the turn, in f32; `rounded`: as other
  /// libraries round it.
  std::pair<Num, Num> turned(CosSin turn, bool rounded, double gain, Num x,
                             Num y) {
    if (rounded) {
      auto [first, second] =
          emitRoundedTurn(e, from.element, turn, gain, e.convert(x, e.f32),
                          e.convert(y, e.f32));
      return {scaled(first, 1.0), scaled(second, 1.0)};
    }
    return torsor::turned(turn, scaled(x, gain), scaled(y, gain));
  }

  std::pair<Num, Num> loadAdjacent(Num first, int64_t n) {
    Num a = from.load(first, n), b = from.load(first + n, n);
    SmallVector<int32_t> even, odd;
    for (int32_t k = 0; k < n; ++k) {
      even.push_back(2 * k);
      odd.push_back(2 * k + 1);
    }
    return {e.shuffle(a, b, even), e.shuffle(a, b, odd)};
  }
  void storeAdjacent(Num first, Num x, Num y) {
    int64_t n = x.lanes();
    SmallVector<int32_t> low, high;
    for (int32_t k = 0; k < n; ++k) {
      low.push_back(k / 2 + (k % 2 ? n : 0));
      high.push_back(n / 2 + k / 2 + (k % 2 ? n : 0));
    }
    to.store(first, e.convert(e.shuffle(x, y, low), to.element));
    to.store(first + n, e.convert(e.shuffle(x, y, high), to.element));
  }

  /// Copies the runs of lanes that no block takes.
  void emitPassive() {
    llvm::BitVector taken(action.width);
    taken.set(0, action.copyBegin);
    if (action.copyEnd >= 0)
      taken.set(action.copyEnd, action.width);
    for (BlockAttr block : action.blocks) {
      PairsAttr at = block.getLanes();
      for (int64_t p = 0; p < at.getCount(); ++p) {
        taken.set(at.getFirst() + p * at.getStep());
        if (at.getSecond() >= 0)
          taken.set(at.getSecond() + p * at.getStep());
      }
    }
    for (int begin = taken.find_first_unset(); begin >= 0;) {
      int end = taken.find_next(begin);
      if (end < 0)
        end = action.width;
      emitCopy(begin, end);
      begin = taken.find_next_unset(end - 1);
    }
  }
  void emitCopy(int64_t begin, int64_t end) {
    auto piece = [&](Num at, int64_t n) {
      Num value = from.load(at, n);
      if (action.gain)
        value = e.convert(value, e.f32) * action.gain;
      to.store(at, e.convert(value, to.element));
    };
    int64_t whole = begin + (end - begin) / lanes * lanes;
    if (whole > begin)
      e.loop(begin, e.index(whole), lanes, [&](Num at) { piece(at, lanes); });
    if (whole < end)
      e.loop(whole, e.index(end), 1, [&](Num at) { piece(at, 1); });
  }

  Emitter &e;
  int64_t lanes;
  const Action &action;
  const TableReader &tables;
  const Place &place;
  Pointer from, to;
};

} // namespace

/// The blocks that bring a row to its place in f32: a turn that comes first,
/// with those that are made with it.
static SmallVector<BlockAttr> leadingTurns(const Action &action, bool merges) {
  SmallVector<BlockAttr> leading;
  if (!merges || action.isAnchoredOnly ||
      action.blocks[0].getKind() != BlockKind::Turn)
    return leading;
  leading.push_back(action.blocks[0]);
  for (BlockAttr block : action.blocks.drop_front())
    if (isMergedTurn(action.blocks, block) &&
        block.getLanes() == leading[0].getLanes())
      leading.push_back(block);
  return leading;
}

/// Copies the row to f32, lets the blocks act one by one, and converts it.
static void emitSteps(Emitter &e, int64_t lanes, const Action &action,
                      const TableReader &tables, const Place &place,
                      Pointer from, Pointer to) {
  Pointer row = to.element == e.f32 ? to : frameSlots(e, e.f32, action.width);
  Action copy = action, step = action;
  bool merges =
      RowAction(e, lanes, action, tables, place, from, row).mergesTurns();
  SmallVector<BlockAttr> leading = leadingTurns(action, merges), left;
  for (BlockAttr block : action.blocks)
    if (!llvm::is_contained(leading, block))
      left.push_back(block);
  copy.blocks = leading;
  step.gain = Num();
  // Turns that are kept are counted over all blocks.
  if (action.turns)
    copy.blocks = {}, left.assign(action.blocks.begin(), action.blocks.end());
  RowAction(e, lanes, copy, tables, place, from, row).emit();
  RowAction(e, lanes, step, tables, place, row, row).emitInSteps(left);
  if (to.element == e.f32)
    return;
  copy.gain = Num();
  copy.blocks = {};
  RowAction(e, lanes, copy, tables, place, row, to).emit();
}

static void emitPlain(Emitter &e, int64_t lanes, const Action &action,
                      const TableReader &tables, const Place &place,
                      Pointer from, Pointer to) {
  RowAction row(e, lanes, action, tables, place, from, to);
  if (row.needsSteps())
    return emitSteps(e, lanes, action, tables, place, from, to);
  row.emit();
}

void emitAction(Emitter &e, int64_t lanes, const Action &action,
                const TableReader &tables, const Place &place, Pointer from,
                Pointer to) {
  if (!action.around || action.around->isEmpty())
    return emitPlain(e, lanes, action, tables, place, from, to);
  const RowLanes &around = *action.around;
  if (around.norm) {
    Pointer normed = frameSlots(e, e.f32, action.width);
    emitNormed(around, tables, place, action.width, from, normed);
    from = normed;
  }
  if (around.gains < 0)
    return emitPlain(e, lanes, action, tables, place, from, to);
  Pointer acted = frameSlots(e, e.f32, action.width);
  emitPlain(e, lanes, action, tables, place, from, acted);
  emitLaneGains(around, tables, place, action.width, acted, to);
}

void emitValueAction(Emitter &e, int64_t lanes, ArrayRef<BlockAttr> blocks,
                     int64_t width, function_ref<Num(int64_t)> time,
                     const TableReader &tables, const Place &place, bool undo,
                     Pointer from, Pointer to) {
  // exp(-s X) on the output: isometries, so it is the time that changes sign.
  auto back = [&](int64_t slot) {
    Num now = time(slot);
    return e.convert(e.index(0), now.type()) - now;
  };
  Action action = {blocks, undo, width, time, Num()};
  if (undo)
    action.time = back;
  emitAction(e, lanes, action, tables, place, from, to);
}

} // namespace torsor
