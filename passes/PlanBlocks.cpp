// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the units of an action to the blocks of a kernel: groups of pairs with
// the same times and gains, at lanes in equal steps.
#include "passes/PlanBlocks.h"

#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"
#include "passes/PlainScheme.h"
#include "passes/UnitGains.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

/// The longest chain that is written out.
constexpr int64_t maxLinks = 32;

bool readsRunning(Value time) {
  return readsAny(time, [](Operation *op) { return isa<RunningOp>(op); });
}

LogicalResult checkTimes(SchemePlan &plan, const ActionUnit &unit) {
  for (Value time : {unit.timeQ, unit.timeK})
    if (!time.getType().isIntOrFloat())
      return noKernel(time.getLoc(), "a family of clocks");
  if (!plan.varies.of(unit.timeQ).isRow())
    return noKernel(unit.timeQ.getLoc(), "a query's time that reads contents");
  VarySet keySet = plan.varies.of(unit.timeK);
  if (keySet.has(VarySet::Content) || !keySet.without(VarySet::Head).isColumn())
    return noKernel(unit.timeK.getLoc(), "a key's time that reads contents");
  return success();
}

/// Why cached keys cannot be acted on, for one pair; empty if they can.
std::string whyRaw(SchemePlan &plan, const PlannedPair &pair) {
  if (pair.kind == BlockKind::Basis)
    return "";
  if (pair.kind == BlockKind::Decay || pair.kind == BlockKind::Jordan)
    return "the key side grows or fades, so that it is acted on relative to "
           "near tokens";
  VarySet set = pair.frequency | plan.varies.of(pair.unit->timeK);
  for (Value by : pair.unit->by)
    set = set | plan.varies.of(by);
  if (set.has(VarySet::Head))
    return "the key side varies by the query head, and keys are shared by the "
           "heads of a group";
  if (set.has(VarySet::Sequence))
    return "the key side varies by the sequence";
  if (set.has(VarySet::Call | VarySet::Size))
    return "the key side varies by the call";
  if (isMoving(pair.unit->timeK))
    return "the key side reads a moving clock";
  if (readsRunning(pair.unit->timeK))
    return "the key side reads a running sum, which lies beside the key";
  return "";
}

/// How many pairs act on a lane of `pair` already: factors of a product.
int layerOf(ArrayRef<PlannedPair> pairs, const PlannedPair &pair) {
  int layer = 0;
  for (const PlannedPair &other : pairs)
    if (other.layer >= layer && llvm::any_of(other.lanes, [&](int64_t lane) {
          return llvm::is_contained(pair.lanes, lane);
        }))
      layer = other.layer + 1;
  return layer;
}

/// The running sum of which both times are the same member, if it has several.
void setFamily(SchemePlan &plan, PlannedPair &pair) {
  auto q = pair.unit->timeQ.getDefiningOp<TimeOp>();
  auto k = pair.unit->timeK.getDefiningOp<TimeOp>();
  if (!q || !k || q.getClock() != k.getClock() ||
      q.getMember() != k.getMember() || !q.getMember())
    return;
  pair.family = q.getClock().getDefiningOp<RunningOp>();
  if (pair.family)
    pair.member = *q.getMember();
}

/// Gathers the pairs of one branch.
class BranchPlanner {
public:
  BranchPlanner(SchemePlan &plan, bool onValues)
      : plan(plan), onValues(onValues) {}

  LogicalResult add(const ActionUnit &unit);
  FailureOr<PlannedBranch> finish();

private:
  /// What all pairs of the block have in common.
  LogicalResult describe(const ActionUnit &unit, PlannedPair &base);
  LogicalResult addBases(const ActionUnit &unit);
  LogicalResult addPair(PlannedPair pair);
  Value inLog2(Value rate);

  SchemePlan &plan;
  bool onValues;
  SmallVector<PlannedPair> pairs;
  llvm::SmallPtrSet<Operation *, 4> bases;
};

Value BranchPlanner::inLog2(Value rate) {
  OpBuilder b = OpBuilder::atBlockEnd(&plan.scheme.getBody().front());
  Value factor = arith::ConstantOp::create(
      b, rate.getLoc(), b.getF64FloatAttr(1.4426950408889634));
  return arith::MulFOp::create(b, rate.getLoc(), rate, factor);
}

LogicalResult BranchPlanner::addBases(const ActionUnit &unit) {
  for (auto [op, lanes] : llvm::zip(unit.within, unit.withinLanes)) {
    auto basis = dyn_cast<BasisOp>(op);
    if (!basis || !bases.insert(op).second)
      continue;
    PlannedPair pair;
    pair.unit = &unit;
    pair.kind = BlockKind::Basis;
    pair.basis = basis;
    pair.lanes.assign(lanes.begin(), lanes.end());
    pair.first = lanes.front();
    if (failed(addPair(std::move(pair))))
      return failure();
  }
  return success();
}

LogicalResult BranchPlanner::addPair(PlannedPair pair) {
  if (pair.acts()) {
    // Lanes that fade by themselves come in numbers.
    if (pair.kind == BlockKind::Decay)
      setFamily(plan, pair);
    if (!pair.frequency.isUniform())
      return noKernel(pair.unit->block->getLoc(),
                      "frequencies that vary by a token");
    if (pair.frequency.has(VarySet::Head) ||
        plan.varies.of(pair.unit->timeK).has(VarySet::Head))
      plan.keysByHead = true;
  }
  if (!onValues) {
    if (pair.kind != BlockKind::Zero && plan.whyRaw.empty())
      plan.whyRaw = whyRaw(plan, pair);
    plan.keysActed |= pair.kind != BlockKind::Zero || pair.gainK != 1;
  }
  pair.layer = layerOf(pairs, pair);
  pairs.push_back(std::move(pair));
  return success();
}

LogicalResult BranchPlanner::describe(const ActionUnit &unit,
                                      PlannedPair &base) {
  Operation *op = unit.block;
  base.unit = &unit;
  if (isa<TurnOp>(op)) {
    base.kind = BlockKind::Turn;
    base.frequency = plan.varies.of(frequencyOf(unit));
  } else if (auto decay = dyn_cast<DecayOp>(op)) {
    base.kind = BlockKind::Decay;
    base.frequency = plan.varies.of(decay.getRate());
    base.rate = inLog2(decay.getRate());
  } else if (auto jordan = dyn_cast<JordanOp>(op);
             jordan && jordan.getOrder() == 1) {
    // Its base stands beside it; what is left is its gain.
  } else if (jordan) {
    if (!unit.gainQ.empty() || !unit.gainK.empty())
      return noKernel(op->getLoc(), "gains by lane on a chain");
    base.kind = BlockKind::Jordan;
    base.order = jordan.getOrder();
    if (base.order > maxLinks)
      return noKernel(op->getLoc(), "a chain of " + Twine(base.order) +
                                        " links; at most " + Twine(maxLinks));
    base.frequency = plan.varies.of(jordan.getCouple());
    base.rate = jordan.getCouple();
  } else if (auto plane = dyn_cast<PlaneOp>(op)) {
    base.kind = BlockKind::Plane;
    base.frequency = plan.varies.of(plane.getFrequency()) |
                     plan.varies.of(plane.getU()) |
                     plan.varies.of(plane.getV());
  } else if (!isa<ZeroOp>(op)) { // an operation of another dialect
    return noKernel(op->getLoc(),
                    "the block '" + op->getName().stripDialect() + "'");
  }
  if (base.acts())
    base.isReal = unit.timeQ.getType().isF64() || unit.timeK.getType().isF64();
  return success();
}

/// The lanes of each pair of the block: all of a turn or a plane, one of each
/// link of a chain, else one.
static SmallVector<SmallVector<int64_t, 2>> lanesOf(const ActionUnit &unit,
                                                    const PlannedPair &base) {
  SmallVector<SmallVector<int64_t, 2>> all;
  if (base.kind == BlockKind::Turn || base.kind == BlockKind::Plane) {
    all.push_back(unit.lanes);
    return all;
  }
  int64_t links = base.kind == BlockKind::Jordan ? base.order : 1;
  int64_t stride = unit.lanes.size() / links;
  for (int64_t lane = 0; lane < stride; ++lane) {
    auto &lanes = all.emplace_back();
    for (int64_t link = 0; link < links; ++link)
      lanes.push_back(unit.lanes[link * stride + lane]);
  }
  return all;
}

LogicalResult BranchPlanner::add(const ActionUnit &unit) {
  Operation *op = unit.block;
  if (isa<UnipotentOp>(op)) // starts the accumulator instead
    return success();
  if (failed(addBases(unit)))
    return failure();
  PlannedPair base;
  if ((!isa<ZeroOp>(op) && failed(checkTimes(plan, unit))) ||
      failed(describe(unit, base)))
    return failure();
  bool behind = hasLaneGains(unit);
  if (behind) {
    if (!unit.within.empty() || plan.branches.size() || isa<PlaneOp>(op))
      return noKernel(op->getLoc(), "gains by lane, or known only at run time, "
                                    "on a product of actions or on a plane");
    addLaneGains(plan, unit, false);
    addLaneGains(plan, unit, true);
  }
  for (auto [lane, lanes] : llvm::enumerate(lanesOf(unit, base))) {
    FailureOr<double> q = behind ? 1 : gainOf(unit, false, lane);
    FailureOr<double> k = behind ? 1 : gainOf(unit, true, lane);
    if (failed(q) || failed(k))
      return failure();
    PlannedPair pair = base;
    pair.gainQ = *q;
    pair.gainK = *k;
    pair.first = lanes.front();
    if (base.kind == BlockKind::Turn || base.kind == BlockKind::Jordan)
      pair.second = lanes[1];
    pair.lanes = std::move(lanes);
    if (base.kind == BlockKind::Zero && *q == 1 && *k == 1)
      continue; // lanes in no block pass
    if (failed(addPair(std::move(pair))))
      return failure();
  }
  return success();
}

FailureOr<PlannedBranch> BranchPlanner::finish() {
  llvm::stable_sort(pairs, [](const PlannedPair &a, const PlannedPair &b) {
    return std::pair(a.layer, a.first) < std::pair(b.layer, b.first);
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
  PlannedBranch blocks;
  for (ArrayRef<PlannedPair> group : groups)
    cutRuns(group, blocks);
  return blocks;
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

FailureOr<PlannedBranch> planBranch(SchemePlan &plan,
                                    ArrayRef<const ActionUnit *> units,
                                    bool onValues) {
  BranchPlanner planner(plan, onValues);
  for (const ActionUnit *unit : units)
    if (failed(planner.add(*unit)))
      return failure();
  return planner.finish();
}

} // namespace torsor
