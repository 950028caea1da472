// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a row is divided by: the sum of its terms, and row slots.
#include "passes/KernelRegions.h"

using namespace mlir;

namespace torsor {

RowCode::RowCode(KernelRegions &regions, Block *block, Location loc)
    : ScalarCode(regions.plan, block, loc), regions(regions), block(block),
      total(block->addArgument(b.getF32Type(), loc)) {}

FailureOr<Value> RowCode::leaf(Value value) {
  Operation *op = value.getDefiningOp();
  VarySet set = plan.varies.of(value);
  if (!op || set.empty())
    return Value();
  if (auto ambient = dyn_cast<AmbientOp>(op);
      ambient && ambient.getKind() == Ambient::Total)
    return total;
  if (!set.isRow() || !value.getType().isIntOrFloat())
    return Value();
  Type type = value.getType();
  if (type.isF64())
    type = b.getF32Type();
  int64_t slot = regions.rows.slot(value, type);
  if (slot < 0)
    return failure();
  BlockArgument &argument = taken[slot];
  if (!argument)
    argument = block->addArgument(regions.rows.slots[slot].here.getType(), loc);
  return Value(argument);
}

Value RowCode::read(ReadOp op, ValueRange) {
  return fail(op, "a divisor that picks from a tensor by the sum of a row");
}

Value RowCode::pick(ElementOp op, Value) {
  return fail(op, "a divisor that picks from a vector by the sum of a row");
}

bool RowCode::yield(Value value) {
  Value here = get(value, b.getF32Type());
  if (!here)
    return false;
  YieldOp::create(b, loc, here);
  return true;
}

void RowCode::finish() {
  unsigned before = block->getNumArguments();
  for (auto [n, slot] : llvm::enumerate(regions.rows.slots)) {
    BlockArgument argument = block->addArgument(slot.here.getType(), loc);
    if (BlockArgument used = taken.lookup(int64_t(n)))
      used.replaceAllUsesWith(argument);
  }
  block->eraseArguments(1, before - 1);
}

} // namespace torsor
