// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers over a box of pairs: ends of intervals, and what may wrap.
#include "passes/TileTestBox.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {
namespace {

unsigned widthOf(Operation &op) {
  return op.getResult(0).getType().getIntOrFloatBitWidth();
}

BoxValue number(Value low, Value high) { return {low, high, {}, {}, {}}; }

} // namespace

bool BoxCode::mayWrap(Operation &op) {
  return ranges.getRange(op.getResult(0)) == IntRange::ofWidth(widthOf(op));
}

BoxValue BoxCode::guard(Operation &op, BoxValue box, Value wraps) {
  IntRange full = IntRange::ofWidth(widthOf(op));
  return number(choose(wraps, constant(full.low), box.low),
                choose(wraps, constant(full.high), box.high));
}

BoxCode::Box BoxCode::emitInteger(Operation &op) {
  auto at = [&](unsigned n) { return get(op.getOperand(n)); };
  return llvm::TypeSwitch<Operation *, Box>(&op)
      .Case([&](arith::AddIOp) { return emitSum(op, false); })
      .Case([&](arith::SubIOp sub) {
        return getModulus(sub) ? emitModulus(op) : emitSum(op, true);
      })
      .Case([&](arith::MulIOp mul) {
        return emitProduct(op, mul.getLhs(), mul.getRhs());
      })
      .Case<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
            arith::DivUIOp>([&](auto) { return emitDivision(op); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return emitModulus(op); })
      .Case([&](arith::MaxSIOp) {
        return number(make<arith::MaxSIOp>(at(0).low, at(1).low),
                      make<arith::MaxSIOp>(at(0).high, at(1).high));
      })
      .Case([&](arith::MinSIOp) {
        return number(make<arith::MinSIOp>(at(0).low, at(1).low),
                      make<arith::MinSIOp>(at(0).high, at(1).high));
      })
      .Case([&](math::AbsIOp) { return emitAbsolute(op); })
      .Case([&](arith::ShRSIOp) -> Box {
        auto by = getConstant(op.getOperand(1));
        if (!by || *by < 0 || *by >= widthOf(op))
          return std::nullopt;
        return number(make<arith::ShRSIOp>(at(0).low, constant(*by)),
                      make<arith::ShRSIOp>(at(0).high, constant(*by)));
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return emitCast(op); })
      .Case([&](arith::FPToSIOp) { return emitFromReal(op); })
      .Default([&](Operation *) { return std::nullopt; });
}

BoxCode::Box BoxCode::emitSum(Operation &op, bool minus) {
  BoxValue x = get(op.getOperand(0)), y = get(op.getOperand(1));
  if (minus)
    std::swap(y.low, y.high);
  auto sum = [&](Value a, Value c) {
    return minus ? make<arith::SubIOp>(a, c) : make<arith::AddIOp>(a, c);
  };
  BoxValue box = number(sum(x.low, y.low), sum(x.high, y.high));
  if (!mayWrap(op))
    return box;
  IntRange full = IntRange::ofWidth(widthOf(op));
  if (widthOf(op) < 64) // The ends are computed wide enough.
    return guard(op, box,
                 lor(compare(Predicate::slt, box.low, constant(full.low)),
                     compare(Predicate::sgt, box.high, constant(full.high))));
  // A sum wrapped if its sign is that of neither summand; a difference if the
  // signs of its parts differ and its own is not that of the first.
  auto wraps = [&](Value a, Value c, Value result) {
    Value changed = make<arith::XOrIOp>(a, result);
    Value other = make<arith::XOrIOp>(minus ? a : c, minus ? c : result);
    return compare(Predicate::slt, make<arith::AndIOp>(changed, other),
                   constant(0));
  };
  return guard(
      op, box,
      lor(wraps(x.low, y.low, box.low), wraps(x.high, y.high, box.high)));
}

BoxCode::Box BoxCode::emitProduct(Operation &op, Value lhs, Value rhs) {
  if (getConstant(lhs))
    std::swap(lhs, rhs);
  BoxValue x = get(lhs), y = get(rhs);
  IntRange full = IntRange::ofWidth(widthOf(op));
  if (auto factor = getConstant(rhs)) {
    if (*factor == 0)
      return number(constant(0), constant(0));
    Value by = constant(*factor);
    BoxValue box =
        number(make<arith::MulIOp>(x.low, by), make<arith::MulIOp>(x.high, by));
    if (*factor < 0)
      std::swap(box.low, box.high);
    if (!mayWrap(op))
      return box;
    int64_t least = (*factor < 0 ? full.high : full.low) / *factor;
    int64_t most = *factor == -1 ? full.high
                   : *factor < 0 ? full.low / *factor
                                 : full.high / *factor;
    return guard(op, box,
                 lor(compare(Predicate::slt, x.low, constant(least)),
                     compare(Predicate::sgt, x.high, constant(most))));
  }
  // A product takes its extremes at the corners.
  Value low, high, wraps = truth(false);
  for (Value a : {x.low, x.high})
    for (Value c : {y.low, y.high}) {
      Value corner = make<arith::MulIOp>(a, c);
      if (mayWrap(op)) {
        auto wide = arith::MulSIExtendedOp::create(b, loc, a, c);
        corner = wide.getLow();
        Value sign = make<arith::ShRSIOp>(corner, constant(63));
        wraps = lor(wraps, compare(Predicate::ne, wide.getHigh(), sign));
      }
      low = low ? make<arith::MinSIOp>(low, corner) : corner;
      high = high ? make<arith::MaxSIOp>(high, corner) : corner;
    }
  if (!mayWrap(op))
    return number(low, high);
  wraps = lor(wraps, compare(Predicate::slt, low, constant(full.low)));
  wraps = lor(wraps, compare(Predicate::sgt, high, constant(full.high)));
  return guard(op, number(low, high), wraps);
}

/// A quotient never falls with a dividend over a positive divisor, and goes one
/// way with the divisor for each sign of the dividend.
BoxCode::Box BoxCode::emitDivision(Operation &op) {
  Value dividend = op.getOperand(0), divisor = op.getOperand(1);
  if (ranges.getRange(divisor).low <= 0)
    return std::nullopt;
  if (isa<arith::DivUIOp>(op) && ranges.getRange(dividend).low < 0)
    return std::nullopt;
  BoxValue x = get(dividend), y = get(divisor);
  auto divide = [&](Value a, Value c) {
    if (isa<arith::FloorDivSIOp>(op))
      return make<arith::FloorDivSIOp>(a, c);
    if (isa<arith::CeilDivSIOp>(op))
      return make<arith::CeilDivSIOp>(a, c);
    return make<arith::DivSIOp>(a, c);
  };
  if (getConstant(divisor))
    return number(divide(x.low, y.low), divide(x.high, y.low));
  return number(
      make<arith::MinSIOp>(divide(x.low, y.low), divide(x.low, y.high)),
      make<arith::MaxSIOp>(divide(x.high, y.low), divide(x.high, y.high)));
}

/// x mod c over a box: where the quotient is the same all over, the ends are
/// those of the remainder.
BoxCode::Box BoxCode::emitModulus(Operation &op) {
  Value dividend = op.getOperand(0), divisor = op.getOperand(1);
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    divisor = getModulus(sub);
  else if (ranges.getRange(dividend).low < 0)
    return std::nullopt;
  if (ranges.getRange(divisor).low <= 0) {
    if (isa<arith::SubIOp>(op))
      return emitSum(op, true);
    return std::nullopt;
  }
  BoxValue x = get(dividend), y = get(divisor);
  Value first = make<arith::FloorDivSIOp>(x.low, y.low);
  Value last = make<arith::FloorDivSIOp>(x.high, y.low);
  Value one = land(compare(Predicate::eq, first, last),
                   compare(Predicate::eq, y.low, y.high));
  Value base = make<arith::MulIOp>(first, y.low);
  return number(choose(one, make<arith::SubIOp>(x.low, base), constant(0)),
                choose(one, make<arith::SubIOp>(x.high, base),
                       make<arith::SubIOp>(y.high, constant(1))));
}

BoxCode::Box BoxCode::emitAbsolute(Operation &op) {
  BoxValue x = get(op.getOperand(0));
  Value zero = constant(0);
  Value below = make<arith::SubIOp>(zero, x.low);
  Value above = make<arith::SubIOp>(zero, x.high);
  BoxValue box =
      number(make<arith::MaxSIOp>(make<arith::MaxSIOp>(x.low, above), zero),
             make<arith::MaxSIOp>(below, x.high));
  IntRange full = IntRange::ofWidth(widthOf(op));
  if (ranges.getRange(op.getOperand(0)).low != full.low)
    return box;
  return guard(op, box, compare(Predicate::eq, x.low, constant(full.low)));
}

BoxCode::Box BoxCode::emitCast(Operation &op) {
  Value in = op.getOperand(0);
  BoxValue x = get(in);
  bool isSigned = isa<arith::ExtSIOp>(op);
  if (in.getType().isInteger(1)) {
    Value zero = constant(0), one = constant(isSigned ? -1 : 1);
    return isSigned ? number(choose(x.mayHold, one, zero),
                             choose(x.mustHold, one, zero))
                    : number(choose(x.mustHold, one, zero),
                             choose(x.mayHold, one, zero));
  }
  if (isSigned)
    return x;
  if (isa<arith::ExtUIOp>(op)) {
    if (ranges.getRange(in).low >= 0)
      return x;
    // Negative numbers become large ones.
    Value negative = compare(Predicate::slt, x.low, constant(0));
    unsigned from = in.getType().getIntOrFloatBitWidth();
    return number(choose(negative, constant(0), x.low),
                  choose(negative, constant((int64_t(1) << from) - 1), x.high));
  }
  IntRange full = IntRange::ofWidth(widthOf(op));
  if (ranges.getRange(in).within(full))
    return x;
  return guard(op, x,
               lor(compare(Predicate::slt, x.low, constant(full.low)),
                   compare(Predicate::sgt, x.high, constant(full.high))));
}

/// Reals outside the range of the type have no integer.
BoxCode::Box BoxCode::emitFromReal(Operation &op) {
  Value in = op.getOperand(0);
  BoxValue x = get(in);
  Type real = in.getType(), i64 = b.getI64Type();
  double edge = widthOf(op) < 64 ? 2147483648.0 : 9223372036854775808.0;
  if (widthOf(op) != 64 && widthOf(op) != 32)
    return std::nullopt;
  auto limit = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(real, value));
  };
  using P = arith::CmpFPredicate;
  Value fits = land(make<arith::CmpFOp>(P::OGE, x.low, limit(-edge)),
                    make<arith::CmpFOp>(P::OLT, x.high, limit(edge)));
  fits = land(fits, lnot(x.any));
  auto convert = [&](Value end) {
    return make<arith::FPToSIOp>(i64, choose(fits, end, limit(0)));
  };
  return guard(op, number(convert(x.low), convert(x.high)), lnot(fits));
}

} // namespace torsor
