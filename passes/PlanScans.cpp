// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums as clocks: their terms at the key token.
#include "passes/FormKernels.h"
#include "passes/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {

void listTerms(SchemeOp scheme) {
  for (RunningOp running : scheme.getBody().getOps<RunningOp>()) {
    auto yield = cast<YieldOp>(running.getTerm().front().getTerminator());
    Value term = yield.getValues()[0];
    auto type = dyn_cast<RankedTensorType>(term.getType());
    if (!type || term.getDefiningOp<ListOp>())
      continue;
    OpBuilder b(yield);
    SmallVector<Value> elements;
    for (int64_t m = 0; m < type.getDimSize(0); ++m) {
      Value index = arith::ConstantOp::create(b, running.getLoc(),
                                              b.getI64IntegerAttr(m));
      elements.push_back(ElementOp::create(b, running.getLoc(),
                                           type.getElementType(), term, index));
    }
    yield->setOperand(
        0, ListOp::create(b, running.getLoc(), type, elements).getResult());
  }
}

/// Does something read an input of the key's token by the query head? It is
/// then a slot of the keys for each head, where pairs would read it one by one.
static bool readsKeysByHead(SchemePlan &plan) {
  for (ReadOp read : plan.scheme.getBody().getOps<ReadOp>()) {
    VarySet set = plan.varies.of(read.getResult());
    if (read.getType().isIntOrFloat() && set.has(VarySet::Key) &&
        set.has(VarySet::Head) && set.without(VarySet::Head).isColumn())
      return true;
  }
  return false;
}

/// May the value of a key's token change between calls?
static bool mayChange(SchemePlan &plan, Value term) {
  if (plan.varies.of(term).has(VarySet::Call | VarySet::Sequence))
    return true;
  return isMoving(term);
}

LogicalResult planScans(SchemePlan &plan) {
  plan.slotsByHead = readsKeysByHead(plan);
  for (RunningOp running : plan.scheme.getBody().getOps<RunningOp>()) {
    if (running->use_empty())
      continue;
    OpBuilder b(running);
    Location loc = running.getLoc();
    Value key =
        TokenOp::create(b, loc, TokenType::get(b.getContext()), Side::Key);
    Block &body = running.getTerm().front();
    IRMapping mapping;
    mapping.map(body.getArgument(0), key);
    for (Operation &op : body.without_terminator())
      b.clone(op, mapping);
    Value term = mapping.lookupOrDefault(
        cast<YieldOp>(body.getTerminator()).getValues()[0]);
    PlannedScan scan = {running, {term}};
    if (auto list = term.getDefiningOp<ListOp>())
      scan.terms.assign(list.getElements().begin(), list.getElements().end());
    for (Value element : scan.terms) {
      VarySet set = plan.varies.of(element);
      if (!element.getType().isF64() || !set.without(VarySet::Head).isColumn())
        return noKernel(loc,
                        "a running sum of terms that vary by " + set.getText());
      plan.slotsByHead |= set.has(VarySet::Head);
      scan.isStored &= !mayChange(plan, element);
    }
    plan.scans.push_back(std::move(scan));
  }
  return success();
}

} // namespace torsor
