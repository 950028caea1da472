// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of integers, proved from declared ranges and types.
#include "passes/IntervalAnalysis.h"

#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;

namespace torsor {
namespace {

using Wide = __int128;

/// The range low .. high if it fits in `width` bits, else that of the type: the
/// value may have wrapped.
IntRange wrapped(Wide low, Wide high, unsigned width) {
  IntRange full = IntRange::ofWidth(width);
  if (low < full.low || high > full.high)
    return full;
  return {int64_t(low), int64_t(high)};
}

Wide floorDiv(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
Wide ceilDiv(Wide a, Wide b) { return -floorDiv(-a, b); }
Wide truncDiv(Wide a, Wide b) { return a / b; }

IntRange product(IntRange a, IntRange b, unsigned width) {
  Wide corners[] = {Wide(a.low) * b.low, Wide(a.low) * b.high,
                    Wide(a.high) * b.low, Wide(a.high) * b.high};
  return wrapped(*llvm::min_element(corners), *llvm::max_element(corners),
                 width);
}

/// The quotients by a divisor without 0 in its range; a divisor is monotone on
/// either side of 0, so the corners bound them.
IntRange quotient(IntRange a, IntRange b, unsigned width,
                  Wide (*divide)(Wide, Wide)) {
  if (b.contains(0))
    return IntRange::ofWidth(width);
  Wide corners[] = {divide(a.low, b.low), divide(a.low, b.high),
                    divide(a.high, b.low), divide(a.high, b.high)};
  Wide low = *llvm::min_element(corners), high = *llvm::max_element(corners);
  return wrapped(low, high, width);
}

/// a - trunc(a / b) b: has the sign of a and is smaller than b, both in size.
IntRange remainder(IntRange a, IntRange b, unsigned width) {
  if (b.contains(0))
    return IntRange::ofWidth(width);
  Wide most = std::max(Wide(b.high), -Wide(b.low)) - 1;
  if (a.low >= 0 && b.low > a.high)
    return a;
  return wrapped(a.low < 0 ? std::max(-most, Wide(a.low)) : Wide(0),
                 a.high > 0 ? std::min(most, Wide(a.high)) : Wide(0), width);
}

std::optional<bool> compare(arith::CmpIPredicate predicate, IntRange a,
                            IntRange b) {
  using P = arith::CmpIPredicate;
  bool natural = a.low >= 0 && b.low >= 0;
  switch (predicate) {
  case P::eq:
    if (a.isConstant() && a == b)
      return true;
    if (a.high < b.low || b.high < a.low)
      return false;
    return std::nullopt;
  case P::ne:
    if (auto equal = compare(P::eq, a, b))
      return !*equal;
    return std::nullopt;
  case P::slt:
    return a.high < b.low    ? std::optional(true)
           : a.low >= b.high ? std::optional(false)
                             : std::nullopt;
  case P::sle:
    return a.high <= b.low  ? std::optional(true)
           : a.low > b.high ? std::optional(false)
                            : std::nullopt;
  case P::sgt:
    return compare(P::slt, b, a);
  case P::sge:
    return compare(P::sle, b, a);
  case P::ult:
    return natural ? compare(P::slt, a, b) : std::nullopt;
  case P::ule:
    return natural ? compare(P::sle, a, b) : std::nullopt;
  case P::ugt:
    return natural ? compare(P::slt, b, a) : std::nullopt;
  case P::uge:
    return natural ? compare(P::sle, b, a) : std::nullopt;
  }
  llvm_unreachable("every predicate is listed");
}

unsigned widthOf(Type type) {
  return isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

bool isInteger(Value value) {
  Type type = value.getType();
  return type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64;
}

IntRange maximum(IntRange a, IntRange b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
IntRange minimum(IntRange a, IntRange b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

/// Are `a` and `b` the same value, or equal constants?
bool isSame(Value a, Value b) {
  APInt x, y;
  return a == b || (matchPattern(a, m_ConstantInt(&x)) &&
                    matchPattern(b, m_ConstantInt(&y)) && x == y);
}

} // namespace

Value getModulus(arith::SubIOp op) {
  auto product = op.getRhs().getDefiningOp<arith::MulIOp>();
  if (!product)
    return {};
  for (auto [left, right] : {std::pair(product.getLhs(), product.getRhs()),
                             std::pair(product.getRhs(), product.getLhs())}) {
    auto division = left.getDefiningOp<arith::FloorDivSIOp>();
    if (division && division.getLhs() == op.getLhs() &&
        isSame(division.getRhs(), right))
      return right;
  }
  return {};
}

IntRange IntRange::ofWidth(unsigned width) {
  if (width == 1)
    return {0, 1};
  if (width >= 64)
    return {};
  return {-(int64_t(1) << (width - 1)), (int64_t(1) << (width - 1)) - 1};
}

IntRange IntervalAnalysis::getRange(Value value) const {
  auto found = ranges.find(value);
  if (found != ranges.end())
    return found->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64) {
    int64_t number = constant.getBitWidth() == 1 ? constant.getZExtValue()
                                                 : constant.getSExtValue();
    return {number, number};
  }
  return isInteger(value) ? IntRange::ofWidth(widthOf(value.getType()))
                          : IntRange();
}

namespace {

/// The range of an operand.
using Ranges = llvm::function_ref<IntRange(Value)>;
using Known = std::optional<IntRange>;

Known rangeOfSum(Operation &op, unsigned width, Ranges get) {
  auto at = [&](unsigned n) { return get(op.getOperand(n)); };
  if (isa<arith::AddIOp>(op))
    return wrapped(Wide(at(0).low) + at(1).low, Wide(at(0).high) + at(1).high,
                   width);
  if (isa<arith::MulIOp>(op))
    return product(at(0), at(1), width);
  if (isa<math::AbsIOp>(op)) {
    IntRange a = at(0);
    Wide below = -Wide(a.low), above = a.high;
    Wide least = std::max({Wide(a.low), -above, Wide(0)});
    return wrapped(least, std::max(below, above), width);
  }
  auto sub = dyn_cast<arith::SubIOp>(op);
  if (!sub)
    return std::nullopt;
  if (Value modulus = getModulus(sub))
    if (IntRange b = get(modulus); b.low > 0)
      return at(0).low >= 0 && at(0).high < b.low ? at(0)
                                                  : IntRange{0, b.high - 1};
  return wrapped(Wide(at(0).low) - at(1).high, Wide(at(0).high) - at(1).low,
                 width);
}

Known rangeOfDivision(Operation &op, unsigned width, Ranges get) {
  if (op.getNumOperands() != 2)
    return std::nullopt;
  IntRange a = get(op.getOperand(0)), b = get(op.getOperand(1));
  if (isa<arith::DivUIOp, arith::RemUIOp>(op) && (a.low < 0 || b.low < 0))
    return IntRange::ofWidth(width);
  if (isa<arith::FloorDivSIOp>(op))
    return quotient(a, b, width, floorDiv);
  if (isa<arith::CeilDivSIOp>(op))
    return quotient(a, b, width, ceilDiv);
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return quotient(a, b, width, truncDiv);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return remainder(a, b, width);
  return std::nullopt;
}

Known rangeOfChoice(Operation &op, unsigned width, Ranges get) {
  if (isa<arith::MaxSIOp>(op))
    return maximum(get(op.getOperand(0)), get(op.getOperand(1)));
  if (isa<arith::MinSIOp>(op))
    return minimum(get(op.getOperand(0)), get(op.getOperand(1)));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    IntRange c = get(select.getCondition());
    IntRange a = get(select.getTrueValue()), b = get(select.getFalseValue());
    return c.isConstant() ? (c.low ? a : b) : a.unite(b);
  }
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp || !isInteger(cmp.getLhs()) || widthOf(cmp.getLhs().getType()) == 1)
    return std::nullopt;
  auto known =
      compare(cmp.getPredicate(), get(cmp.getLhs()), get(cmp.getRhs()));
  return known ? Known(IntRange{*known, *known}) : std::nullopt;
}

Known rangeOfBits(Operation &op, unsigned width, Ranges get) {
  if (isa<math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp>(
          op))
    return IntRange{0, width};
  if (!isa<arith::AndIOp, arith::ShRSIOp, arith::ShLIOp>(op))
    return std::nullopt;
  IntRange a = get(op.getOperand(0)), b = get(op.getOperand(1));
  if (isa<arith::AndIOp>(op)) // a & b of naturals is at most either.
    return a.low < 0 || b.low < 0
               ? std::nullopt
               : Known(IntRange{0, std::min(a.high, b.high)});
  if (!b.isConstant() || b.low < 0 || b.low >= std::min<int64_t>(width, 62))
    return std::nullopt;
  if (isa<arith::ShRSIOp>(op))
    return IntRange{a.low >> b.low, a.high >> b.low};
  int64_t factor = int64_t(1) << b.low;
  return product(a, {factor, factor}, width);
}

Known rangeOfCast(Operation &op, unsigned width, Ranges get) {
  if (!isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return std::nullopt;
  IntRange in = get(op.getOperand(0));
  unsigned from = widthOf(op.getOperand(0).getType());
  if (isa<arith::TruncIOp>(op))
    return in.fits(width) ? Known(in) : std::nullopt;
  if (isa<arith::ExtSIOp>(op))
    return from == 1 ? IntRange{-in.high, -in.low} : in;
  return in.low >= 0 ? in : IntRange{0, (int64_t(1) << from) - 1};
}

/// What a real lies between unless it is NaN: from constants, and what keeps
/// their order.
std::pair<double, double> boundsOfReal(Value value, int depth = 0) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::pair<double, double> none = {-infinity, infinity};
  APFloat constant(0.0);
  if (matchPattern(value, m_ConstantFloat(&constant)) && !constant.isNaN()) {
    double number = constant.convertToDouble();
    return {number, number};
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return none;
  auto at = [&](unsigned n) {
    return boundsOfReal(op->getOperand(n), depth + 1);
  };
  if (isa<arith::MaximumFOp>(op))
    return {std::max(at(0).first, at(1).first),
            std::max(at(0).second, at(1).second)};
  if (isa<arith::MinimumFOp>(op))
    return {std::min(at(0).first, at(1).first),
            std::min(at(0).second, at(1).second)};
  if (isa<math::FloorOp>(op))
    return {std::floor(at(0).first), std::floor(at(0).second)};
  if (isa<math::CeilOp>(op))
    return {std::ceil(at(0).first), std::ceil(at(0).second)};
  return none;
}

/// Conversions saturate, and give 0 for NaN.
Known rangeOfRounding(Operation &op, unsigned width, Ranges) {
  if (!isa<arith::FPToSIOp>(op))
    return std::nullopt;
  IntRange full = IntRange::ofWidth(width);
  auto [low, high] = boundsOfReal(op.getOperand(0));
  auto bounded = [&](double bound) {
    return bound <= double(full.low)    ? full.low
           : bound >= double(full.high) ? full.high
                                        : int64_t(bound);
  };
  return IntRange{std::min<int64_t>(0, bounded(low)),
                  std::max<int64_t>(0, bounded(high))};
}

Known rangeOfLeaf(Operation &op, unsigned, Ranges) {
  if (isa<IndexOp>(op))
    return IntRange{0, maxIndex};
  if (isa<ReadOp, FetchOp, LookupOp, TimeOp>(op))
    return getReadRange(&op);
  auto ambient = dyn_cast<AmbientOp>(op);
  if (!ambient)
    return std::nullopt;
  switch (ambient.getKind()) {
  case Ambient::Head:
  case Ambient::Group:
  case Ambient::Length:
    return IntRange{0, maxIndex};
  case Ambient::Heads:
  case Ambient::Groups:
    return IntRange{1, maxIndex};
  case Ambient::Width:
  case Ambient::ValueWidth:
    return IntRange{1, 1024};
  default:
    return std::nullopt;
  }
}

} // namespace

void IntervalAnalysis::visit(Operation &op) {
  if (op.getNumResults() != 1 || !isInteger(op.getResult(0)) ||
      op.hasTrait<OpTrait::ConstantLike>())
    return;
  unsigned width = widthOf(op.getResult(0).getType());
  // Signed arithmetic on truth values would read true as -1.
  if (width == 1 && !isa<arith::CmpIOp, arith::SelectOp, arith::AndIOp>(op))
    return;
  auto get = [this](Value value) { return getRange(value); };
  IntRange range = IntRange::ofWidth(width);
  for (auto *rangeOf : {rangeOfSum, rangeOfDivision, rangeOfChoice, rangeOfBits,
                        rangeOfCast, rangeOfRounding, rangeOfLeaf})
    if (auto known = rangeOf(op, width, get)) {
      range = *known;
      break;
    }
  ranges[op.getResult(0)] = range;
}

void IntervalAnalysis::run(Block &block) {
  for (Operation &op : block)
    visit(op);
}

} // namespace torsor
