// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of torsor.attention that are evaluated for pairs and for rows.
#include "passes/AttentionRegions.h"

using namespace mlir;

namespace torsor {

LogicalResult formDivide(const SchemePlan &plan, KernelRegions &slots,
                         Region &region, std::unique_ptr<RowCode> &code) {
  if (!plan.divisor)
    return success();
  region.push_back(new Block());
  code =
      std::make_unique<RowCode>(slots, &region.front(), plan.divisor.getLoc());
  return success(code->yield(plan.divisor));
}

LogicalResult AttentionRegions::formPair(Region &region, ValueRange values,
                                         Type type, bool scored) {
  if (llvm::is_contained(values, Value()) || values.empty())
    return success();
  region.push_back(new Block());
  SmallVector<Type> before;
  if (scored)
    before.push_back(Float32Type::get(type.getContext()));
  pairs.push_back(std::make_unique<PairCode>(slots, &region.front(),
                                             values[0].getLoc(), before));
  return success(pairs.back()->yield(values, type));
}

LogicalResult AttentionRegions::formToeplitz() {
  if (!plan.init || !isToeplitz(plan, plan.init))
    return success();
  toeplitz.push_back(new Block());
  AgeCode code(plan, kernel, &toeplitz.front(), plan.init.getLoc());
  bool isFormed = code.yield(plan.init);
  ageOfPositions = code.readsPositions;
  return success(isFormed);
}

LogicalResult AttentionRegions::form() {
  Builder b(plan.scheme.getContext());
  Type real = b.getF32Type(), integer = b.getI32Type();
  SmallVector<Value> terms;
  for (auto total : plan.paths)
    terms.push_back(total.getTerm());
  if (failed(formPair(init, plan.init, real)) ||
      failed(formPair(logit, plan.logit, real, /*scored=*/true)) ||
      failed(formPair(mask, plan.mask, b.getI1Type())) ||
      failed(formPair(path, terms, real, /*scored=*/true)) ||
      failed(formPair(valueRow, plan.valueRow, integer)) ||
      failed(formPair(branch, plan.branchNumber, integer)) ||
      failed(formDivide(plan, slots, divide, row)))
    return failure();
  return formToeplitz();
}

void AttentionRegions::finish() {
  for (auto &code : pairs)
    code->finish();
  if (row)
    row->finish();
}

void AttentionRegions::moveTo(AttentionOp op) {
  op.getBranch().takeBody(branch);
  op.getInit().takeBody(init);
  op.getLogit().takeBody(logit);
  op.getMask().takeBody(mask);
  op.getToeplitz().takeBody(toeplitz);
  op.setAgeOfPositions(ageOfPositions);
  op.getPath().takeBody(path);
  op.getValueRow().takeBody(valueRow);
  op.getDivide().takeBody(divide);
}

} // namespace torsor
