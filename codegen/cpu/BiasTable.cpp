// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Biases that depend on the age of a pair alone, tabulated once a call.
#include "codegen/cpu/BiasTable.h"

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

Num BiasTable::holds(const Indices &indices) const {
  return indices.mapsHold & indices.queries.isAbsent();
}

void BiasTable::fill(const TileContext &c, const Indices &indices,
                     Pointer table, Num stretch) const {
  e.when(holds(indices), [&] {
    const Sequence &sequence = c.place.sequence;
    int64_t lanes = c.lanes();
    Num count = entries(sequence), begin = stretch * stretchEntries;
    // Age of the first entry: the last query and the first key.
    Num oldest =
        sequence.queryIndex + sequence.queryLength - 1 - sequence.keyIndex;
    e.loop(begin, min(begin + stretchEntries, count), lanes, [&](Num at) {
      Num ages = e.splat(oldest - at, lanes) - e.iota(e.i64, lanes);
      e.loop(0, c.tables.call.heads, 1, [&](Num head) {
        Place place = c.place;
        place.head = head;
        Nums arguments = {ages, head, sequence.batchNumber, sequence.total};
        Num start =
            cloneRegion(op.getToeplitz(), arguments, c.tables, place)[0];
        (table + head * count)
            .store(at, start.isVector() ? start : e.splat(start, lanes));
      });
    });
  });
}

void BiasTable::place(TileContext &c, const Indices &indices,
                      Pointer table) const {
  if (!present)
    return;
  c.biasTable = table;
  c.biasEntries = entries(c.place.sequence);
  c.biasHolds = holds(indices);
}

} // namespace torsor
