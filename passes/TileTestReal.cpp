// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reals over a box of pairs. Rounding never turns an order round, so the ends
// of an interval, rounded as its values are, bound them.
#include "passes/TileTestBox.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {
namespace {

BoxValue real(Value low, Value high, Value any) {
  return {low, high, {}, {}, any};
}

/// The real that `value` is, if it is a finite constant.
std::optional<double> getReal(Value value) {
  FloatAttr attribute;
  if (matchPattern(value, m_Constant(&attribute)) &&
      attribute.getValue().isFinite())
    return attribute.getValueAsDouble();
  return std::nullopt;
}

/// A back end may join a product and a sum, which rounds otherwise.
bool isProduct(Value value) {
  return value.getDefiningOp<arith::MulFOp>() != nullptr;
}

} // namespace

/// May an end of the interval be infinite? Then sums and products may be NaN
/// inside it though not at its ends.
Value BoxCode::isInfinite(const BoxValue &box) {
  using P = arith::CmpFPredicate;
  Type type = box.low.getType();
  const auto &semantics = cast<FloatType>(type).getFloatSemantics();
  auto infinity = [&](bool negative) -> Value {
    APFloat value = APFloat::getInf(semantics, negative);
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  };
  return lor(make<arith::CmpFOp>(P::OEQ, box.low, infinity(true)),
             make<arith::CmpFOp>(P::OEQ, box.high, infinity(false)));
}

BoxCode::Box BoxCode::emitReal(Operation &op) {
  auto at = [&](unsigned n) { return get(op.getOperand(n)); };
  Type type = op.getResult(0).getType();
  return llvm::TypeSwitch<Operation *, Box>(&op)
      .Case<arith::AddFOp, arith::SubFOp>([&](auto) -> Box {
        if (isProduct(op.getOperand(0)) || isProduct(op.getOperand(1)))
          return std::nullopt;
        BoxValue x = at(0), y = at(1);
        Value any = lor(lor(x.any, y.any), land(isInfinite(x), isInfinite(y)));
        if (isa<arith::AddFOp>(op))
          return real(make<arith::AddFOp>(x.low, y.low),
                      make<arith::AddFOp>(x.high, y.high), any);
        return real(make<arith::SubFOp>(x.low, y.high),
                    make<arith::SubFOp>(x.high, y.low), any);
      })
      .Case<arith::MulFOp, arith::DivFOp>(
          [&](auto) { return emitRealProduct(op); })
      .Case([&](arith::NegFOp) {
        return real(make<arith::NegFOp>(at(0).high),
                    make<arith::NegFOp>(at(0).low), at(0).any);
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return real(make<arith::MaximumFOp>(at(0).low, at(1).low),
                    make<arith::MaximumFOp>(at(0).high, at(1).high),
                    lor(at(0).any, at(1).any));
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return real(make<arith::MinimumFOp>(at(0).low, at(1).low),
                    make<arith::MinimumFOp>(at(0).high, at(1).high),
                    lor(at(0).any, at(1).any));
      })
      .Case([&](math::AbsFOp) {
        Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0));
        Value below = make<arith::NegFOp>(at(0).low);
        Value above = make<arith::NegFOp>(at(0).high);
        Value least = make<arith::MaximumFOp>(at(0).low, above);
        return real(make<arith::MaximumFOp>(least, zero),
                    make<arith::MaximumFOp>(below, at(0).high), at(0).any);
      })
      .Case([&](math::FloorOp) {
        return real(make<math::FloorOp>(at(0).low),
                    make<math::FloorOp>(at(0).high), at(0).any);
      })
      .Case([&](math::CeilOp) {
        return real(make<math::CeilOp>(at(0).low),
                    make<math::CeilOp>(at(0).high), at(0).any);
      })
      .Default([&](Operation *) { return emitRealCast(op); });
}

BoxCode::Box BoxCode::emitRealCast(Operation &op) {
  Type type = op.getResult(0).getType();
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(op) ||
      op.getOperand(0).getType().isInteger(1))
    return std::nullopt;
  BoxValue x = get(op.getOperand(0));
  if (isa<arith::ExtFOp>(op))
    return real(make<arith::ExtFOp>(type, x.low),
                make<arith::ExtFOp>(type, x.high), x.any);
  if (isa<arith::TruncFOp>(op))
    return real(make<arith::TruncFOp>(type, x.low),
                make<arith::TruncFOp>(type, x.high), x.any);
  return real(make<arith::SIToFPOp>(type, x.low),
              make<arith::SIToFPOp>(type, x.high), truth(false));
}

BoxCode::Box BoxCode::emitRealProduct(Operation &op) {
  Value lhs = op.getOperand(0), rhs = op.getOperand(1);
  bool isQuotient = isa<arith::DivFOp>(op);
  if (!isQuotient && getReal(lhs))
    std::swap(lhs, rhs);
  BoxValue x = get(lhs), y = get(rhs);
  auto apply = [&](Value a, Value c) {
    return isQuotient ? make<arith::DivFOp>(a, c) : make<arith::MulFOp>(a, c);
  };
  if (auto factor = getReal(rhs); factor && *factor != 0) {
    Value low = apply(x.low, y.low), high = apply(x.high, y.low);
    if (*factor < 0)
      std::swap(low, high);
    return real(low, high, x.any);
  }
  if (isQuotient)
    return std::nullopt;
  Value low, high;
  for (Value a : {x.low, x.high})
    for (Value c : {y.low, y.high}) {
      Value corner = apply(a, c);
      low = low ? make<arith::MinimumFOp>(low, corner) : corner;
      high = high ? make<arith::MaximumFOp>(high, corner) : corner;
    }
  Value any = lor(lor(x.any, y.any), lor(isInfinite(x), isInfinite(y)));
  return real(low, high, any);
}

BoxCode::Box BoxCode::compareReals(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  BoxValue x = get(op.getLhs()), y = get(op.getRhs());
  P predicate = op.getPredicate();
  auto test = [&](P p, Value a, Value c) {
    return make<arith::CmpFOp>(p, a, c);
  };
  Value any = lor(x.any, y.any);
  bool strict = false;
  switch (predicate) {
  case P::OGT:
  case P::UGT:
    strict = true;
    [[fallthrough]];
  case P::OGE:
  case P::UGE:
    std::swap(x, y);
    break;
  case P::OLT:
  case P::ULT:
    strict = true;
    break;
  case P::OLE:
  case P::ULE:
    break;
  case P::OEQ:
  case P::UEQ:
  case P::ONE:
  case P::UNE: {
    Value meet = land(test(P::OLE, x.low, y.high), test(P::OLE, y.low, x.high));
    Value same =
        land(land(test(P::OEQ, x.low, x.high), test(P::OEQ, y.low, y.high)),
             test(P::OEQ, x.low, y.low));
    BoxValue equal{{}, {}, lor(any, meet), land(lnot(any), same), {}};
    bool isNegated = predicate == P::ONE || predicate == P::UNE;
    return isNegated ? negate(equal) : equal;
  }
  default:
    return std::nullopt;
  }
  P less = strict ? P::OLT : P::OLE;
  return BoxValue{{},
                  {},
                  lor(any, test(less, x.low, y.high)),
                  land(lnot(any), test(less, x.high, y.low)),
                  {}};
}

} // namespace torsor
