// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Norms and gains by lane, and what terms that read contents mean for a cache.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {
namespace {

/// Does what kernels compute read k, or a product of q and k as such?
bool readsKeys(SchemePlan &plan) {
  SmallVector<Value> work;
  for (Value root : {plan.mask, plan.init, plan.logit, plan.valueRow})
    if (root)
      work.push_back(root);
  for (const PlannedBlock &block : plan.blocks)
    if (block.pairs.front().acts())
      work.push_back(block.pairs.front().unit->timeK);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto vector = dyn_cast<VectorOp>(op);
        vector && vector.getSide() == Side::Key)
      return true;
    if (auto dot = dyn_cast<TableDotOp>(op); dot && dot.getSide() == Side::Key)
      return true;
    work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// The lanes of the weights of a norm on one side.
LogicalResult takeWeights(SchemePlan &plan, Value vector,
                          SmallVectorImpl<Value> &weights) {
  if (!vector)
    return success();
  auto list = vector.getDefiningOp<ListOp>();
  int64_t width = cast<RankedTensorType>(vector.getType()).getDimSize(0);
  if (!list || width != plan.head)
    return emitError(vector.getLoc())
           << "the weights of a norm must be as many as the lanes of a head, "
           << plan.head;
  llvm::append_range(weights, list.getElements());
  for (Value weight : weights)
    if (!plan.varies.of(weight).isUniform())
      return noKernel(weight.getLoc(),
                      "weights of a norm that vary by a token");
  return success();
}

} // namespace

LogicalResult planLanes(SchemePlan &plan) {
  if (plan.norm && (failed(takeWeights(plan, plan.norm.getQ(), plan.normQ)) ||
                    failed(takeWeights(plan, plan.norm.getK(), plan.normK))))
    return failure();
  VarySet set;
  for (Value lane : llvm::concat<Value>(plan.normK, plan.gainK))
    set = set | plan.varies.of(lane);
  plan.keysByHead |= set.has(VarySet::Head);
  bool acts = plan.keysActed || !plan.gainK.empty();
  if (plan.whyRaw.empty()) {
    if (set.has(VarySet::Head))
      plan.whyRaw =
          "weights of keys vary by the query head, and keys are shared "
          "by the heads of a group";
    else if (!set.isBound())
      plan.whyRaw = "weights of keys vary by the call";
    else if (acts && readsKeys(plan))
      plan.whyRaw = "a term reads the contents of keys";
  }
  plan.keysActed = plan.whyRaw.empty() && (acts || plan.norm);
  return success();
}

} // namespace torsor
