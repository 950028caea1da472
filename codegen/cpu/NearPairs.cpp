// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pair regions in 32 bits, for tiles whose positions lie near 0.
#include "codegen/cpu/NearPairs.h"

#include "passes/NarrowPair.h"
#include "passes/PairRanges.h"

using namespace mlir;

namespace torsor {

/// Sums and differences of a few such positions stay within 32 bits.
static constexpr int64_t farthest = int64_t(1) << 29;

/// Whether a pair region reads a slot of 64 bits.
static bool readsWideSlots(AttentionOp op, unsigned slots) {
  return llvm::any_of(getPairBlocks(op), [&](Block *block) {
    return llvm::any_of(
        block->getArguments().take_back(slots), [](BlockArgument argument) {
          return argument.getType().isInteger(64) && !argument.use_empty();
        });
  });
}

NearPairs::NearPairs(AttentionOp op) {
  SmallVector<IntRange> known = getSlotRanges(op);
  rowSlots = op.getRows().front().back().getNumOperands();
  if (!readsWideSlots(op, known.size()))
    return;
  near = cast<AttentionOp>(op->clone());
  auto limit = [&](StringRef name, int64_t low, int64_t high) {
    auto given = op->getAttrOfType<IntegerAttr>(name);
    int64_t value = given                    ? given.getInt()
                    : name == "position_low" ? low
                                             : high;
    Builder b(op.getContext());
    near.get()->setAttr(name,
                        b.getI64IntegerAttr(std::clamp(value, low, high)));
  };
  limit("position_low", -farthest, farthest);
  limit("position_high", -farthest, farthest);
  for (auto [slot, range] : llvm::enumerate(getSlotRanges(near.get())))
    if (!(range == known[slot]))
      limits.push_back({unsigned(slot), range});
  unsigned count = 0;
  for (Block *block : getPairBlocks(near.get())) {
    count += NarrowBlock(near.get(), *block).run();
    eraseUnused(*block);
  }
  if (!count)
    near = {};
}

Num NearPairs::hold(Emitter &e, ArrayRef<Bounds> rows,
                    ArrayRef<Bounds> columns) const {
  Num all = e.constant(e.i1, int64_t(1));
  for (const Limit &limit : limits) {
    const Bounds &bounds = limit.slot < rowSlots
                               ? rows[limit.slot]
                               : columns[limit.slot - rowSlots];
    Num low = e.convert(bounds.low, e.i64),
        high = e.convert(bounds.high, e.i64);
    all = all & (low >= limit.range.low) & (high <= limit.range.high);
  }
  return all;
}

} // namespace torsor
