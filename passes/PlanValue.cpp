// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that are lanes of the key: what the action on keys means for them.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"

using namespace mlir;

namespace torsor {
namespace {

/// Lanes of the key in which v lies.
struct ValueLanes {
  int64_t low, count;
  bool has(int64_t lane) const { return lane >= low && lane < low + count; }
};

/// Times are read anew where they stand.
bool isSameTime(Value a, Value b) {
  if (a == b)
    return true;
  auto x = a.getDefiningOp<TimeOp>(), y = b.getDefiningOp<TimeOp>();
  if (!x || !y)
    return false;
  auto s = x.getToken().getDefiningOp<TokenOp>();
  auto t = y.getToken().getDefiningOp<TokenOp>();
  return x.getClock() == y.getClock() && x.getMember() == y.getMember() && s &&
         t && s.getSide() == t.getSide();
}

bool isSameTurn(const PlannedPair &key, const PlannedPair &value) {
  Value a = frequencyOf(*key.unit), b = frequencyOf(*value.unit);
  auto x = constantReal(a, key.unit->index);
  auto y = constantReal(b, value.unit->index);
  bool isSame =
      x && y ? *x == *y : a == b && key.unit->index == value.unit->index;
  return isSame && isSameTime(key.unit->timeQ, value.unit->timeQ) &&
         isSameTime(key.unit->timeK, value.unit->timeK);
}

/// Does `blocks` do to the lanes of v what `valueBlocks` does to v?
bool actAlike(const PlannedBranch &blocks, const PlannedBranch &valueBlocks,
              ValueLanes value) {
  SmallVector<const PlannedPair *> left;
  for (const PlannedBlock &block : valueBlocks)
    for (const PlannedPair &pair : block.pairs)
      if (pair.acts())
        left.push_back(&pair);
  for (const PlannedBlock &block : blocks)
    for (const PlannedPair &pair : block.pairs) {
      bool meets = llvm::any_of(pair.lanes,
                                [&](int64_t lane) { return value.has(lane); });
      bool isStill = pair.kind == BlockKind::Zero && pair.gainK == 1;
      if (!meets || isStill)
        continue;
      if (pair.kind != BlockKind::Turn || pair.gainK != 1)
        return false;
      auto at = llvm::find_if(left, [&](const PlannedPair *other) {
        return other->kind == BlockKind::Turn &&
               other->first + value.low == pair.first &&
               other->second + value.low == pair.second &&
               isSameTurn(pair, *other);
      });
      if (at == left.end())
        return false;
      left.erase(at);
    }
  return left.empty();
}

/// Are the lanes of v in an acted key what they were?
bool areUntouched(SchemePlan &plan, ValueLanes value) {
  if (plan.norm)
    return false;
  for (int64_t lane = value.low; lane < value.low + value.count; ++lane)
    if (!plan.gainK.empty() && constantReal(plan.gainK[lane]) != 1.0)
      return false;
  for (const PlannedBlock &block : plan.blocks)
    for (const PlannedPair &pair : block.pairs)
      if ((pair.kind != BlockKind::Zero || pair.gainK != 1) &&
          llvm::any_of(pair.lanes,
                       [&](int64_t lane) { return value.has(lane); }))
        return false;
  return true;
}

} // namespace

void planValueInKey(SchemePlan &plan) {
  if (plan.valueLow < 0 || !plan.keysActed)
    return;
  ValueLanes value = {plan.valueLow, plan.value};
  if (areUntouched(plan, value))
    return;
  bool isPlain = !plan.norm && plan.gainK.empty() && plan.valueAction;
  if (isPlain && actAlike(plan.blocks, plan.valueBlocks, value)) {
    plan.valuesActed = true;
    return;
  }
  plan.keysActed = false;
  plan.whyRaw = "values are lanes of the key as it comes, which norm or action "
                "would change";
}

} // namespace torsor
