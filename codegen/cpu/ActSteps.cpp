// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions of several factors, step by step on a row in f32.
#include "codegen/cpu/ActSteps.h"

#include "codegen/cpu/Exp.h"
#include "codegen/cpu/Gather.h"
#include "codegen/cpu/Phase.h"

#include "llvm/ADT/BitVector.h"

#include <cmath>

using namespace mlir;

namespace torsor {

bool isMergedTurn(ArrayRef<BlockAttr> blocks, BlockAttr block) {
  auto isTurn = [](BlockAttr each) {
    return each.getKind() == BlockKind::Turn &&
           each.getLanes().getSecond() >= 0;
  };
  for (BlockAttr other : blocks) {
    if (other == block || other.getKind() == BlockKind::Basis)
      return false;
    if (isTurn(block) && isTurn(other) && other.getLanes() == block.getLanes())
      return true;
  }
  return false;
}

int64_t countLanes(BlockAttr block) {
  PairsAttr at = block.getLanes();
  return at.getCount() * (at.getSecond() < 0 ? 1 : 2);
}

Num laneOf(BlockAttr block, Num n) {
  PairsAttr at = block.getLanes();
  if (at.getSecond() < 0)
    return n * at.getStep() + at.getFirst();
  Num isSecond = n % 2;
  return n / 2 * at.getStep() + at.getFirst() +
         isSecond * (at.getSecond() - at.getFirst());
}

void forPairs(Emitter &e, int64_t count, int64_t step,
              function_ref<void(Num, int64_t)> body) {
  int64_t done = count / step * step;
  if (done)
    e.loop(0, e.index(done), step, [&](Num p) { body(p, step); });
  for (int64_t n = step / 2; n >= 4; n /= 2)
    if (count - done >= n) {
      body(e.index(done), n);
      done += n;
    }
  if (done < count)
    e.loop(done, e.index(count), 1, [&](Num p) { body(p, 1); });
}

bool needsSteps(ArrayRef<BlockAttr> blocks, int64_t width, bool merges) {
  llvm::BitVector taken(width);
  for (BlockAttr block : blocks) {
    if (merges && isMergedTurn(blocks, block))
      continue;
    if (block.getKind() != BlockKind::Zero &&
        block.getKind() != BlockKind::Turn)
      return true;
    PairsAttr at = block.getLanes();
    for (int64_t p = 0; p < at.getCount(); ++p)
      for (int64_t start : {at.getFirst(), at.getSecond()}) {
        int64_t lane = start + p * at.getStep();
        if (start < 0)
          continue;
        if (taken.test(lane))
          return true;
        taken.set(lane);
      }
  }
  return false;
}

bool isAnchored(ArrayRef<BlockAttr> blocks) {
  return llvm::any_of(blocks,
                      [](BlockAttr block) { return block.isAnchored(); });
}

static int64_t wordsOf(BlockAttr block) {
  return !block.isAnchored() ? 0
         : block.getFamily() ? block.getLanes().getCount()
                             : 1;
}

int64_t anchorWords(ArrayRef<BlockAttr> blocks) {
  int64_t words = 0;
  for (BlockAttr block : blocks)
    words += wordsOf(block);
  return words;
}

Pointer anchorOf(ArrayRef<BlockAttr> blocks, BlockAttr block, Pointer anchors) {
  int64_t before = 0;
  for (BlockAttr other : blocks) {
    if (other == block)
      break;
    before += wordsOf(other);
  }
  return anchors.bytes(before * 8);
}

void emitAnchors(Emitter &e, ArrayRef<BlockAttr> blocks, bool onQuery,
                 function_ref<Num(int64_t)> time, const TableReader &tables,
                 const Place &place, Pointer anchors) {
  for (BlockAttr block : blocks) {
    if (!block.isAnchored())
      continue;
    int64_t source = onQuery ? block.getS() : block.getT();
    Pointer to = anchorOf(blocks, block, anchors);
    if (!block.getFamily()) {
      Num now = time(source);
      to.as(now.type()).store(0, now);
      continue;
    }
    const Table &table = tables.kernel.tables[source];
    e.loop(0, e.index(block.getLanes().getCount()), 1, [&](Num p) {
      to.as(e.f64).store(p,
                         tables.times(table, place, p + block.getMember(), 1));
    });
  }
}

namespace {

/// 2^x for x in f64, in f32: below the least normal number 0, never above
/// 2^127, to an ulp or two. NaN stays.
Num powerOfTwo(Emitter &e, Num x) {
  auto number = [&](double value) { return e.constant(x.type(), value); };
  x = min(number(127), max(number(-127), x));
  // A sum with it is whole, and has the exponent's bits in its lower half.
  Num magic = number(0x1.8p52 + 127), shifted = x + magic;
  Num power = emitExp2Rest(e, e.convert(x - (shifted - magic), e.f32));
  return power * e.bitcast(e.halves(shifted, /*upper=*/false) << 23, e.f32);
}

class Step {
public:
  Step(Emitter &e, int64_t lanes, const Action &action, BlockAttr block,
       const TableReader &tables, const Place &place, Pointer row)
      : e(e), lanes(lanes), action(action), block(block), tables(tables),
        place(place), row(row), at(block.getLanes()) {}

  void emit() {
    switch (block.getKind()) {
    case BlockKind::Decay:
      return fade();
    case BlockKind::Jordan:
      return chain();
    case BlockKind::Plane:
      return plane();
    case BlockKind::Basis:
      return basis();
    case BlockKind::Zero:
    case BlockKind::Turn:
      return;
    }
  }

  Num factor(Num p, int64_t n) const {
    if (action.known)
      return action.known(block).load(p, n);
    return powerOfTwo(e, rates(p, n) * span(p, n));
  }

  void emitFactors(Pointer to) {
    pairs(at.getCount(), [&](Num p, int64_t n) {
      if (block.getKind() != BlockKind::Turn)
        return to.store(p, isDecay() ? factor(p, n) : coupling(p, n));
      Num time = action.time(action.onQuery ? block.getS() : block.getT());
      CosSin turn = emitCosSin(e, time, rates(p, n));
      to.store(p, turn.cos);
      to.store(p + at.getCount(), turn.sin);
    });
  }

private:
  Num rates(Num p, int64_t n) const {
    return tables.rates(tables.kernel.tables[block.getRates()], place,
                        p + block.getRateOffset(), n);
  }
  /// A query's row has the gain of what fades before it has an anchor
  /// (Act.cpp).
  double gain() const {
    if (action.onQuery)
      return block.isAnchored() ? 1 : block.qGain();
    return block.kGain();
  }
  /// Times of the pairs p … p + n - 1 from their anchors in f64; with the
  /// sign of the side: exp(t X) on keys, exp(-s X) on queries.
  Num span(Num p, int64_t n) const {
    Pointer anchor = action.anchor(block);
    int64_t source = action.onQuery ? block.getS() : block.getT();
    Num elapsed;
    if (block.getFamily()) {
      Num now = tables.times(tables.kernel.tables[source], place,
                             p + block.getMember(), n);
      elapsed = now - anchor.as(e.f64).load(p, n);
    } else {
      Num now = action.time(source);
      elapsed = now - anchor.as(now.type()).load(0);
      elapsed = e.splat(e.convert(elapsed, e.f64), n);
    }
    return action.onQuery ? e.constant(elapsed.type(), 0.0) - elapsed : elapsed;
  }
  void pairs(int64_t count, function_ref<void(Num, int64_t)> body) const {
    forPairs(e, count, lanes, body);
  }
  Num load(Num p, int64_t start, int64_t n) const {
    if (at.getStep() == 1 || n == 1)
      return row.load(p * at.getStep() + start, n);
    return gather(row + (p * at.getStep() + start),
                  e.iota(e.i32, n) * at.getStep());
  }
  void store(Num p, int64_t start, Num value) const {
    if (at.getStep() == 1 || !value.isVector())
      return row.store(p * at.getStep() + start, value);
    for (int64_t k = 0; k < value.lanes(); ++k)
      row.store((p + k) * at.getStep() + start, e.lane(value, k));
  }

  bool isDecay() const { return block.getKind() == BlockKind::Decay; }

  void fade() {
    pairs(at.getCount(), [&](Num p, int64_t n) {
      Num by = factor(p, n);
      if (gain() != 1)
        by = by * gain();
      store(p, at.getFirst(), load(p, at.getFirst(), n) * by);
    });
  }

  Num coupling(Num p, int64_t n) const {
    if (action.known)
      return action.known(block).load(p, n);
    // So that no power leaves f32.
    double most = std::exp2(120.0 / double(block.getOrder() - 1));
    Num u = rates(p, n) * span(p, n);
    u = select(u < -most, -most, select(u > most, most, u));
    return e.convert(u, e.f32);
  }

  void chain() {
    int64_t order = block.getOrder(), link = at.getSecond() - at.getFirst();
    pairs(at.getCount(), [&](Num p, int64_t n) {
      Num u = coupling(p, n);
      Nums x, weights = {Num()}; // u^m / m!
      for (int64_t l = 0; l < order; ++l)
        x.push_back(load(p, at.getFirst() + l * link, n));
      for (int64_t m = 1; m < order; ++m)
        weights.push_back(m == 1 ? u : weights.back() * u * (1.0 / double(m)));
      for (int64_t l = 0; l < order; ++l) {
        Num sum = x[l];
        for (int64_t m = 1; m < order; ++m) {
          int64_t from = action.onQuery ? l - m : l + m;
          if (from >= 0 && from < order)
            sum = fma(weights[m], x[from], sum);
        }
        store(p, at.getFirst() + l * link, gain() == 1 ? sum : sum * gain());
      }
    });
  }

  int64_t width() const { return countLanes(block); }
  Num laneOf(Num n) const { return torsor::laneOf(block, n); }

  /// Whether the block's lanes lie beside each other, in its own order.
  bool isDense() const { return at.getStep() == 1 && at.getSecond() < 0; }
  void eachLane(function_ref<void(Num, int64_t)> body) const {
    if (isDense())
      return pairs(width(), body);
    e.loop(0, e.index(width()), 1, [&](Num n) { body(n, 1); });
  }

  void plane() {
    const Table &vectors = tables.kernel.tables[block.getVectors()];
    auto element = [&](int64_t which, Num n, int64_t count) {
      return tables.rates(vectors, place, n + which * width(), count);
    };
    auto scalar = [&](Num number) {
      return number.isVector() ? e.lane(number, 0) : number;
    };
    Nums dots = {e.real(0.0), e.real(0.0)};
    auto add = [&](Num n, int64_t count, ArrayRef<Num> carried) -> Nums {
      Num x = row.load(laneOf(n), count);
      return {fma(element(0, n, count), x, carried[0]),
              fma(element(1, n, count), x, carried[1])};
    };
    int64_t whole = isDense() ? width() / lanes * lanes : 0;
    if (whole) {
      Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
      Nums sums = e.loop(
          0, e.index(whole), lanes, {zero, zero},
          [&](Num n, ArrayRef<Num> carried) { return add(n, lanes, carried); });
      dots = {e.sum(sums[0]), e.sum(sums[1])};
    }
    if (whole < width())
      dots = e.loop(whole, e.index(width()), 1, dots,
                    [&](Num n, ArrayRef<Num> carried) {
                      Nums next = add(n, 1, carried);
                      return Nums{scalar(next[0]), scalar(next[1])};
                    });
    Num time = action.time(action.onQuery ? block.getS() : block.getT());
    CosSin turn = emitCosSin(e, time, rates(e.index(0), 1));
    Num c = scalar(turn.cos) - 1.0, s = scalar(turn.sin);
    Num first = dots[0] * c - dots[1] * s;
    Num second = dots[0] * s + dots[1] * c;
    eachLane([&](Num n, int64_t count) {
      Num lane = laneOf(n);
      Num x = fma(element(0, n, count), first,
                  fma(element(1, n, count), second, row.load(lane, count)));
      row.store(lane, gain() == 1 ? x : x * gain());
    });
  }

  void basis() {
    bool isInverse = !action.onQuery && block.getKeyVectors() >= 0;
    const Table &matrix =
        tables.kernel
            .tables[isInverse ? block.getKeyVectors() : block.getVectors()];
    int64_t n = width();
    Pointer changed = frameSlots(e, e.f32, (n + lanes - 1) / lanes * lanes);
    auto column = [&](Num d, int64_t count) {
      Num start = e.constant(e.vec(count, e.f32), 0.0);
      Num sum = e.loop(0, e.index(n), 1, {start},
                       [&](Num c, ArrayRef<Num> carried) -> Nums {
                         Num x = e.splat(row.load(laneOf(c)), count);
                         Num m = tables.rates(matrix, place, c * n + d, count);
                         return {fma(x, m, carried[0])};
                       })[0];
      changed.store(d, sum);
    };
    int64_t whole = n / lanes * lanes;
    e.loop(0, e.index(whole), lanes, [&](Num d) { column(d, lanes); });
    e.loop(whole, e.index(n), 1, [&](Num d) { column(d, 1); });
    e.loop(0, e.index(n), 1,
           [&](Num d) { row.store(laneOf(d), changed.load(d)); });
  }

  Emitter &e;
  int64_t lanes;
  const Action &action;
  BlockAttr block;
  const TableReader &tables;
  const Place &place;
  Pointer row;
  PairsAttr at;
};

} // namespace

int64_t countFactors(BlockAttr block) {
  int64_t count = block.getLanes().getCount();
  if (block.getKind() == BlockKind::Turn)
    return 2 * count;
  return block.isAnchored() ? count : 0;
}

Num emitFactor(Emitter &e, const Action &action, BlockAttr block,
               const TableReader &tables, const Place &place, Num p,
               int64_t lanes) {
  return Step(e, lanes, action, block, tables, place, Pointer())
      .factor(p, lanes);
}

void emitFactors(Emitter &e, int64_t lanes, const Action &action,
                 BlockAttr block, const TableReader &tables, const Place &place,
                 Pointer to) {
  Step(e, lanes, action, block, tables, place, to).emitFactors(to);
}

void emitStep(Emitter &e, int64_t lanes, const Action &action, BlockAttr block,
              const TableReader &tables, const Place &place, Pointer row) {
  Step(e, lanes, action, block, tables, place, row).emit();
}

} // namespace torsor
