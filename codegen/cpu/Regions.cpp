// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of kernel-level ops as code: scalar as they are, or over lanes.
#include "codegen/cpu/Regions.h"

#include "codegen/cpu/VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace torsor {

bool isElementwise(Operation &op) {
  return OpTrait::hasElementwiseMappableTraits(&op) ||
         op.hasTrait<OpTrait::ConstantLike>();
}

LogicalResult checkRegion(Region &region) {
  if (region.empty())
    return success();
  for (Operation &op : region.front().without_terminator())
    if (!isa<FetchOp, LookupOp, ContentOp, RowDotOp, PathOp>(op) &&
        (!isElementwise(op) || op.getNumRegions()))
      return op.emitError("cannot be computed over lanes: only elementwise "
                          "ops and reads of tables can");
  return success();
}

/// The larger or the smaller of a number and a constant, which is not NaN: one
/// instruction, where the general one has to ask for NaN. Null for others.
static Num emitBound(Operation &op, ArrayRef<Num> operands) {
  if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return {};
  for (unsigned n : {0, 1}) {
    APFloat bound(0.0);
    if (!matchPattern(op.getOperand(n), m_ConstantFloat(&bound)) ||
        bound.isNaN())
      continue;
    // `max` and `min` give the second where one is NaN.
    return isa<arith::MaximumFOp>(op) ? max(operands[n], operands[1 - n])
                                      : min(operands[n], operands[1 - n]);
  }
  return {};
}

/// A quotient by a power of two as a product. Null for others.
static Num emitQuotient(Operation &op, ArrayRef<Num> operands) {
  APFloat divisor(0.0), inverse(0.0);
  if (!isa<arith::DivFOp>(op) ||
      !matchPattern(op.getOperand(1), m_ConstantFloat(&divisor)) ||
      !divisor.getExactInverse(&inverse))
    return {};
  return operands[0] * inverse.convertToDouble();
}

Nums cloneElementwise(Emitter &e, const Target &target, Operation &op,
                      Nums operands) {
  if (Num own = emitVectorMath(e, target, op, operands))
    return {own};
  if (Num own = emitBound(op, operands))
    return {own};
  if (Num own = emitQuotient(op, operands))
    return {own};
  if (isa<arith::FPToSIOp>(op) && operands[0].isVector())
    return {e.convert(operands[0], op.getResult(0).getType())};
  int64_t lanes = 1;
  for (Num operand : operands)
    lanes = std::max(lanes, operand.lanes());
  SmallVector<Value> values;
  for (Num operand : operands)
    values.push_back(operand.isVector() || lanes == 1
                         ? operand.value
                         : e.splat(operand, lanes).value);
  Operation *copy = e.b.clone(op);
  copy->setOperands(values);
  for (Value result : copy->getResults())
    result.setType(e.vec(lanes, result.getType()));
  // Products may be added without a rounding between, as elsewhere.
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(copy) &&
      operands[0].element().isF32())
    copy->setAttr("fastmath",
                  arith::FastMathFlagsAttr::get(
                      e.b.getContext(), arith::FastMathFlags::contract));
  Nums results;
  for (Value result : copy->getResults())
    results.push_back(e.num(result));
  return results;
}

Nums cloneOperation(Operation &op, ArrayRef<Num> operands,
                    const TableReader &tables, const Place &place) {
  const Kernel &kernel = tables.kernel;
  if (auto fetch = dyn_cast<FetchOp>(op))
    return {tables.fetch(*kernel.find(fetch.getTable()), place,
                         Nums(operands.drop_front()), fetch.getType())};
  if (auto lookup = dyn_cast<LookupOp>(op))
    return {tables.lookup(*kernel.find(lookup.getTable()), place,
                          Nums(operands.drop_front()), lookup.getType())};
  return cloneElementwise(tables.e, *kernel.target, op, Nums(operands));
}

Nums cloneRegion(Region &region, ArrayRef<Num> arguments,
                 const TableReader &tables, const Place &place,
                 RegionOps special) {
  DenseMap<Value, Num> known;
  for (auto [argument, num] : llvm::zip(region.getArguments(), arguments))
    known[argument] = num;
  auto mapped = [&](ValueRange values) {
    Nums nums;
    for (Value value : values)
      nums.push_back(known.lookup(value));
    return nums;
  };
  for (Operation &op : region.front().without_terminator()) {
    Nums results;
    Nums operands = mapped(op.getOperands());
    if (Num own = special ? special(op, operands) : Num())
      results = {own};
    else
      results = cloneOperation(op, operands, tables, place);
    for (auto [result, num] : llvm::zip(op.getResults(), results))
      known[result] = num;
  }
  return mapped(region.front().getTerminator()->getOperands());
}

/// Floor of a / b for a constant b > 0, whatever the sign of a.
static Num floorDivide(Num a, int64_t b) {
  Emitter &e = *a.e;
  // Shifted to be positive: indices are below 2^31 in size.
  int64_t shift = ((int64_t(1) << 40) / b) * b;
  return (a + shift) / b - e.index(shift / b);
}

Num emitAffine(Emitter &e, AffineExpr expression, ArrayRef<Num> dims,
               ArrayRef<Num> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return e.index(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Num a = emitAffine(e, binary.getLHS(), dims, symbols);
  if (binary.getKind() == AffineExprKind::Add)
    return a + emitAffine(e, binary.getRHS(), dims, symbols);
  int64_t c = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    return a * c;
  case AffineExprKind::FloorDiv:
    return floorDivide(a, c);
  case AffineExprKind::CeilDiv:
    return floorDivide(a + (c - 1), c);
  default: // Mod
    return a - floorDivide(a, c) * c;
  }
}

} // namespace torsor
