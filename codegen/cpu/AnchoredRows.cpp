// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a block from the anchor of a stretch of keys, all at once.
#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/Anchors.h"

using namespace mlir;

namespace torsor {

namespace {

/// What all rows are multiplied by between the first row's time and an anchor:
/// lane d becomes factor[d] x[d] and, for each link of a chain that is `apart`
/// lanes before it, coupled[d] x[d - apart]. Whole vectors at any lanes, since
/// chains are short and lie in steps.
class RowMatrix {
public:
  explicit RowMatrix(Emitter &e, int64_t head) : e(e), head(head) {
    factors = frameSlots(e, e.f32, head);
    e.loop(0, e.index(head), 1, [&](Num d) { factors.store(d, e.real(1.0)); });
  }

  /// A chain behind the factors; `couplings`: of each of its pairs. Its gain
  /// stands in the rows already.
  void addChain(BlockAttr block, Pointer couplings) {
    PairsAttr at = block.getLanes();
    int64_t link = at.getSecond() - at.getFirst(), order = block.getOrder();
    for (int64_t m = 1; m < order; ++m)
      coupled(m * link);
    e.loop(0, e.index(at.getCount()), 1, [&](Num p) {
      Num u = couplings.load(p), weight = u; // u^m / m!
      Num first = p * at.getStep() + at.getFirst();
      for (int64_t m = 1; m < order; ++m) {
        if (m > 1)
          weight = weight * u * (1.0 / double(m));
        for (int64_t l = m; l < order; ++l)
          coupled(m * link).store(
              first + l * link, weight * factors.load(first + (l - m) * link));
      }
    });
  }

  void apply(Pointer from, Pointer to, int64_t lanes) const {
    auto piece = [&](Num d, int64_t n) {
      Num sum = from.load(d, n) * factors.load(d, n);
      for (const auto &[apart, weights] : couples) {
        // What lies there may be of another row: only where it counts.
        Num weight = weights.load(d, n);
        Num other = select(weight != 0.0, from.load(d - apart, n), 0.0);
        sum = fma(weight, other, sum);
      }
      to.store(d, sum);
    };
    int64_t whole = head / lanes * lanes;
    e.loop(0, e.index(whole), lanes, [&](Num d) { piece(d, lanes); });
    e.loop(whole, e.index(head), 1, [&](Num d) { piece(d, 1); });
  }

  Pointer factors;

private:
  /// The weights of what lies `apart` lanes before; 0 elsewhere.
  Pointer coupled(int64_t apart) {
    for (const auto &[known, weights] : couples)
      if (known == apart)
        return weights;
    Pointer weights = frameSlots(e, e.f32, head);
    e.fill(weights, e.index(head * 4), 0);
    couples.push_back({apart, weights});
    return weights;
  }

  Emitter &e;
  int64_t head;
  SmallVector<std::pair<int64_t, Pointer>> couples;
};

} // namespace

void Anchors::emitRows(Num begin) const {
  int64_t head = c.layout.head, lanes = c.lanes();
  Place place = block.place(c, indices, e.index(0));
  auto time = [&](int64_t slot) {
    return loadSlot(e, c.rowSlots[slot], e.index(0), 1,
                    c.layout.rowSlots[slot]);
  };
  auto anchor = [&](BlockAttr each) {
    return anchorOf(blocks, each, anchorsOf(begin));
  };
  Action action = {blocks, /*onQuery=*/true, head, time, Num()};
  action.anchor = anchor;
  RowMatrix matrix(e, head);
  // What fades commutes with the chains: the factors first.
  for (BlockAttr each : blocks)
    if (each.getKind() == BlockKind::Decay)
      emitStep(e, lanes, action, each, c.tables, place, matrix.factors);
  for (BlockAttr each : blocks) {
    if (each.getKind() != BlockKind::Jordan)
      continue;
    Pointer couplings = frameSlots(e, e.f32, each.getLanes().getCount());
    emitFactors(e, lanes, action, each, c.tables, place, couplings);
    matrix.addChain(each, couplings);
  }
  e.loop(0, used, 1, [&](Num row) {
    matrix.apply(relative(row), c.anchoredQueries + row * head, lanes);
  });
}

} // namespace torsor
