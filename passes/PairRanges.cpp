// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of the integers that a pair region takes.
#include "passes/PairRanges.h"

using namespace mlir;

namespace torsor {
namespace {

IntRange getPositionRange(AttentionOp op) {
  IntRange range;
  if (auto low = op->getAttrOfType<IntegerAttr>("position_low"))
    range.low = low.getInt();
  if (auto high = op->getAttrOfType<IntegerAttr>("position_high"))
    range.high = high.getInt();
  return range.low <= range.high ? range : IntRange();
}

/// Of `rows(i, s, h, b, n)` or `columns(j, t, g, b, n)`.
void appendSlots(AttentionOp op, Block &block, SmallVector<IntRange> &slots) {
  IntervalAnalysis ranges;
  for (BlockArgument argument : block.getArguments())
    ranges.setRange(argument, argument.getArgNumber() == 1
                                  ? getPositionRange(op)
                                  : IntRange{0, maxIndex});
  ranges.run(block);
  if (block.empty())
    return;
  for (Value slot : block.back().getOperands())
    slots.push_back(ranges.getRange(slot));
}

} // namespace

SmallVector<IntRange> getSlotRanges(AttentionOp op) {
  SmallVector<IntRange> slots;
  appendSlots(op, op.getRows().front(), slots);
  appendSlots(op, op.getColumns().front(), slots);
  return slots;
}

void setPairRanges(AttentionOp op, Block &block, IntervalAnalysis &ranges) {
  SmallVector<IntRange> slots = getSlotRanges(op);
  unsigned first = block.getNumArguments() - slots.size();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (number >= first)
      ranges.setRange(argument, slots[number - first]);
    else if (argument.getType().isInteger(32))
      ranges.setRange(argument, {0, maxIndex});
  }
}

} // namespace torsor
