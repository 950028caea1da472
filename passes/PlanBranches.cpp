// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The branches of an action: one list of blocks for each way its choices fall.
#include "passes/FormKernels.h"
#include "passes/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace torsor {
namespace {

/// The most branches that kernels hold side by side.
constexpr int64_t maxBranches = 6;

/// The first choice above a unit that is still open, null if none is.
ChooseOp openChoice(const ActionUnit &unit,
                    const llvm::DenseMap<Value, bool> &chosen) {
  for (Operation *op : unit.within)
    if (auto choose = dyn_cast<ChooseOp>(op))
      if (!chosen.contains(choose.getCondition()))
        return choose;
  return {};
}

/// Plans the branches below what is chosen so far; gives the number of the
/// branch of a pair.
class ChoicePlanner {
public:
  explicit ChoicePlanner(SchemePlan &plan)
      : plan(plan), b(OpBuilder::atBlockEnd(&plan.scheme.getBody().front())) {}

  FailureOr<Value> descend(llvm::DenseMap<Value, bool> chosen);

private:
  SchemePlan &plan;
  OpBuilder b;
};

/// Does the unit stand in what is chosen?
bool isChosen(const ActionUnit &unit,
              const llvm::DenseMap<Value, bool> &chosen) {
  for (auto [op, operand] : llvm::zip(unit.within, unit.branch))
    if (auto choose = dyn_cast<ChooseOp>(op))
      if (auto at = chosen.find(choose.getCondition());
          at != chosen.end() && at->second != (operand == 0))
        return false;
  return true;
}

FailureOr<Value> ChoicePlanner::descend(llvm::DenseMap<Value, bool> chosen) {
  for (const ActionUnit &unit : plan.action.units) {
    if (!isChosen(unit, chosen))
      continue;
    ChooseOp choose = openChoice(unit, chosen);
    if (!choose)
      continue;
    Value condition = choose.getCondition();
    chosen[condition] = true;
    FailureOr<Value> then = descend(chosen);
    chosen[condition] = false;
    FailureOr<Value> otherwise = descend(chosen);
    if (failed(then) || failed(otherwise))
      return failure();
    return Value(arith::SelectOp::create(b, choose.getLoc(), condition, *then,
                                         *otherwise));
  }
  if (int64_t(plan.branches.size()) == maxBranches)
    return (void)noKernel(plan.scheme.getLoc(), "an action of more than " +
                                                    Twine(maxBranches) +
                                                    " regions"),
           failure();
  SmallVector<const ActionUnit *> units;
  for (const ActionUnit &unit : plan.action.units)
    if (isChosen(unit, chosen))
      units.push_back(&unit);
  FailureOr<PlannedBranch> branch = planBranch(plan, units);
  if (failed(branch))
    return failure();
  plan.branches.push_back(std::move(*branch));
  return Value(arith::ConstantOp::create(
      b, plan.scheme.getLoc(),
      b.getI64IntegerAttr(int64_t(plan.branches.size()) - 1)));
}

} // namespace

/// Values are acted on whenever they are read: a cache holds them as they come.
static LogicalResult planValueAction(SchemePlan &plan) {
  FailureOr<ActionForm> form = flattenAction(plan.valueAction.getAction());
  if (failed(form))
    return failure();
  plan.valueForm = std::move(*form);
  if (plan.valueForm.width != plan.value)
    return plan.valueAction.emitError("the action on values is ")
           << plan.valueForm.width << " lanes wide, but a value is "
           << plan.value;
  SmallVector<const ActionUnit *> units;
  for (const ActionUnit &unit : plan.valueForm.units) {
    for (Operation *op : unit.within)
      if (!isa<ProductOp>(op))
        return noKernel(op->getLoc(), "values under the combinator '" +
                                          op->getName().stripDialect() + "'");
    if (!isa<ZeroOp, TurnOp, PlaneOp>(unit.block))
      return noKernel(unit.block->getLoc(),
                      "values under the block '" +
                          unit.block->getName().stripDialect() + "'");
    units.push_back(&unit);
  }
  FailureOr<PlannedBranch> blocks = planBranch(plan, units, true);
  if (failed(blocks))
    return failure();
  plan.valueBlocks = std::move(*blocks);
  return success();
}

LogicalResult planBlocks(SchemePlan &plan) {
  if (failed(expandChains(plan.action)))
    return failure();
  FailureOr<Value> number =
      ChoicePlanner(plan).descend(llvm::DenseMap<Value, bool>());
  if (failed(number))
    return failure();
  if (plan.branches.size() > 1) {
    plan.branchNumber = *number;
    plan.whyRaw = "the key side differs between regions of displacement";
  }
  if (!plan.whyRaw.empty())
    plan.keysActed = false;
  for (const PlannedBranch &branch : plan.branches)
    plan.blocks.append(branch.begin(), branch.end());
  return plan.valueAction ? planValueAction(plan) : success();
}

} // namespace torsor
