// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interval arithmetic over the scalars of a scheme.
#include "passes/RealRange.h"

#include "passes/ActionForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

RealRange make(double low, double high) {
  // inf - inf and the like: nothing is known.
  if (std::isnan(low) || std::isnan(high))
    return {};
  return {low, high};
}

RealRange multiply(RealRange a, RealRange b) {
  double low = inf, high = -inf;
  for (double x : {a.low, a.high})
    for (double y : {b.low, b.high}) {
      double product = x == 0 || y == 0 ? 0 : x * y;
      low = std::min(low, product);
      high = std::max(high, product);
    }
  return make(low, high);
}

RealRange divide(RealRange a, RealRange b) {
  if (b.low <= 0 && b.high >= 0) // a divisor that may be 0
    return a.low >= 0 && b.low >= 0 ? RealRange{0, inf} : RealRange{};
  return multiply(a, make(1 / b.high, 1 / b.low));
}

RealRange absolute(RealRange a) {
  double high = std::max(std::abs(a.low), std::abs(a.high));
  double low = a.low <= 0 && a.high >= 0
                   ? 0
                   : std::min(std::abs(a.low), std::abs(a.high));
  return {low, high};
}

RealRange unite(RealRange a, RealRange b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

template <typename F> RealRange rising(RealRange a, F &&f) {
  return make(f(a.low), f(a.high));
}

/// The declared range of a clock, param or input.
RealRange declared(Operation *declaration) {
  RealRange range;
  if (!declaration)
    return range;
  if (auto low = declaration->getAttrOfType<FloatAttr>("low"))
    range.low = low.getValueAsDouble();
  if (auto high = declaration->getAttrOfType<FloatAttr>("high"))
    range.high = high.getValueAsDouble();
  return range;
}

} // namespace

RealRanges::RealRanges(SchemeOp scheme, bool isCausal) : isCausal(isCausal) {
  scheme.walk([&](Operation *op) {
    // Of a vector: what holds all its elements.
    if (op->getNumResults() == 1 &&
        (op->getResult(0).getType().isIntOrFloat() ||
         isa<RankedTensorType>(op->getResult(0).getType())))
      ranges[op->getResult(0)] = compute(op);
  });
}

RealRange RealRanges::of(Value value) const {
  auto at = ranges.find(value);
  return at == ranges.end() ? RealRange() : at->second;
}

/// Is `op` the index or position of the query minus that of the key (or the
/// other way round)?
bool RealRanges::isAge(Operation *op, bool negative) const {
  auto side = [](Value value) -> std::optional<std::pair<Side, Value>> {
    Operation *read = value.getDefiningOp();
    if (!isa_and_nonnull<IndexOp, TimeOp>(read))
      return std::nullopt;
    Value clock = isa<TimeOp>(read) ? read->getOperand(0) : Value();
    auto given = clock ? clock.getDefiningOp<ClockOp>() : ClockOp();
    if (clock && !(given && (given.getRising() || given.getName() == "pos")))
      return std::nullopt;
    auto token =
        read->getOperand(read->getNumOperands() - 1).getDefiningOp<TokenOp>();
    if (!token)
      return std::nullopt;
    return std::pair(token.getSide(), clock);
  };
  auto a = side(op->getOperand(0)), b = side(op->getOperand(1));
  return a && b && a->second == b->second && a->first != b->first &&
         (a->first == Side::Key) == negative;
}

RealRange RealRanges::compute(Operation *op) const {
  if (std::optional<double> constant = constantReal(op->getResult(0))) {
    RealRange range = make(*constant, *constant);
    for (int64_t n = 1; isa<RankedTensorType>(op->getResult(0).getType()) &&
                        (constant = constantReal(op->getResult(0), n));
         ++n)
      range = unite(range, make(*constant, *constant));
    return range;
  }
  return llvm::TypeSwitch<Operation *, RealRange>(op)
      .Case([](AmbientOp ambient) -> RealRange {
        switch (ambient.getKind()) {
        case Ambient::Heads:
        case Ambient::Groups:
        case Ambient::Width:
        case Ambient::ValueWidth:
          return {1, 2147483647};
        case Ambient::Head:
        case Ambient::Group:
        case Ambient::Length:
          return {0, 2147483647};
        default:
          return {};
        }
      })
      .Case([&](ElementOp element) { return of(element.getVector()); })
      .Case([&](ListOp list) {
        if (list.getElements().empty())
          return RealRange();
        RealRange range = of(list.getElements().front());
        for (Value element : list.getElements().drop_front())
          range = unite(range, of(element));
        return range;
      })
      .Case([&](TabulateOp table) {
        return of(cast<YieldOp>(table.getTerm().front().getTerminator())
                      .getValues()[0]);
      })
      .Case([](IndexOp) { return RealRange{0, 2147483647}; })
      .Case([&](TimeOp time) {
        return declared(time.getClock().getDefiningOp());
      })
      .Case([&](ReadOp read) {
        Operation *declaration = read.getTensor().getDefiningOp();
        RealRange range = declared(declaration);
        // Past the end of an open axis the element is 0.
        auto axes = declaration->getAttrOfType<ArrayAttr>("axes");
        if (axes && llvm::any_of(axes.getAsValueRange<StringAttr>(),
                                 [](StringRef axis) { return axis == "*"; }))
          range = unite(range, RealRange{0, 0});
        return range;
      })
      .Default([&](Operation *) { return computeArithmetic(op); });
}

/// Ints wrap at 64 bits: nothing is known of what may leave them.
static RealRange wrapped(Operation *op, RealRange range) {
  auto leaves = [](double end) {
    return std::isfinite(end) && std::abs(end) >= 0x1p63;
  };
  return isa<IntegerType>(op->getResult(0).getType()) &&
                 (leaves(range.low) || leaves(range.high))
             ? RealRange()
             : range;
}

RealRange RealRanges::computeArithmetic(Operation *op) const {
  auto in = [&](unsigned n) { return of(op->getOperand(n)); };
  return llvm::TypeSwitch<Operation *, RealRange>(op)
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) {
        return wrapped(op,
                       make(in(0).low + in(1).low, in(0).high + in(1).high));
      })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) {
        RealRange range = make(in(0).low - in(1).high, in(0).high - in(1).low);
        if (isCausal && isAge(op, false))
          range.low = std::max(range.low, 0.0);
        if (isCausal && isAge(op, true))
          range.high = std::min(range.high, 0.0);
        return wrapped(op, range);
      })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) {
        if (op->getOperand(0) == op->getOperand(1)) {
          RealRange range = absolute(in(0));
          return wrapped(op,
                         make(range.low * range.low, range.high * range.high));
        }
        return wrapped(op, multiply(in(0), in(1)));
      })
      .Case([&](arith::DivFOp) { return divide(in(0), in(1)); })
      .Case<arith::FloorDivSIOp, arith::DivSIOp>([&](auto) {
        if (in(1).low < 1 || in(0).low < 0)
          return RealRange();
        return RealRange{std::floor(in(0).low / in(1).high),
                         std::floor(in(0).high / in(1).low)};
      })
      .Case<arith::MaxSIOp, arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return RealRange{std::max(in(0).low, in(1).low),
                         std::max(in(0).high, in(1).high)};
      })
      .Case<arith::MinSIOp, arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return RealRange{std::min(in(0).low, in(1).low),
                         std::min(in(0).high, in(1).high)};
      })
      .Case([&](arith::NegFOp) { return RealRange{-in(0).high, -in(0).low}; })
      .Case([&](arith::SelectOp) { return unite(in(1), in(2)); })
      .Case<arith::SIToFPOp, arith::FPToSIOp>([&](auto) { return in(0); })
      .Default([&](Operation *) { return computeMath(op); });
}

RealRange RealRanges::computeMath(Operation *op) const {
  auto in = [&](unsigned n) { return of(op->getOperand(n)); };
  return llvm::TypeSwitch<Operation *, RealRange>(op)
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return absolute(in(0)); })
      .Case([&](math::ExpOp) {
        return rising(in(0), [](double x) { return std::exp(x); });
      })
      .Case([&](math::Exp2Op) {
        return rising(in(0), [](double x) { return std::exp2(x); });
      })
      .Case([&](math::LogOp) {
        return in(0).low < 0
                   ? RealRange()
                   : rising(in(0), [](double x) { return std::log(x); });
      })
      .Case([&](math::Log2Op) {
        return in(0).low < 0
                   ? RealRange()
                   : rising(in(0), [](double x) { return std::log2(x); });
      })
      .Case([&](math::Log1pOp) {
        return in(0).low < -1
                   ? RealRange()
                   : rising(in(0), [](double x) { return std::log1p(x); });
      })
      .Case([&](math::SqrtOp) {
        return in(0).low < 0
                   ? RealRange{0, inf}
                   : rising(in(0), [](double x) { return std::sqrt(x); });
      })
      .Case([&](math::TanhOp) {
        return rising(in(0), [](double x) { return std::tanh(x); });
      })
      .Case([&](math::FloorOp) {
        return rising(in(0), [](double x) { return std::floor(x); });
      })
      .Case([&](math::CeilOp) {
        return rising(in(0), [](double x) { return std::ceil(x); });
      })
      .Case<math::SinOp, math::CosOp>([](auto) { return RealRange{-1, 1}; })
      .Case([&](math::PowFOp) {
        return in(0).low >= 0 ? RealRange{0, inf} : RealRange();
      })
      .Default([](Operation *) { return RealRange(); });
}

} // namespace torsor
