// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the attention kernels keep what, and how they are cut into tiles.
#include "codegen/cpu/TileLayout.h"

using namespace mlir;

namespace torsor {

/// Cuts `vectors` vectors of a row of v into panels of at most `most`, as even
/// as they can be.
static SmallVector<ValuePanels, 2> cutValues(int64_t vectors, int64_t most) {
  int64_t count = (vectors + most - 1) / most;
  int64_t wide = (vectors + count - 1) / count;
  int64_t wideCount = vectors - (wide - 1) * count;
  SmallVector<ValuePanels, 2> panels = {{0, wideCount, wide}};
  if (wideCount < count)
    panels.push_back({wideCount * wide, count - wideCount, wide - 1});
  return panels;
}

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Type TileLayout::storedSlot(Type slot) {
  return slot.isInteger(1) ? IntegerType::get(slot.getContext(), 32) : slot;
}

TileLayout::TileLayout(AttentionOp op, const Target &target)
    : lanes(target.lanes), rowTile(target.rowTile), panel(target.panel()),
      keys(roundUp(op.getPlan().getKeys(), target.panel())),
      head(widthOf(op.getQ())), value(widthOf(op.getV())),
      valueVectors((value + lanes - 1) / lanes),
      valuePanels(cutValues(valueVectors, target.vectorTile)),
      rowSlots(yieldedTypes(op.getRows())),
      columnSlots(yieldedTypes(op.getColumns())),
      visibleRanges(op.getVisible().size()), fullRanges(op.getFull().size()) {
  // Whole register tiles, and whole vectors of row statistics.
  rows = roundUp(op.getPlan().getRows(), std::lcm(rowTile, lanes));
  int64_t at = 0;
  auto take = [&](int64_t bytes) {
    int64_t begin = at;
    at = roundUp(at + bytes, 64);
    return begin;
  };
  queries = take(rows * head * 4);
  scores = take(rows * keys * 4);
  outputs = take(rows * valueWidth() * 4);
  rowMax = take(rows * lanes * 4);
  rowSum = take(rows * lanes * 4);
  maxima = take(rows * 4);
  alphas = take(rows * 4);
  indices = take(rows * 8);
  rowTokens = take(rows * 8);
  groupRanges = take(groups() * groupWords() * 8);
  slotBytes = roundUp(rows * 8, 64);
  slots = take(slotBytes * rowSlots.size());
  scratchBytes = at;
}

Num TileLayout::groupBytes(Emitter &e, Num keyCount) const {
  int64_t perKey = (head + valueWidth()) * 4 + 4;
  for (Type slot : columnSlots)
    perKey += storedSlot(slot).getIntOrFloatBitWidth() / 8;
  return alignUp(paddedKeys(keyCount) * perKey +
                     tiles(keyCount) * (tileBoundsWords() * 8),
                 64);
}

void TileContext::placeGroup(Pointer base) {
  padded = layout.paddedKeys(keyCount);
  auto take = [&](Type element, Num count) {
    Pointer here = base.as(element);
    base = (here + count).as(e.i8);
    return here;
  };
  keys = take(e.f32, padded * layout.head);
  values = take(e.f32, padded * layout.valueWidth());
  keyIndices = take(e.i32, padded);
  columnSlots.clear();
  // Wide slots first, so that each lies at a multiple of its size.
  columnSlots.resize(layout.columnSlots.size());
  for (int64_t bytes : {8, 4})
    for (auto [n, slot] : llvm::enumerate(layout.columnSlots)) {
      Type stored = TileLayout::storedSlot(slot);
      if (stored.getIntOrFloatBitWidth() / 8 == bytes)
        columnSlots[n] = take(stored, padded);
    }
  tileBounds = take(e.i64, e.index(0));
}

void TileContext::placeScratch(Pointer scratch) {
  auto at = [&](int64_t offset, Type element) {
    return scratch.bytes(offset).as(element);
  };
  queries = at(layout.queries, e.f32);
  scores = at(layout.scores, e.f32);
  outputs = at(layout.outputs, e.f32);
  rowMax = at(layout.rowMax, e.f32);
  rowSum = at(layout.rowSum, e.f32);
  maxima = at(layout.maxima, e.f32);
  alphas = at(layout.alphas, e.f32);
  indices = at(layout.indices, e.i64);
  rowTokens = at(layout.rowTokens, e.i64);
  groupRanges = at(layout.groupRanges, e.i64);
  rowSlots.clear();
  for (auto [n, slot] : llvm::enumerate(layout.rowSlots))
    rowSlots.push_back(
        at(layout.slots + n * layout.slotBytes, TileLayout::storedSlot(slot)));
}

} // namespace torsor
