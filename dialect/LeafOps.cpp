// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of the leaves of the scheme level.
#include "dialect/TorsorDialect.h"

using namespace mlir;

namespace torsor {
namespace {

/// Checks that the term of `op` takes one argument of type `argument` and
/// yields one value of type `result`.
LogicalResult verifyTerm(Operation *op, Region &term, Type argument,
                         Type result) {
  Block &block = term.front();
  if (block.getNumArguments() != 1 ||
      block.getArgument(0).getType() != argument)
    return op->emitOpError("its term must take one argument of type ")
           << argument;
  auto yield =
      dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getValues().size() != 1)
    return op->emitOpError("its term must yield one value");
  if (yield.getValues()[0].getType() != result)
    return op->emitOpError("its term must yield a ")
           << result << ", but it yields a " << yield.getValues()[0].getType();
  return success();
}

Type timeType(ClockType clock) {
  Builder b(clock.getContext());
  return isa<IntegerType>(clock.getElement()) ? Type(b.getI64Type())
                                              : Type(b.getF64Type());
}

/// The type in which a read gives an element stored as `storage`.
Type readType(Type storage) {
  Builder b(storage.getContext());
  if (storage.isInteger(1))
    return storage;
  return isa<IntegerType>(storage) ? Type(b.getI64Type())
                                   : Type(b.getF64Type());
}

LogicalResult verifyAxes(Operation *op, ArrayAttr axes, RankedTensorType type,
                         int64_t before) {
  if (type.getRank() != int64_t(axes.size()) + before)
    return op->emitOpError("names ")
           << axes.size() << " axes, but its type has rank " << type.getRank();
  for (auto [n, axis] : llvm::enumerate(axes.getAsValueRange<StringAttr>())) {
    int64_t extent;
    bool constant = !axis.getAsInteger(10, extent);
    if (!constant && axis != "H" && axis != "G" && axis != "*")
      return op->emitOpError("axis '")
             << axis << "' must be H, G, * or a number";
    int64_t have = type.getDimSize(n + before);
    if (constant ? have != extent : !ShapedType::isDynamic(have))
      return op->emitOpError("axis '") << axis << "' and its type disagree";
  }
  return success();
}

} // namespace

LogicalResult RunningOp::verify() {
  ClockType clock = getType();
  Builder b(getContext());
  if (!clock.getElement().isF64())
    return emitOpError("a running sum is a clock of f64");
  Type result = b.getF64Type();
  if (clock.getMembers())
    result = RankedTensorType::get({clock.getMembers()}, result);
  return verifyTerm(*this, getTerm(), TokenType::get(getContext()), result);
}

LogicalResult TimeOp::verify() {
  ClockType clock = getClock().getType();
  Type expected = timeType(clock);
  if (getMember()) {
    int64_t member = *getMember();
    if (member < 0 || member >= clock.getMembers())
      return emitOpError("member ")
             << member << " lies outside 0 .. " << clock.getMembers() - 1;
  } else if (clock.getMembers()) {
    expected = RankedTensorType::get({clock.getMembers()}, expected);
  }
  if (getType() != expected)
    return emitOpError("must give a ") << expected;
  return success();
}

LogicalResult ParamOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if ((getOrthogonal() || getCondition()) &&
      (type.getRank() < 2 || type.getDimSize(type.getRank() - 1) !=
                                 type.getDimSize(type.getRank() - 2)))
    return emitOpError("orthogonal and condition need square matrices");
  return verifyAxes(*this, getAxes(), type, 0);
}

LogicalResult InputOp::verify() {
  return verifyAxes(*this, getAxes(), cast<RankedTensorType>(getType()),
                    getPer() == Per::Token ? 1 : 0);
}

LogicalResult ReadOp::verify() {
  auto type = cast<RankedTensorType>(getTensor().getType());
  int64_t given = getIndices().size();
  Type element = readType(type.getElementType());
  if (given == type.getRank())
    return getType() == element ? success()
                                : emitOpError("must give a ") << element;
  if (given + 1 != type.getRank())
    return emitOpError("takes ")
           << type.getRank() << " indices, or one less for a row, but has "
           << given;
  auto row = dyn_cast<RankedTensorType>(getType());
  if (!row || row.getElementType() != element ||
      row.getDimSize(0) != type.getDimSize(type.getRank() - 1))
    return emitOpError("must give a row of the tensor");
  return success();
}

LogicalResult ListOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getDimSize(0) != int64_t(getElements().size()) ||
      (!getElements().empty() &&
       getElements()[0].getType() != type.getElementType()))
    return emitOpError("must give a vector of its operands");
  return success();
}

LogicalResult PathSumOp::verify() {
  Builder b(getContext());
  return verifyTerm(*this, getTerm(), TokenType::get(getContext()),
                    b.getF64Type());
}

LogicalResult SumOp::verify() {
  Builder b(getContext());
  return verifyTerm(*this, getTerm(), b.getI64Type(), getType());
}

LogicalResult TabulateOp::verify() {
  Builder b(getContext());
  return verifyTerm(*this, getTerm(), b.getI64Type(),
                    cast<RankedTensorType>(getType()).getElementType());
}

} // namespace torsor
