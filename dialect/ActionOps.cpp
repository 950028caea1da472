// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of actions, and what each primitive block is as a generator.
#include "dialect/TorsorDialect.h"

using namespace mlir;

namespace torsor {
namespace {
int64_t widthOf(Value action) {
  return cast<ActionType>(action.getType()).getWidth();
}
} // namespace

#define TORSOR_GENERATOR(Op, SKEW, NILPOTENT, PAST, FUTURE, SCALAR, COMPLEX)   \
  int64_t Op::lanes() { return getType().getWidth(); }                         \
  bool Op::isSkew() { return SKEW; }                                           \
  int64_t Op::nilpotentOrder() { return NILPOTENT; }                           \
  bool Op::boundedOnPast() { return PAST; }                                    \
  bool Op::boundedOnFuture() { return FUTURE; }                                \
  bool Op::isScalar() { return SCALAR; }                                       \
  bool Op::isComplexScalar() { return COMPLEX; }

TORSOR_GENERATOR(ZeroOp, true, 1, true, true, true, true)
TORSOR_GENERATOR(TurnOp, true, 1, true, true, false, true)
TORSOR_GENERATOR(DecayOp, false, 1, true, false, true, true)
// A chain is bounded on the past only because a decay stands inside; the
// frontend requires it.
TORSOR_GENERATOR(JordanOp, false, getOrder(), true, false, false, false)
TORSOR_GENERATOR(PlaneOp, true, 1, true, true, false, false)
TORSOR_GENERATOR(UnipotentOp, false, 2, false, false, false, false)
#undef TORSOR_GENERATOR

LogicalResult TurnOp::verify() { // turn R1
  int64_t pairs =
      cast<RankedTensorType>(getFrequencies().getType()).getDimSize(0);
  if (getType().getWidth() != 2 * pairs)
    return emitOpError("turns ")
           << pairs << " pairs, so it must be " << 2 * pairs
           << " lanes wide, but it is " << getType().getWidth();
  return success();
}

LogicalResult JordanOp::verify() { // jordan R1
  int64_t order = getOrder();
  if (order < 1)
    return emitOpError("its order must be at least 1, but it is ") << order;
  if (getType().getWidth() != order * widthOf(getBase()))
    return emitOpError("must be ")
           << order * widthOf(getBase()) << " lanes wide, but it is "
           << getType().getWidth();
  return success();
}

LogicalResult ConcatOp::verify() { // concat R1
  int64_t width = 0;
  for (Value part : getParts())
    width += widthOf(part);
  if (getType().getWidth() != width)
    return emitOpError("must be ")
           << width << " lanes wide, but it is " << getType().getWidth();
  return success();
}

template <typename Op> static LogicalResult verifyEven(Op op) {
  if (op.getType().getWidth() % 2)
    return op.emitOpError("needs an even width, but it is ")
           << op.getType().getWidth();
  return success();
}
LogicalResult SplitOp::verify() { return verifyEven(*this); }
LogicalResult AdjacentOp::verify() { return verifyEven(*this); }

LogicalResult GainOp::verify() { // gain R1
  bool by = bool(getBy()), both = getQ() && getK(), any = getQ() || getK();
  if (by == any || any != both)
    return emitOpError("takes either 'by', or both 'q' and 'k'");
  return success();
}

} // namespace torsor
