// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of integers, proved from declared ranges and types.
#include "passes/IntervalAnalysis.h"

#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

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
    return a.high < b.low ? std::optional(true)
           : a.low >= b.high ? std::optional(false)
                             : std::nullopt;
  case P::sle:
    return a.high <= b.low ? std::optional(true)
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
  for (auto [left, right] :
       {std::pair(product.getLhs(), product.getRhs()),
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

void IntervalAnalysis::visit(Operation &op) {
  if (op.getNumResults() != 1 || !isInteger(op.getResult(0)) ||
      op.hasTrait<OpTrait::ConstantLike>())
    return;
  unsigned width = widthOf(op.getResult(0).getType());
  // Signed arithmetic on truth values would read true as -1.
  if (width == 1 && !isa<arith::CmpIOp, arith::SelectOp, arith::AndIOp>(op))
    return;
  auto at = [&](unsigned n) { return getRange(op.getOperand(n)); };
  auto both = [&](auto combine) { return combine(at(0), at(1)); };
  IntRange full = IntRange::ofWidth(width);
  IntRange range =
      llvm::TypeSwitch<Operation *, IntRange>(&op)
          .Case([&](arith::AddIOp) {
            return wrapped(Wide(at(0).low) + at(1).low,
                           Wide(at(0).high) + at(1).high, width);
          })
          .Case([&](arith::SubIOp sub) {
            if (Value modulus = getModulus(sub); modulus && width > 1)
              if (IntRange b = getRange(modulus); b.low > 0)
                return at(0).low >= 0 && at(0).high < b.low
                           ? at(0)
                           : IntRange{0, b.high - 1};
            return wrapped(Wide(at(0).low) - at(1).high,
                           Wide(at(0).high) - at(1).low, width);
          })
          .Case([&](arith::MulIOp) { return product(at(0), at(1), width); })
          .Case([&](arith::FloorDivSIOp) {
            return quotient(at(0), at(1), width, floorDiv);
          })
          .Case([&](arith::CeilDivSIOp) {
            return quotient(at(0), at(1), width, ceilDiv);
          })
          .Case([&](arith::DivSIOp) {
            return quotient(at(0), at(1), width, truncDiv);
          })
          .Case([&](arith::DivUIOp) {
            return at(0).low < 0 || at(1).low < 0
                       ? full
                       : quotient(at(0), at(1), width, truncDiv);
          })
          .Case([&](arith::RemSIOp) { return remainder(at(0), at(1), width); })
          .Case([&](arith::RemUIOp) {
            return at(0).low < 0 || at(1).low < 0
                       ? full
                       : remainder(at(0), at(1), width);
          })
          .Case([&](arith::MaxSIOp) { return both(maximum); })
          .Case([&](arith::MinSIOp) { return both(minimum); })
          .Case([&](arith::AndIOp) {
            // a & b of naturals is at most either.
            return at(0).low < 0 || at(1).low < 0
                       ? full
                       : IntRange{0, std::min(at(0).high, at(1).high)};
          })
          .Case([&](arith::ShRSIOp) {
            IntRange by = at(1);
            if (!by.isConstant() || by.low < 0 || by.low >= int64_t(width))
              return full;
            return IntRange{at(0).low >> by.low, at(0).high >> by.low};
          })
          .Case([&](arith::ShLIOp) {
            IntRange by = at(1);
            if (!by.isConstant() || by.low < 0 || by.low >= 62)
              return full;
            int64_t factor = int64_t(1) << by.low;
            return product(at(0), {factor, factor}, width);
          })
          .Case([&](arith::SelectOp select) {
            IntRange c = getRange(select.getCondition());
            IntRange a = getRange(select.getTrueValue());
            IntRange b = getRange(select.getFalseValue());
            return c.isConstant() ? (c.low ? a : b) : a.unite(b);
          })
          .Case([&](arith::CmpIOp cmp) {
            if (!isInteger(cmp.getLhs()) || widthOf(cmp.getLhs().getType()) == 1)
              return full;
            auto known = compare(cmp.getPredicate(), at(0), at(1));
            return known ? IntRange{*known, *known} : full;
          })
          .Case([&](arith::ExtSIOp ext) {
            return widthOf(ext.getIn().getType()) == 1
                       ? IntRange{-at(0).high, -at(0).low}
                       : at(0);
          })
          .Case([&](arith::ExtUIOp ext) {
            unsigned from = widthOf(ext.getIn().getType());
            if (at(0).low >= 0)
              return at(0);
            return IntRange{0, (int64_t(1) << from) - 1};
          })
          .Case([&](arith::TruncIOp) { return at(0).fits(width) ? at(0) : full; })
          .Case([&](math::AbsIOp) {
            IntRange a = at(0);
            Wide below = -Wide(a.low), above = a.high;
            Wide least = std::max({Wide(a.low), -above, Wide(0)});
            return wrapped(least, std::max(below, above), width);
          })
          .Case<math::CountLeadingZerosOp, math::CountTrailingZerosOp,
                math::CtPopOp>([&](auto) { return IntRange{0, width}; })
          .Case<IndexOp>([&](auto) { return IntRange{0, maxIndex}; })
          .Case([&](AmbientOp ambient) {
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
              return full;
            }
          })
          .Case<ReadOp, FetchOp, LookupOp, TimeOp>([&](auto read) {
            return getReadRange(read);
          })
          .Default([&](auto) { return full; });
  ranges[op.getResult(0)] = range;
}

void IntervalAnalysis::run(Block &block) {
  for (Operation &op : block)
    visit(op);
}

namespace {

/// The integers of low .. high, of declarations that hold reals.
IntRange declared(std::optional<APFloat> low, std::optional<APFloat> high) {
  constexpr double edge = 9223372036854775808.0; // 2^63
  IntRange range;
  if (double from; low && (from = std::ceil(low->convertToDouble())) < edge)
    if (from >= -edge)
      range.low = int64_t(from);
  if (double to; high && (to = std::floor(high->convertToDouble())) >= -edge)
    if (to < edge)
      range.high = int64_t(to);
  return range.low <= range.high ? range : IntRange();
}

IntRange intersect(IntRange a, IntRange b) {
  IntRange both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

IntRange ofStorage(Type element) {
  return isa<IntegerType>(element)
             ? IntRange::ofWidth(element.getIntOrFloatBitWidth())
             : IntRange();
}

/// The declared range of what `read` reads. Past the end of an axis `*` lie
/// zeros.
template <typename Declaration>
IntRange getTensorRange(Declaration declaration, IntRange range) {
  range = intersect(range, declared(declaration.getLow(),
                                    declaration.getHigh()));
  for (auto axis : declaration.getAxes().template getAsValueRange<StringAttr>())
    if (axis == "*")
      return range.unite({0, 0});
  return range;
}

} // namespace

IntRange getClockRange(ClockOp clock) {
  return intersect(ofStorage(clock.getType().getElement()),
                   declared(clock.getLow(), clock.getHigh()));
}

IntRange getReadRange(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    Value tensor = read.getTensor();
    auto type = cast<RankedTensorType>(tensor.getType());
    IntRange range = ofStorage(type.getElementType());
    if (auto input = tensor.getDefiningOp<InputOp>())
      return getTensorRange(input, range);
    if (auto param = tensor.getDefiningOp<ParamOp>())
      return getTensorRange(param, range);
    return range;
  }
  if (auto time = dyn_cast<TimeOp>(op)) {
    auto clock = time.getClock().getDefiningOp<ClockOp>();
    return clock ? getClockRange(clock)
                 : ofStorage(time.getClock().getType().getElement());
  }
  if (!isa<FetchOp, LookupOp>(op))
    return {};
  auto memory = cast<MemRefType>(op->getOperand(0).getType());
  IntRange range = ofStorage(memory.getElementType());
  if (auto low = op->getAttrOfType<IntegerAttr>("low"))
    range.low = std::max(range.low, low.getInt());
  if (auto high = op->getAttrOfType<IntegerAttr>("high"))
    range.high = std::min(range.high, high.getInt());
  if (range.low > range.high)
    return {};
  // Past the end of an axis `*` lie zeros.
  return op->getNumOperands() > 1 ? range.unite({0, 0}) : range;
}

} // namespace torsor
