// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Raises the part of a bias that is affine in an age to a unipotent block.
#include "passes/Passes.h"
#include "passes/VariesBy.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_RAISEUNIPOTENT
#include "passes/Passes.h.inc"

namespace {

/// A term of a bias: sign * value.
struct BiasPart {
  Value value;
  bool negative = false;
};

/// sign * product of factors / product of divisors * (key's time - query's).
struct AffinePart {
  SmallVector<Value> factors, divisors;
  bool negative = false;
  Value timeQ, timeK;
};

class Raiser {
public:
  explicit Raiser(SchemeOp scheme) : scheme(scheme), varies(scheme) {}
  void run();

private:
  SmallVector<BiasPart> split(Value bias);
  std::optional<AffinePart> match(BiasPart part);
  bool matchDisplacement(Value value, AffinePart &part) const;
  Value raise(OpBuilder &b, Location loc, const AffinePart &part);

  SchemeOp scheme;
  VariesBy varies;
};

/// The terms of a sum, a few deep.
SmallVector<BiasPart> Raiser::split(Value bias) {
  SmallVector<BiasPart> done, work = {{bias, false}};
  while (!work.empty()) {
    BiasPart part = work.pop_back_val();
    Operation *op = part.value.getDefiningOp();
    if (done.size() + work.size() > 64 ||
        !isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op)) {
      done.push_back(part);
      continue;
    }
    if (isa<arith::NegFOp>(op)) {
      work.push_back({op->getOperand(0), !part.negative});
      continue;
    }
    bool flip = isa<arith::SubFOp>(op);
    // A difference of two times is an age, not two terms.
    if (flip && varies.of(op->getOperand(0)).isRow() !=
                    varies.of(op->getOperand(1)).isRow()) {
      done.push_back(part);
      continue;
    }
    work.push_back({op->getOperand(1), part.negative != flip});
    work.push_back({op->getOperand(0), part.negative});
  }
  return done;
}

/// One token's time or index, read as it is.
std::optional<Side> sideOfTime(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<TimeOp, IndexOp>(op))
    return std::nullopt;
  Value token = isa<TimeOp>(op) ? cast<TimeOp>(op).getToken()
                                : cast<IndexOp>(op).getToken();
  auto from = token.getDefiningOp<TokenOp>();
  return from ? std::optional(from.getSide()) : std::nullopt;
}

bool isSameClock(Value a, Value b) {
  auto x = a.getDefiningOp<TimeOp>(), y = b.getDefiningOp<TimeOp>();
  if (x && y)
    return x.getClock() == y.getClock() && x.getMember() == y.getMember();
  return a.getDefiningOp<IndexOp>() && b.getDefiningOp<IndexOp>();
}

bool Raiser::matchDisplacement(Value value, AffinePart &part) const {
  Operation *op = value.getDefiningOp();
  if (auto real = dyn_cast_or_null<arith::SIToFPOp>(op))
    op = real.getIn().getDefiningOp();
  if (!isa_and_nonnull<arith::SubIOp, arith::SubFOp>(op))
    return false;
  Value a = op->getOperand(0), b = op->getOperand(1);
  auto x = sideOfTime(a), y = sideOfTime(b);
  if (!x || !y || *x == *y || !isSameClock(a, b))
    return false;
  bool isAge = *x == Side::Query;
  part.timeQ = isAge ? a : b;
  part.timeK = isAge ? b : a;
  part.negative ^= isAge;
  return true;
}

std::optional<AffinePart> Raiser::match(BiasPart term) {
  AffinePart part;
  part.negative = term.negative;
  Value value = term.value;
  // Factors that no token decides, around one displacement.
  for (int depth = 0; depth < 16; ++depth) {
    if (matchDisplacement(value, part))
      return part;
    Operation *op = value.getDefiningOp();
    if (auto neg = dyn_cast_or_null<arith::NegFOp>(op)) {
      part.negative = !part.negative;
      value = neg.getOperand();
      continue;
    }
    auto div = dyn_cast_or_null<arith::DivFOp>(op);
    if (div && varies.of(div.getRhs()).isUniform()) {
      part.divisors.push_back(div.getRhs());
      value = div.getLhs();
      continue;
    }
    auto mul = dyn_cast_or_null<arith::MulFOp>(op);
    if (!mul)
      return std::nullopt;
    bool first = varies.of(mul.getLhs()).isUniform();
    if (!first && !varies.of(mul.getRhs()).isUniform())
      return std::nullopt;
    part.factors.push_back(first ? mul.getLhs() : mul.getRhs());
    value = first ? mul.getRhs() : mul.getLhs();
  }
  return std::nullopt;
}

Value Raiser::raise(OpBuilder &b, Location loc, const AffinePart &part) {
  Value slope;
  for (Value factor : part.factors)
    slope =
        slope ? Value(arith::MulFOp::create(b, loc, slope, factor)) : factor;
  if (!slope)
    slope = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1));
  for (Value divisor : part.divisors)
    slope = arith::DivFOp::create(b, loc, slope, divisor);
  if (part.negative)
    slope = arith::NegFOp::create(b, loc, slope);
  auto type = ActionType::get(b.getContext(), 0);
  Value block = UnipotentOp::create(b, loc, type, slope);
  return AtOp::create(b, loc, type, block, part.timeQ, part.timeK);
}

void Raiser::run() {
  BiasOp bias;
  ActionTermOp action;
  for (Operation &op : scheme.getBody().front()) {
    if (auto term = dyn_cast<BiasOp>(op))
      bias = term;
    if (auto term = dyn_cast<ActionTermOp>(op))
      action = term;
  }
  // Without an action or a head there is no width to give one.
  if (!bias || (!action && !scheme.getHead()))
    return;
  SmallVector<AffinePart> affine;
  SmallVector<BiasPart> rest;
  for (BiasPart part : split(bias.getOperand())) {
    if (auto matched = match(part))
      affine.push_back(std::move(*matched));
    else
      rest.push_back(part);
  }
  if (affine.empty())
    return;
  OpBuilder b = OpBuilder::atBlockEnd(&scheme.getBody().front());
  Location loc = bias.getLoc();
  Value base;
  if (action) {
    base = action.getAction();
  } else {
    auto type = ActionType::get(b.getContext(), *scheme.getHead());
    base = ZeroOp::create(b, loc, type);
  }
  SmallVector<Value> parts = {base};
  for (const AffinePart &part : affine)
    parts.push_back(raise(b, loc, part));
  Value sum = ConcatOp::create(b, loc, base.getType(), parts);
  Location where = action ? action.getLoc() : loc;
  if (action)
    action.erase();
  ActionTermOp::create(b, where, sum);
  Value left;
  for (BiasPart part : rest) {
    if (!left)
      left = part.negative ? Value(arith::NegFOp::create(b, loc, part.value))
                           : part.value;
    else if (part.negative)
      left = arith::SubFOp::create(b, loc, left, part.value);
    else
      left = arith::AddFOp::create(b, loc, left, part.value);
  }
  remark::passed(loc, remark::RemarkOpts::name("RaisedUnipotent")
                          .category("torsor-raise-unipotent")
                          .function(scheme.getSymName()))
      << std::string(left ? "a part of the bias" : "the bias") +
             " is affine in an age: it is a unipotent action";
  bias.erase();
  if (left)
    BiasOp::create(b, loc, left);
}

struct RaiseUnipotent : impl::RaiseUnipotentBase<RaiseUnipotent> {
  void runOnOperation() override {
    for (SchemeOp scheme : getOperation().getOps<SchemeOp>())
      Raiser(scheme).run();
  }
};

} // namespace
} // namespace torsor
