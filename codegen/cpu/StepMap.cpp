// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the blocks of an action make of a key at one time, lane by lane.
#include "codegen/cpu/StepMap.h"

#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodeLayout.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Phase.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace torsor {

bool areVectorPairs(PairsAttr pairs, int64_t lanes) {
  int64_t count = pairs.getCount(), first = pairs.getFirst();
  int64_t apart = pairs.getSecond() - first;
  return pairs.getSecond() >= 0 && count % lanes == 0 &&
         ((pairs.getStep() == 1 && apart == count) ||
          (pairs.getStep() == 2 && apart == 1));
}

std::pair<Num, Num> loadPairs(Pointer row, PairsAttr pairs, Num p,
                              int64_t lanes) {
  Emitter &e = *p.e;
  if (pairs.getStep() == 1)
    return {e.convert(row.load(p + pairs.getFirst(), lanes), e.f32),
            e.convert(row.load(p + pairs.getSecond(), lanes), e.f32)};
  auto [even, odd] = loadPair(row, p * 2 + pairs.getFirst(), lanes);
  return {e.convert(even, e.f32), e.convert(odd, e.f32)};
}

/// The lanes of link `l` of pair `p` of a chain.
static int64_t linkLane(BlockAttr block, int64_t p, int64_t l) {
  PairsAttr at = block.getLanes();
  return at.getFirst() + p * at.getStep() +
         l * (at.getSecond() - at.getFirst());
}

/// Pairs that vectors load, among which are those of all turns; null: none are.
static PairsAttr joinedPairs(ArrayRef<BlockAttr> blocks, int64_t head,
                             int64_t lanes) {
  PairsAttr joined;
  int64_t low = head, high = 0; // first lanes
  for (BlockAttr block : blocks) {
    PairsAttr at = block.getLanes();
    if (block.getKind() != BlockKind::Turn)
      continue;
    int64_t apart = at.getSecond() - at.getFirst();
    if (joined && (joined.getStep() != at.getStep() ||
                   joined.getSecond() - joined.getFirst() != apart ||
                   (at.getFirst() - joined.getFirst()) % at.getStep() != 0))
      return {};
    joined = at;
    low = std::min(low, at.getFirst());
    high = std::max(high, at.getFirst() + (at.getCount() - 1) * at.getStep());
  }
  int64_t step = joined.getStep();
  int64_t apart = joined.getSecond() - joined.getFirst();
  for (int64_t first : {low % step, low}) {
    int64_t count = step == 1 ? apart : (head - first) / 2;
    auto pairs =
        PairsAttr::get(joined.getContext(), first, first + apart, step, count);
    if (areVectorPairs(pairs, lanes) && first % lanes == 0 &&
        high < first + count * step && first + 2 * count <= head)
      return pairs;
  }
  return {};
}

std::optional<StepMap> StepMap::of(ArrayRef<BlockAttr> blocks, int64_t head,
                                   int64_t lanes, Type stored) {
  StepMap map;
  map.head = head, map.lanes = lanes;
  map.width = roundUp(head, lanes);
  map.all.assign(blocks.begin(), blocks.end());
  llvm::BitVector chained(head);
  std::optional<int64_t> clock;
  bool turns = false;
  for (BlockAttr block : blocks) {
    PairsAttr at = block.getLanes();
    if (block.acts() && clock.value_or(block.getT()) != block.getT())
      return std::nullopt;
    if (block.acts())
      clock = block.getT();
    turns |= block.getKind() == BlockKind::Turn;
    map.turnsOnly &= !block.isAnchored() && block.kGain() == 1;
    if (block.getKind() != BlockKind::Jordan)
      continue;
    // Loads with a mask of fewer bits are scalar code.
    if (!stored.isF32())
      return std::nullopt;
    for (int64_t p = 0; p < at.getCount(); ++p)
      for (int64_t l = 0; l < block.getOrder(); ++l) {
        if (chained.test(linkLane(block, p, l)))
          return std::nullopt;
        chained.set(linkLane(block, p, l));
      }
    for (int64_t m = 1; m < block.getOrder(); ++m) {
      int64_t links = m * (at.getSecond() - at.getFirst());
      if (!llvm::is_contained(map.apart, links))
        map.apart.push_back(links);
    }
  }
  if (turns) {
    map.turned = joinedPairs(blocks, head, lanes);
    if (!map.turned || (!map.turnsOnly && 2 * map.turned.getCount() != head))
      return std::nullopt;
  }
  return map;
}

int64_t StepMap::couplesAt(int64_t m) const {
  int64_t before = !turned ? width : turned.getCount() * (turnsOnly ? 2 : 4);
  return before + m * width;
}
int64_t StepMap::words() const { return couplesAt(apart.size()); }

void StepMap::emitOwn(Emitter &e, const Action &action,
                      const TableReader &tables, const Place &place,
                      Pointer own) const {
  e.fill(own, e.index(width * 4), 0);
  forPairs(e, head, lanes, [&](Num d, int64_t n) {
    own.store(d, e.constant(e.vec(n, e.f32), 1.0));
  });
  for (BlockAttr block : all) {
    if (block.getKind() == BlockKind::Decay) {
      emitStep(e, lanes, action, block, tables, place, own);
      continue;
    }
    double gain = block.kGain();
    if (gain == 1)
      continue;
    PairsAttr at = block.getLanes();
    int64_t links = block.getKind() == BlockKind::Jordan ? block.getOrder()
                    : at.getSecond() < 0                 ? 1
                                                         : 2;
    e.loop(0, e.index(at.getCount()), 1, [&](Num p) {
      for (int64_t l = 0; l < links; ++l) {
        Num d = p * at.getStep() + linkLane(block, 0, l);
        own.store(d, own.load(d) * gain);
      }
    });
  }
}

void StepMap::emitTurns(Emitter &e, const Action &action,
                        const TableReader &tables, const Place &place,
                        Pointer turns) const {
  int64_t count = turned.getCount();
  SmallVector<BlockAttr> left = llvm::to_vector(llvm::make_filter_range(
      all, [](BlockAttr block) { return block.getKind() == BlockKind::Turn; }));
  if (left[0].getLanes() == turned) {
    emitFactors(e, lanes, action, left[0], tables, place, turns);
    left.erase(left.begin());
  } else {
    e.loop(0, e.index(count), lanes, [&](Num p) {
      turns.store(p, e.constant(e.vec(lanes, e.f32), 1.0));
      turns.store(p + count, e.constant(e.vec(lanes, e.f32), 0.0));
    });
  }
  for (BlockAttr block : left) {
    PairsAttr at = block.getLanes();
    Pointer more = frameSlots(e, e.f32, 2 * at.getCount());
    Pointer to = turns + (at.getFirst() - turned.getFirst()) / turned.getStep();
    emitFactors(e, lanes, action, block, tables, place, more);
    forPairs(e, at.getCount(), lanes, [&](Num p, int64_t n) {
      Num c = more.load(p, n), s = more.load(p + at.getCount(), n);
      Num cos = to.load(p, n), sin = to.load(p + count, n);
      to.store(p, cos * c - sin * s);
      to.store(p + count, cos * s + sin * c);
    });
  }
}

void StepMap::emitCouples(Emitter &e, const Action &action,
                          const TableReader &tables, const Place &place,
                          Pointer table) const {
  e.fill(table + couplesAt(0), e.index(int64_t(apart.size()) * width * 4), 0);
  for (BlockAttr block : all) {
    if (block.getKind() != BlockKind::Jordan)
      continue;
    PairsAttr at = block.getLanes();
    int64_t link = at.getSecond() - at.getFirst(), order = block.getOrder();
    Pointer couplings = frameSlots(e, e.f32, at.getCount());
    emitFactors(e, lanes, action, block, tables, place, couplings);
    auto couples = [&](int64_t m) {
      return table + couplesAt(llvm::find(apart, m * link) - apart.begin());
    };
    e.loop(0, e.index(at.getCount()), 1, [&](Num p) {
      Num u = couplings.load(p), weight = u; // u^m / m!
      for (int64_t m = 1; m < order; ++m) {
        if (m > 1)
          weight = weight * u * (1.0 / double(m));
        for (int64_t l = 0; l + m < order; ++l)
          couples(m).store(p * at.getStep() + linkLane(block, 0, l), weight);
      }
    });
  }
}

void StepMap::emit(Emitter &e, const Action &action, const TableReader &tables,
                   const Place &place, Pointer table) const {
  if (turned && turnsOnly)
    return emitTurns(e, action, tables, place, table);
  Pointer own = turned ? frameSlots(e, e.f32, width) : table;
  emitOwn(e, action, tables, place, own);
  if (!apart.empty())
    emitCouples(e, action, tables, place, table);
  if (!turned)
    return;
  int64_t count = turned.getCount();
  Pointer turns = frameSlots(e, e.f32, 2 * count);
  emitTurns(e, action, tables, place, turns);
  e.loop(0, e.index(count), lanes, [&](Num p) {
    Num c = turns.load(p, lanes), s = turns.load(p + count, lanes);
    auto [a, b] = loadPairs(own, turned, p, lanes);
    table.store(p, c * a);
    table.store(p + count, e.constant(c.type(), 0.0) - s * a);
    table.store(p + 2 * count, s * b);
    table.store(p + 3 * count, c * b);
  });
}

Num StepMap::coupled(Pointer table, Pointer row, Num d, Num x) const {
  Emitter &e = *d.e;
  Num none = e.constant(x.type(), 0.0);
  for (auto [m, links] : llvm::enumerate(apart)) {
    Num weight = table.load(d + couplesAt(m), lanes);
    // What lies there may be of another row, or no memory: only where it
    // counts.
    Num counts = weight != 0.0;
    Num other = e.num(LLVM::MaskedLoadOp::create(
        e.b, x.type(), (row + (d + links)).base.value, counts.value, none.value,
        /*alignment=*/4));
    x = fma(weight, other, x);
  }
  return x;
}

Nums StepMap::apply(Pointer table, Pointer row, Num d) const {
  Emitter &e = *d.e;
  auto load = [&](Num at) {
    return coupled(table, row, at, e.convert(row.load(at, lanes), e.f32));
  };
  if (!turned)
    return {load(d) * table.load(d, lanes)};
  Num a, b;
  if (apart.empty()) {
    std::tie(a, b) = loadPairs(row, turned, d, lanes);
  } else if (turned.getStep() == 1) {
    a = load(d + turned.getFirst()), b = load(d + turned.getSecond());
  } else {
    std::tie(a, b) = separate(load(d * 2), load(d * 2 + lanes));
  }
  auto part = [&](int64_t n) {
    return table.load(d + n * turned.getCount(), lanes);
  };
  if (turnsOnly) {
    std::tie(a, b) = torsor::turned({part(0), part(1)}, a, b);
    return {a, b};
  }
  return {fma(part(0), a, part(1) * b), fma(part(2), a, part(3) * b)};
}

Num StepMap::applyTail(Pointer table, Pointer row) const {
  int64_t whole = head / lanes * lanes;
  Num at = table.base.e->index(whole);
  Num x = loadTail(row + whole, lanes, head - whole);
  return coupled(table, row, at, x) * table.load(at, lanes);
}

} // namespace torsor
