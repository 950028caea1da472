// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows shifts of the positions through the values of a scheme.
#include "runtime/jit/TermLaw.h"

#include "passes/ActionForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace torsor;

/// In the order of the block: operands before what reads them.
TermLaws::TermLaws(SchemeOp scheme) : varies(scheme) {
  scheme.walk([&](Operation *op) {
    if (op == scheme || op->getNumResults() == 0)
      return;
    Law law = find(op);
    for (Value result : op->getResults())
      laws[result] = law;
  });
}

TermLaw TermLaws::of(Value value) {
  Law law = lookup(value);
  if (!law.shift || !law.shift->empty())
    return TermLaw::Absolute;
  if (varies.of(value).has(VarySet::Content))
    return TermLaw::Content;
  if (law.path)
    return TermLaw::Path;
  return law.tokens ? TermLaw::Inputs : TermLaw::Distance;
}

bool TermLaws::shiftAlike(Value a, Value b) const {
  Law first = lookup(a), second = lookup(b);
  return first.shift && second.shift && *first.shift == *second.shift;
}

TermLaws::Law TermLaws::find(Operation *op) const {
  Law law;
  law.shift = findShift(op);
  if (isa<TimeOp, RunningOp>(op))
    return law; // the clock is what a time counts by, whatever it sums
  law.path = isa<PathSumOp>(op);
  law.tokens =
      isa<ReadOp>(op) && llvm::any_of(op->getOperands(), [](Value operand) {
        return isa<TokenType>(operand.getType());
      });
  auto add = [&](Value operand) {
    Law inner = lookup(operand);
    law.path |= inner.path;
    law.tokens |= inner.tokens;
  };
  llvm::for_each(op->getOperands(), add);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getTerminator()->getOperands(), add);
  return law;
}

std::optional<TermLaws::Shift> TermLaws::findShift(Operation *op) const {
  if (auto time = dyn_cast<TimeOp>(op)) {
    auto member = static_cast<int64_t>(time.getMember().value_or(0));
    return Shift{{{time.getClock().getAsOpaquePointer(), member}, 1}};
  }
  if (isa<IndexOp>(op))
    return Shift{{{nullptr, 0}, 1}};
  if (isa<RunningOp>(op))
    return Shift();
  auto operand = [&](unsigned n) { return lookup(op->getOperand(n)).shift; };
  auto add = [](std::optional<Shift> sum, const std::optional<Shift> &by,
                double factor) -> std::optional<Shift> {
    if (!sum || !by)
      return std::nullopt;
    for (const auto &[clock, slope] : *by)
      if (((*sum)[clock] += factor * slope) == 0)
        sum->erase(clock);
    return sum;
  };
  if (isa<arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp>(op))
    return operand(0);
  if (isa<arith::AddIOp, arith::AddFOp>(op))
    return add(operand(0), operand(1), 1);
  if (isa<arith::SubIOp, arith::SubFOp>(op))
    return add(operand(0), operand(1), -1);
  if (isa<arith::NegFOp>(op))
    return add(Shift(), operand(0), -1);
  if (isa<arith::MulIOp, arith::MulFOp>(op))
    for (unsigned n : {0, 1})
      if (auto factor = constantReal(op->getOperand(n)))
        return add(Shift(), operand(1 - n), *factor);
  // An order, and the larger of two, see only their difference.
  if (isa<arith::CmpIOp, arith::CmpFOp>(op) &&
      shiftAlike(op->getOperand(0), op->getOperand(1)))
    return Shift();
  if (isa<arith::MinSIOp, arith::MaxSIOp, arith::MinimumFOp, arith::MaximumFOp>(
          op) &&
      shiftAlike(op->getOperand(0), op->getOperand(1)))
    return operand(0);
  auto isStill = [&](Value value) {
    Law law = lookup(value);
    return law.shift && law.shift->empty();
  };
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (isStill(select.getCondition()) &&
        shiftAlike(select.getTrueValue(), select.getFalseValue()))
      return operand(1);
  bool still = llvm::all_of(op->getOperands(), isStill);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      still &= llvm::all_of(block.getTerminator()->getOperands(), isStill);
  return still ? std::optional(Shift()) : std::nullopt;
}
