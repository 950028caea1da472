// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Biases that depend on the age of a pair alone, tabulated once a call.
#include "codegen/cpu/BiasTable.h"

using namespace mlir;

namespace torsor {

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

Num BiasTable::items(const Call &call) const {
  return present ? call.heads : e.index(0);
}

Num BiasTable::holds(const Indices &indices) const {
  return indices.mapsHold & indices.queries.isAbsent();
}

void BiasTable::fill(const TileContext &c, const Indices &indices,
                     Pointer table, Num head) const {
  e.when(holds(indices), [&] {
    const Sequence &sequence = c.place.sequence;
    Place place = c.place;
    place.head = head;
    int64_t lanes = c.lanes();
    Num count = entries(sequence);
    // Age of the first entry: the last query and the first key.
    Num oldest =
        sequence.queryIndex + sequence.queryLength - 1 - sequence.keyIndex;
    Pointer row = table + head * count;
    e.loop(0, count, lanes, [&](Num at) {
      Num ages = e.splat(oldest - at, lanes) - e.iota(e.i64, lanes);
      Nums arguments = {ages, head, sequence.batchNumber, sequence.total};
      Num start = cloneRegion(op.getToeplitz(), arguments, c.tables, place)[0];
      row.store(at, start.isVector() ? start : e.splat(start, lanes));
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
