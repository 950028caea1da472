// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clones scalar operations in the order of their block, with other types where
// a region computes in f32.
#include "passes/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {

LogicalResult noKernel(Location loc, const Twine &what) {
  return emitError(loc) << "no kernel for this yet: " << what;
}

static bool isScalarOperation(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         op->getResult(0).getType().isIntOrFloat();
}

SmallVector<Value> ScalarCode::needs(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    SmallVector<Value> indices;
    for (Value index : read.getIndices())
      if (index.getType().isInteger(64))
        indices.push_back(index);
    return indices;
  }
  if (auto element = dyn_cast<ElementOp>(op))
    return {element.getIndex()};
  return SmallVector<Value>(op->getOperands());
}

Value ScalarCode::index(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value ScalarCode::fail(Operation *op, const Twine &what) {
  (void)noKernel(op->getLoc(), what);
  return {};
}

Value ScalarCode::convert(Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(type)) {
    if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, loc, type, value);
    return arith::TruncFOp::create(b, loc, type, value);
  }
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, type, value);
  return arith::TruncIOp::create(b, loc, type, value);
}

Value ScalarCode::get(Value root) {
  SmallVector<Operation *> slice;
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (done.contains(value))
      continue;
    FailureOr<Value> here = leaf(value);
    if (failed(here))
      return {};
    if (*here) {
      done[value] = *here;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return emitError(value.getLoc()) << "a scalar must be an operation",
             Value();
    if (!isScalarOperation(op) && !isa<ReadOp, ElementOp>(op))
      return fail(op,
                  "a term that reads '" + op->getName().getStringRef() + "'");
    if (seen.insert(op).second) {
      slice.push_back(op);
      for (Value operand : needs(op))
        work.push_back(operand);
    }
  }
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : slice) {
    Value value = compute(op);
    if (!value)
      return {};
    done[op->getResult(0)] = value;
  }
  return done.lookup(root);
}

Value ScalarCode::get(Value value, Type type) {
  Value here = get(value);
  return here ? convert(here, type) : here;
}

Value ScalarCode::compute(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : needs(op)) {
    Value here = done.lookup(operand);
    if (!here)
      return {};
    operands.push_back(here);
  }
  if (auto read = dyn_cast<ReadOp>(op))
    return this->read(read, operands);
  if (auto element = dyn_cast<ElementOp>(op))
    return pick(element, operands[0]);
  Type result = op->getResult(0).getType();
  Type real = realType(op);
  if (isa<FloatType>(result))
    result = real;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr attribute = constant.getValue();
    if (auto number = dyn_cast<FloatAttr>(attribute))
      attribute = b.getFloatAttr(result, number.getValueAsDouble());
    return arith::ConstantOp::create(b, op->getLoc(), attribute);
  }
  for (Value &operand : operands)
    if (isa<FloatType>(operand.getType()))
      operand = convert(operand, real);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  Operation *copy = b.create(state);
  copy->copyProperties(op->getPropertiesStorage());
  return copy->getResult(0);
}

} // namespace torsor
