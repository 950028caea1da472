// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of a key's vector that a cache keeps beside it: a product for each
// head would cost decode as much as the scores, and make packed keys differ
// between the heads of a group.
#include "passes/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {

/// Is the value one number of a key's vector (and of a head) that stays what it
/// is: products of the vector with rows of params, and what follows from them?
static bool isKept(SchemePlan &plan, Value root) {
  constexpr uint16_t allowed = VarySet::Loaded | VarySet::Size | VarySet::Head |
                               VarySet::Group | VarySet::Key | VarySet::Content;
  if (!root.getType().isF64() || !plan.varies.of(root).hasOnly(allowed))
    return false;
  bool readsVector = false;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    auto dot = dyn_cast<TableDotOp>(op);
    bool isProduct = dot && plan.varies.of(dot.getIndex()).isUniform();
    readsVector |= isProduct;
    if (!isProduct &&
        !isa<AmbientOp, ParamOp, ReadOp, CountedOp, ElementOp, ListOp>(op) &&
        !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
            op->getDialect()))
      return false;
    work.append(op->operand_begin(), op->operand_end());
  }
  return readsVector;
}

void planKept(SchemePlan &plan) {
  // Products of a norm are those of the vector behind it.
  bool keeps = !plan.norm;
  SmallVector<Value> work;
  for (Value root :
       {plan.init, plan.logit, plan.mask, plan.valueRow, plan.branchNumber})
    if (root)
      work.push_back(root);
  for (PathTotalOp total : plan.paths)
    work.push_back(total.getTerm());
  for (const PlannedBlock &block : plan.blocks)
    if (block.pairs.front().acts())
      work.push_back(block.pairs.front().unit->timeK);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    VarySet set = plan.varies.of(value);
    bool byHead = set.has(VarySet::Head);
    if (keeps && set.has(VarySet::Key) && set.has(VarySet::Content) &&
        isKept(plan, value)) {
      plan.scans.push_back({RunningOp(), {value}});
      plan.slotsByHead |= byHead;
      continue;
    }
    // The vectors of tables that keys meet may be those of a query head.
    if (auto dot = dyn_cast<TableDotOp>(op); dot && dot.getSide() == Side::Key)
      plan.keysByHead |= plan.varies.of(dot.getElement()).has(VarySet::Head);
    work.append(op->operand_begin(), op->operand_end());
  }
}

} // namespace torsor
