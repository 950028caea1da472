// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Biases that depend on the age of a pair alone, tabulated once a call.
#include "codegen/cpu/BiasTable.h"

#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

/// Entries of an item: a multiple of every vector's lanes.
static constexpr int64_t stretchEntries = 512;

BiasTable::BiasTable(Emitter &e, AttentionOp op, const TileLayout &layout)
    : e(e), op(op), layout(layout),
      present(!op.getToeplitz().empty() && !op.getInit().empty() &&
              op.getPlan().getForm() == PlanForm::Tiled) {}

Num BiasTable::entries(const Sequence &sequence) const {
  // Tiles read whole panels.
  return alignUp(sequence.queryLength + layout.paddedKeys(sequence.keyLength),
                 16);
}

Num BiasTable::bytes(const Call &call, const Sequence &sequence) const {
  return present ? entries(sequence) * call.heads * 4 : e.index(0);
}

Num BiasTable::items(const Call &call, const Sequence &sequence) const {
  return present ? ceilDiv(entries(sequence), stretchEntries) : e.index(0);
}

Num BiasTable::holds(const TableReader &tables, const Indices &indices) const {
  Num areIndices = indices.mapsHold & indices.queries.isAbsent();
  return op.getAgeOfPositions() ? areIndices & tables.positionsAreIndices()
                                : areIndices;
}

/// The least age that some query sees, where it is a constant.
static std::optional<int64_t> leastAge(AttentionOp op) {
  std::optional<int64_t> least;
  for (auto interval : op.getVisible().getAsRange<IntervalAttr>()) {
    std::optional<int64_t> beyond; // keys below the query's index and this
    for (AffineExpr end : interval.getUpper().getResults()) {
      AffineExpr apart = end - getAffineDimExpr(1, op.getContext());
      if (auto constant = dyn_cast<AffineConstantExpr>(apart))
        beyond = beyond ? std::min(*beyond, constant.getValue())
                        : constant.getValue();
    }
    if (!beyond)
      return std::nullopt;
    least = std::min(least.value_or(1 - *beyond), 1 - *beyond);
  }
  return least;
}

void BiasTable::fill(const TileContext &c, const Indices &indices,
                     Pointer table, Num stretch) const {
  e.when(holds(c.tables, indices), [&] {
    const Sequence &sequence = c.place.sequence;
    int64_t lanes = c.lanes();
    Num count = entries(sequence), begin = stretch * stretchEntries;
    Num end = min(begin + stretchEntries, count), seen = end;
    // Age of the first entry: the last query and the first key.
    Num oldest =
        sequence.queryIndex + sequence.queryLength - 1 - sequence.keyIndex;
    if (auto least = leastAge(op)) // ages that nobody sees may be dear: 0
      seen = max(min(oldest + (1 - *least), end), begin);
    auto store = [&](Num head, Num at, Num start) {
      (table + head * count)
          .store(at, start.isVector() ? start : e.splat(start, lanes));
    };
    e.loop(begin, seen, lanes, [&](Num at) {
      Num ages = e.splat(oldest - at, lanes) - e.iota(e.i64, lanes);
      Nums arguments = {ages, Num(), sequence.batchNumber, sequence.total};
      SharedResults shared =
          evaluateShared(op.getToeplitz(), arguments, c.tables, c.place);
      auto known = [&](Operation &op, ArrayRef<Num>) {
        return shared.lookup(&op);
      };
      e.loop(0, c.tables.call.heads, 1, [&](Num head) {
        Place place = c.place;
        place.head = arguments[1] = head;
        store(head, at,
              cloneRegion(op.getToeplitz(), arguments, c.tables, place,
                          known)[0]);
      });
    });
    e.loop(begin + alignUp(seen - begin, lanes), end, lanes, [&](Num at) {
      e.loop(0, c.tables.call.heads, 1,
             [&](Num head) { store(head, at, e.real(0.0)); });
    });
  });
}

void BiasTable::place(TileContext &c, const Indices &indices,
                      Pointer table) const {
  if (!present)
    return;
  c.biasTable = table;
  c.biasEntries = entries(c.place.sequence);
  c.biasHolds = holds(c.tables, indices);
}

} // namespace torsor
