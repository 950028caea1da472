// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads scalar code as expressions of the indices and as sets of keys.
#include "passes/BoundMasksRead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {
namespace {

using Result = ExprContext::Result;

/// How often one comparison may be cut into cases.
constexpr unsigned caseBudget = 256;

KeyTruth unknownTruth() { return {KeySolver::unknown(), KeySolver::unknown()}; }

bool isTruth(Type type) { return type.isInteger(1); }

/// The operations of `block` that `value` depends on.
llvm::DenseSet<Operation *> collectSlice(Value value, Block *block) {
  llvm::DenseSet<Operation *> slice;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != block || !slice.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
  }
  return slice;
}

std::optional<TermKind> tokenKind(Value token) {
  auto op = token.getDefiningOp<TokenOp>();
  if (!op)
    return std::nullopt;
  return op.getSide() == Side::Query ? TermKind::Query : TermKind::Key;
}

} // namespace

const LinearExpr &MaskReader::integer(Value value) {
  auto found = integers.find(value);
  if (found != integers.end())
    return found->second;
  return integers[value] = context.opaque(value, ranges.getRange(value));
}

const KeyTruth &MaskReader::truth(Value value) {
  auto found = truths.find(value);
  if (found != truths.end())
    return found->second;
  return truths[value] = unknownTruth();
}

KeyTruth MaskReader::atMostZero(Result value) {
  Result minus = value ? context.scale(*value, -1) : std::nullopt;
  Result opposite =
      minus ? context.add(*minus, ExprContext::constant(1)) : std::nullopt;
  if (!opposite)
    return unknownTruth();
  auto conditions = [this](Value c) -> const KeyTruth & { return truth(c); };
  solver.setBudget(caseBudget);
  KeyBounds holds = solver.atMostZero(*value, conditions);
  solver.setBudget(caseBudget);
  return {std::move(holds), solver.atMostZero(*opposite, conditions)};
}

KeyTruth MaskReader::compareIntegers(Operation &op) {
  using P = arith::CmpIPredicate;
  auto cmp = cast<arith::CmpIOp>(op);
  P predicate = cmp.getPredicate();
  LinearExpr a = integer(cmp.getLhs()), b = integer(cmp.getRhs());
  bool isUnsigned = predicate == P::ult || predicate == P::ule ||
                    predicate == P::ugt || predicate == P::uge;
  if (isUnsigned && (ranges.getRange(cmp.getLhs()).low < 0 ||
                     ranges.getRange(cmp.getRhs()).low < 0))
    return unknownTruth();
  Result less = context.sub(a, b), more = context.sub(b, a);
  auto strictly = [&](Result value) {
    return value ? context.add(*value, ExprContext::constant(1)) : std::nullopt;
  };
  switch (predicate) {
  case P::slt:
  case P::ult:
    return atMostZero(strictly(less));
  case P::sle:
  case P::ule:
    return atMostZero(less);
  case P::sgt:
  case P::ugt:
    return atMostZero(strictly(more));
  case P::sge:
  case P::uge:
    return atMostZero(more);
  case P::eq:
  case P::ne:
    break;
  }
  KeyTruth below = atMostZero(less), above = atMostZero(more);
  KeyTruth equal{solver.both(below.holds, above.holds),
                 solver.either(below.fails, above.fails)};
  if (predicate == P::ne)
    std::swap(equal.holds, equal.fails);
  return equal;
}

KeyTruth MaskReader::compareTruth(Value lhs, Value rhs, bool equal) {
  KeyTruth a = truth(lhs), b = truth(rhs);
  KeyTruth same{solver.choose(a, b.holds, b.fails),
                solver.choose(a, b.fails, b.holds)};
  if (!equal)
    std::swap(same.holds, same.fails);
  return same;
}

void MaskReader::visitTruth(Operation &op) {
  using P = arith::CmpIPredicate;
  KeyTruth value =
      llvm::TypeSwitch<Operation *, KeyTruth>(&op)
          .Case([&](arith::AndIOp andi) -> KeyTruth {
            const KeyTruth a = truth(andi.getLhs()), b = truth(andi.getRhs());
            return {solver.both(a.holds, b.holds),
                    solver.either(a.fails, b.fails)};
          })
          .Case([&](arith::OrIOp ori) -> KeyTruth {
            const KeyTruth a = truth(ori.getLhs()), b = truth(ori.getRhs());
            return {solver.either(a.holds, b.holds),
                    solver.both(a.fails, b.fails)};
          })
          .Case([&](arith::XOrIOp xori) {
            return compareTruth(xori.getLhs(), xori.getRhs(), false);
          })
          .Case([&](arith::SelectOp select) -> KeyTruth {
            const KeyTruth c = truth(select.getCondition()),
                           a = truth(select.getTrueValue()),
                           b = truth(select.getFalseValue());
            return {solver.choose(c, a.holds, b.holds),
                    solver.choose(c, a.fails, b.fails)};
          })
          .Case([&](arith::CmpIOp cmp) {
            if (!isTruth(cmp.getLhs().getType()))
              return compareIntegers(op);
            P p = cmp.getPredicate();
            return p == P::eq || p == P::ne
                       ? compareTruth(cmp.getLhs(), cmp.getRhs(), p == P::eq)
                       : unknownTruth();
          })
          .Default([&](Operation *) {
            APInt constant;
            if (!matchPattern(op.getResult(0), m_ConstantInt(&constant)))
              return unknownTruth();
            return constant.isZero()
                       ? KeyTruth{KeySolver::none(), KeySolver::all()}
                       : KeyTruth{KeySolver::all(), KeySolver::none()};
          });
  // Inexact by itself, not for what it takes.
  bool taken = llvm::all_of(op.getOperands(), [&](Value operand) {
    auto found = truths.find(operand);
    return found == truths.end() || found->second.holds.exact;
  });
  if (!value.holds.exact && taken)
    unread.push_back(&op);
  truths[op.getResult(0)] = std::move(value);
}

Result MaskReader::readDivision(Operation &op) {
  APInt constant;
  if (!matchPattern(op.getOperand(1), m_ConstantInt(&constant)))
    return std::nullopt;
  LinearExpr a = integer(op.getOperand(0));
  int64_t divisor = constant.getSExtValue();
  bool isNatural = ranges.getRange(op.getOperand(0)).low >= 0;
  if (divisor == 0)
    return std::nullopt;
  if (isa<arith::FloorDivSIOp>(op))
    return context.floorDiv(a, divisor);
  if (isa<arith::CeilDivSIOp>(op))
    return context.ceilDiv(a, divisor);
  if (isa<arith::DivUIOp, arith::RemUIOp>(op) && (!isNatural || divisor < 0))
    return std::nullopt;
  Result quotient = context.floorDiv(a, divisor);
  if (!isNatural) {
    // trunc(x) = max(floor(x), 0) + min(ceil(x), 0)
    Result up = context.ceilDiv(a, divisor);
    LinearExpr zero;
    Result high = quotient ? context.max(*quotient, zero) : std::nullopt;
    Result low = up ? context.min(*up, zero) : std::nullopt;
    quotient = high && low ? context.add(*high, *low) : std::nullopt;
  } else if (divisor < 0) {
    quotient = context.ceilDiv(a, divisor);
  }
  if (isa<arith::DivSIOp, arith::DivUIOp>(op) || !quotient)
    return quotient;
  Result multiple = context.scale(*quotient, divisor);
  return multiple ? context.sub(a, *multiple) : std::nullopt;
}

Result MaskReader::readLeaf(Operation &op) {
  if (auto index = dyn_cast<IndexOp>(op)) {
    if (auto kind = tokenKind(index.getToken()))
      return context.leaf(*kind);
  } else if (auto ambient = dyn_cast<AmbientOp>(op)) {
    if (ambient.getKind() == Ambient::Length)
      return context.leaf(TermKind::Length);
  } else if (auto time = dyn_cast<TimeOp>(op); time && follow) {
    auto clock = time.getClock().getDefiningOp<ClockOp>();
    if (auto kind = tokenKind(time.getToken());
        kind && clock && clock.getName() == "pos" && !time.getMember())
      return context.leaf(*kind);
  }
  return std::nullopt;
}

Result MaskReader::readInteger(Operation &op) {
  auto at = [&](unsigned n) { return integer(op.getOperand(n)); };
  APInt constant;
  if (matchPattern(op.getResult(0), m_ConstantInt(&constant)))
    return ExprContext::constant(constant.getSExtValue());
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](arith::AddIOp) { return context.add(at(0), at(1)); })
      .Case([&](arith::SubIOp) { return context.sub(at(0), at(1)); })
      .Case([&](arith::MulIOp) -> Result {
        LinearExpr a = at(0), b = at(1);
        if (b.isConstant())
          return context.scale(a, b.constant);
        return a.isConstant() ? context.scale(b, a.constant) : std::nullopt;
      })
      .Case([&](arith::ShRSIOp) -> Result {
        LinearExpr by = at(1);
        if (!by.isConstant() || by.constant < 0 || by.constant > 31)
          return std::nullopt;
        return context.floorDiv(at(0), int64_t(1) << by.constant);
      })
      .Case<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
            arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return readDivision(op); })
      .Case([&](arith::MaxSIOp) { return context.max(at(0), at(1)); })
      .Case([&](arith::MinSIOp) { return context.min(at(0), at(1)); })
      .Case([&](math::AbsIOp) -> Result {
        LinearExpr a = at(0);
        Result minus = context.scale(a, -1);
        return minus ? context.max(a, *minus) : std::nullopt;
      })
      .Case([&](arith::SelectOp select) {
        LinearExpr a = at(1), b = at(2);
        return context.select(select.getCondition(), a, b);
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp>([&](auto ext) -> Result {
        Value in = ext.getIn();
        if (isTruth(in.getType())) {
          int64_t one = isa<arith::ExtUIOp>(op) ? 1 : -1;
          return context.select(in, ExprContext::constant(one), LinearExpr());
        }
        if (isa<arith::ExtUIOp>(op) && ranges.getRange(in).low < 0)
          return std::nullopt;
        return at(0);
      })
      .Case([&](arith::TruncIOp) { return at(0); })
      .Default([&](Operation *) { return readLeaf(op); });
}

void MaskReader::visit(Operation &op) {
  if (op.getNumResults() != 1)
    return;
  Value value = op.getResult(0);
  if (isTruth(value.getType()))
    return visitTruth(op);
  if (!value.getType().isSignlessInteger() ||
      value.getType().getIntOrFloatBitWidth() > 64)
    return;
  Result expr = readInteger(op);
  if (!expr)
    return;
  // The expression means the unbounded result: it must not have wrapped.
  IntRange type = IntRange::ofWidth(value.getType().getIntOrFloatBitWidth());
  auto [low, high] = context.range(*expr);
  if (type.low <= low && high <= type.high)
    integers[value] = *expr;
}

const KeyBounds &MaskReader::read(Value mask) {
  if (Operation *op = mask.getDefiningOp()) {
    llvm::DenseSet<Operation *> slice = collectSlice(mask, op->getBlock());
    ranges.run(*op->getBlock());
    for (Operation &inner : *op->getBlock())
      if (slice.contains(&inner))
        visit(inner);
  }
  return truth(mask).holds;
}

} // namespace torsor
