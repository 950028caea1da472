// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the units of an action to the blocks of a kernel: groups of pairs with
// the same times and gains, at lanes in equal steps.
#include "passes/PlanBlocks.h"

#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

/// The gain of a unit on one side, one number for all its lanes.
FailureOr<double> gainOf(const ActionUnit &unit, bool key, size_t lane) {
  double gain = 1;
  for (Value by : unit.by) {
    std::optional<double> constant = constantReal(by);
    if (!constant)
      return noKernel(by.getLoc(), "a gain that is not a constant");
    gain *= *constant;
  }
  const auto &gains = key ? unit.gainK : unit.gainQ;
  for (size_t g = lane; g < gains.size(); g += unit.lanes.size()) {
    std::optional<double> constant =
        constantReal(gains[g].first, gains[g].second);
    if (!constant)
      return noKernel(gains[g].first.getLoc(),
                      "gains per lane that are not constants");
    gain *= *constant;
  }
  return gain;
}

/// What a frequency's table can hold it as, and where it varies.
VarySet frequencySet(SchemePlan &plan, const ActionUnit &unit) {
  Value frequency = frequencyOf(unit);
  return frequency ? plan.varies.of(frequency) : VarySet();
}

bool isMoving(SchemePlan &plan, Value time) {
  SmallVector<Value> work = {time};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto clock = dyn_cast<ClockOp>(op); clock && clock.getMoving())
      return true;
    work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

LogicalResult checkUnit(SchemePlan &plan, const ActionUnit &unit) {
  Location loc = unit.block->getLoc();
  if (!unit.within.empty()) {
    Operation *op = unit.within.front();
    return noKernel(op->getLoc(),
                    "the combinator '" + op->getName().stripDialect() + "'");
  }
  if (isa<ZeroOp>(unit.block))
    return success();
  if (!isa<TurnOp>(unit.block))
    return noKernel(loc,
                    "the block '" + unit.block->getName().stripDialect() + "'");
  VarySet set = frequencySet(plan, unit);
  if (set.has(VarySet::Head))
    return noKernel(loc, "frequencies that vary by the query head, since keys "
                         "are shared by the heads of a group");
  if (!set.isUniform())
    return noKernel(loc, "frequencies that vary by a token");
  for (Value time : {unit.timeQ, unit.timeK})
    if (!time.getType().isIntOrFloat())
      return noKernel(time.getLoc(), "a family of clocks");
  if (!plan.varies.of(unit.timeQ).isRow())
    return noKernel(unit.timeQ.getLoc(), "a query's time that reads contents");
  if (plan.varies.of(unit.timeK).has(VarySet::Head))
    return noKernel(unit.timeK.getLoc(),
                    "a key's time that varies by the query head, since keys "
                    "are shared by the heads of a group");
  if (!plan.varies.of(unit.timeK).isColumn())
    return noKernel(unit.timeK.getLoc(), "a key's time that reads contents");
  return success();
}

/// Why cached keys cannot be acted on, for one unit; empty if they can.
std::string whyRaw(SchemePlan &plan, const ActionUnit &unit) {
  VarySet set = frequencySet(plan, unit) | plan.varies.of(unit.timeK);
  for (Value by : unit.by)
    set = set | plan.varies.of(by);
  if (set.has(VarySet::Sequence))
    return "the key side varies by the sequence";
  if (set.has(VarySet::Call | VarySet::Size))
    return "the key side varies by the call";
  if (isMoving(plan, unit.timeK))
    return "the key side reads a moving clock";
  return "";
}

/// Cuts pairs at the same times and gains into runs of equal steps.
void cutRuns(ArrayRef<PlannedPair> pairs, SmallVectorImpl<PlannedBlock> &out) {
  for (size_t begin = 0; begin < pairs.size();) {
    PlannedBlock block;
    int64_t step = 1;
    size_t end = begin + 1;
    if (end < pairs.size() && pairs[end].first - pairs[begin].first ==
                                  pairs[end].second - pairs[begin].second)
      step = pairs[end].first - pairs[begin].first;
    while (end < pairs.size() &&
           pairs[end].first == pairs[end - 1].first + step &&
           (pairs[end].second == pairs[end - 1].second + step ||
            pairs[end].second < 0))
      ++end;
    block.pairs.assign(pairs.begin() + begin, pairs.begin() + end);
    block.step = step;
    out.push_back(std::move(block));
    begin = end;
  }
}

} // namespace

Value frequencyOf(const ActionUnit &unit) {
  auto turn = dyn_cast<TurnOp>(unit.block);
  if (!turn)
    return {};
  if (auto list = turn.getFrequencies().getDefiningOp<ListOp>())
    return list.getElements()[unit.index];
  return turn.getFrequencies();
}

LogicalResult planBlocks(SchemePlan &plan) {
  SmallVector<PlannedPair> pairs;
  for (const ActionUnit &unit : plan.action.units) {
    if (isa<UnipotentOp>(unit.block)) // starts the accumulator instead
      continue;
    if (failed(checkUnit(plan, unit)))
      return failure();
    bool isTurn = isa<TurnOp>(unit.block);
    size_t lanes = isTurn ? 1 : unit.lanes.size();
    for (size_t lane = 0; lane < lanes; ++lane) {
      FailureOr<double> q = gainOf(unit, false, lane);
      FailureOr<double> k = gainOf(unit, true, lane);
      if (failed(q) || failed(k))
        return failure();
      PlannedPair pair;
      pair.unit = &unit;
      pair.gainQ = *q;
      pair.gainK = *k;
      pair.first = unit.lanes[lane];
      pair.second = isTurn ? unit.second() : -1;
      if (isTurn) {
        FailureOr<double> q2 = gainOf(unit, false, 1),
                          k2 = gainOf(unit, true, 1);
        if (failed(q2) || failed(k2))
          return failure();
        if (*q2 != *q || *k2 != *k)
          return noKernel(unit.block->getLoc(),
                          "gains that differ between the lanes of a pair");
        pair.frequency = frequencySet(plan, unit);
        pair.isReal =
            unit.timeQ.getType().isF64() || unit.timeK.getType().isF64();
        if (plan.whyRaw.empty())
          plan.whyRaw = whyRaw(plan, unit);
      } else if (*q == 1 && *k == 1) {
        continue; // lanes in no block pass
      }
      plan.keysActed |= isTurn || *k != 1;
      pairs.push_back(pair);
    }
  }
  if (!plan.whyRaw.empty())
    plan.keysActed = false;

  llvm::sort(pairs, [](const PlannedPair &a, const PlannedPair &b) {
    return a.first < b.first;
  });
  SmallVector<SmallVector<PlannedPair>> groups;
  for (const PlannedPair &pair : pairs) {
    auto group = llvm::find_if(groups, [&](ArrayRef<PlannedPair> other) {
      return pair.isAlike(other.front());
    });
    if (group == groups.end())
      groups.push_back({pair});
    else
      group->push_back(pair);
  }
  for (ArrayRef<PlannedPair> group : groups)
    cutRuns(group, plan.blocks);
  return success();
}

} // namespace torsor
