// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cheaper divisions by constants.
#include "passes/NarrowPair.h"
#include "passes/PairRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace torsor {
namespace {

/// Divisors above 0 alone have a cheaper form.
std::optional<int64_t> getDivisor(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) ||
      !constant.isStrictlyPositive())
    return std::nullopt;
  return constant.getSExtValue();
}

class Cheapen {
public:
  Cheapen(Operation &op, bool isNatural)
      : b(&op), loc(op.getLoc()), type(op.getResult(0).getType()),
        isNatural(isNatural) {}

  /// floor(x / c): a shift for powers of 2, whatever the sign of x.
  Value quotient(Value x, int64_t c) {
    if (llvm::isPowerOf2_64(c))
      return arith::ShRSIOp::create(b, loc, x, constant(llvm::Log2_64(c)));
    return isNatural ? arith::DivUIOp::create(b, loc, x, constant(c)) : Value();
  }

  /// x mod c, from 0 to c - 1.
  Value modulus(Value x, int64_t c) {
    if (llvm::isPowerOf2_64(c))
      return arith::AndIOp::create(b, loc, x, constant(c - 1));
    return isNatural ? arith::RemUIOp::create(b, loc, x, constant(c)) : Value();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  }

  OpBuilder b;
  Location loc;
  Type type;
  bool isNatural;
};

} // namespace

void cheapenDivisions(AttentionOp op, Block &block) {
  IntervalAnalysis ranges;
  setPairRanges(op, block, ranges);
  ranges.run(block);
  // From the end: a modulus is seen before the division inside it is rewritten.
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (inner.getNumOperands() != 2 || inner.getNumResults() != 1)
      continue;
    Value x = inner.getOperand(0), divisor = inner.getOperand(1);
    auto sub = dyn_cast<arith::SubIOp>(inner);
    if (sub)
      divisor = getModulus(sub);
    std::optional<int64_t> c = divisor ? getDivisor(divisor) : std::nullopt;
    if (!c)
      continue;
    bool isNatural = ranges.getRange(x).low >= 0;
    Cheapen cheapen(inner, isNatural);
    Value made;
    if (sub)
      made = cheapen.modulus(x, *c);
    else if (isa<arith::FloorDivSIOp>(inner) ||
             (isNatural && isa<arith::DivSIOp>(inner)))
      made = cheapen.quotient(x, *c);
    else if (isNatural && isa<arith::RemSIOp>(inner))
      made = cheapen.modulus(x, *c);
    if (made)
      inner.getResult(0).replaceAllUsesWith(made);
  }
}

} // namespace torsor
