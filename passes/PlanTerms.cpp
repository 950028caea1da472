// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the terms of a scheme: refuses what has no kernel, folds the scale and
// log2 e into q, tables and constants.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"
#include "passes/PlainScheme.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

constexpr double log2e = 1.4426950408889634;

/// Scalars that are added to a scheme, behind all others.
class Folder {
public:
  Folder(SchemePlan &plan, Location loc)
      : plan(plan), b(OpBuilder::atBlockEnd(&plan.scheme.getBody().front())),
        loc(loc) {}

  Value real(double value) {
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
  }
  Value times(Value a, Value c) { return arith::MulFOp::create(b, loc, a, c); }
  /// Either may be null.
  Value sum(Value a, Value c) {
    return !a ? c : !c ? a : Value(arith::AddFOp::create(b, loc, a, c));
  }
  Value score() {
    return AmbientOp::create(b, loc, b.getF64Type(), Ambient::Score);
  }

  /// value * factor, the factor pushed to where it costs nothing per pair: into
  /// constants, tables and slots.
  Value scaled(Value value, double factor, int depth = 0);

  SchemePlan &plan;
  OpBuilder b;
  Location loc;

private:
  /// Can take a factor without an operation per pair.
  bool absorbs(Value value, int depth = 0);
};

bool Folder::absorbs(Value value, int depth) {
  VarySet set = plan.varies.of(value);
  if (set.isRow() || set.isColumn())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth > 8)
    return false;
  auto below = [&](unsigned n) {
    return absorbs(op->getOperand(n), depth + 1);
  };
  if (isa<arith::NegFOp, arith::DivFOp>(op))
    return below(0);
  if (isa<arith::MulFOp>(op))
    return below(0) || below(1);
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return below(0) && below(1);
  if (isa<arith::SelectOp>(op))
    return below(1) && below(2);
  return false;
}

Value Folder::scaled(Value value, double factor, int depth) {
  if (std::optional<double> constant = constantReal(value))
    return real(*constant * factor);
  VarySet set = plan.varies.of(value);
  if (!absorbs(value, depth) || set.isRow() || set.isColumn())
    return times(value, real(factor));
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands(op->getOperands());
  auto push = [&](unsigned n) {
    operands[n] = scaled(operands[n], factor, depth + 1);
  };
  if (isa<arith::NegFOp, arith::DivFOp>(op))
    push(0);
  else if (isa<arith::MulFOp>(op))
    push(absorbs(operands[0], depth + 1) ? 0 : 1);
  else if (isa<arith::AddFOp, arith::SubFOp>(op))
    push(0), push(1);
  else
    push(1), push(2);
  Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  return copy->getResult(0);
}

/// Refuses one operation that no kernel computes.
LogicalResult refuse(Operation &op) {
  Location loc = op.getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](EmbedOp) -> LogicalResult {
        if (encodingOf(cast<SchemeOp>(op.getParentOp())))
          return success();
        return noKernel(loc, "an additive encoding beside attention; "
                             "torsor-split-encoding takes the two apart");
      })
      .Case([&](ReadoutOp readout) -> LogicalResult {
        if (readout.getKind() != ReadoutKind::Delta)
          return success();
        return noKernel(loc, "the delta rule");
      })
      .Case([&](SumOp sum) {
        return noKernel(loc, "a sum of " + Twine(sum.getCount()) +
                                 " terms; at most " + Twine(maxTerms) +
                                 " are written out");
      })
      .Default([](Operation *) { return success(); });
}

/// What the unipotent blocks add to a logit, in log2 units; null without one.
FailureOr<Value> unipotentStart(SchemePlan &plan, Folder &fold) {
  Value start;
  for (const ActionUnit &unit : plan.action.units) {
    auto block = dyn_cast<UnipotentOp>(unit.block);
    if (!block)
      continue;
    if (!unit.within.empty())
      return noKernel(block.getLoc(), "a unipotent block that is chosen");
    if (!plan.varies.of(block.getSlope()).isUniform())
      return noKernel(block.getLoc(), "a slope that varies by a token");
    Location loc = block.getLoc();
    Value delta;
    if (unit.timeQ.getType().isInteger(64) &&
        unit.timeK.getType().isInteger(64)) {
      // Exact in integers, then one rounding.
      delta = arith::SubIOp::create(fold.b, loc, unit.timeK, unit.timeQ);
      delta = arith::SIToFPOp::create(fold.b, loc, fold.b.getF64Type(), delta);
    } else {
      auto real = [&](Value time) -> Value {
        return time.getType().isF64()
                   ? time
                   : Value(arith::SIToFPOp::create(fold.b, loc,
                                                   fold.b.getF64Type(), time));
      };
      delta = arith::SubFOp::create(fold.b, loc, real(unit.timeK),
                                    real(unit.timeQ));
    }
    Value slope = fold.scaled(block.getSlope(), log2e);
    start = fold.sum(start, fold.times(slope, delta));
  }
  return start;
}

LogicalResult planWidths(SchemePlan &plan, int64_t headOption,
                         int64_t valueOption) {
  SchemeOp scheme = plan.scheme;
  if (scheme.getHead())
    plan.head = *scheme.getHead();
  else if (plan.action.width)
    plan.head = plan.action.width;
  else
    plan.head = headOption;
  if (scheme.getValueLow() || scheme.getValueHigh()) {
    int64_t low = scheme.getValueLow().value_or(0);
    int64_t high = scheme.getValueHigh().value_or(low);
    if (low < 0 || high < low || high >= plan.head)
      return scheme.emitError("a value is lanes ")
             << low << " to " << high << " of the key, which has 0 to "
             << plan.head - 1;
    plan.valueLow = low;
    plan.value = high - low + 1;
  } else if (scheme.getValue())
    plan.value = *scheme.getValue();
  else
    plan.value = valueOption ? valueOption : plan.head;
  if (plan.head == 0)
    return scheme.emitError("the scheme leaves the width of a head open; give "
                            "it by --head-width D, or write 'head D'");
  for (int64_t width : {plan.head, plan.value})
    if (width < 1 || width > 1024)
      return scheme.emitError("head and value are 1 to 1024 wide, but one is ")
             << width;
  return success();
}

/// Does a term read the product of q and k as such?
bool readsProduct(SchemeOp scheme) {
  return !scheme.getBody().getOps<DotOp>().empty();
}

/// A vector added to values: a row of a table that the pair picks, or one
/// vector for all pairs.
LogicalResult planValueRows(SchemePlan &plan, ValueBiasOp term) {
  Location loc = term.getLoc();
  Value vector = term.getOperand();
  OpBuilder b(term);
  plan.valuePlaceRow = CountedOp::create(b, loc, b.getI64Type());
  plan.valuePlaceLane = CountedOp::create(b, loc, b.getI64Type());
  if (cast<RankedTensorType>(vector.getType()).getDimSize(0) != plan.value)
    return term.emitError("the vector added to values must be ")
           << plan.value << " wide, as they are";
  if (!plan.varies.of(vector).isUniform()) {
    auto read = vector.getDefiningOp<ReadOp>();
    if (!read || plan.varies.of(vector).has(VarySet::Content | VarySet::Path))
      return noKernel(loc,
                      "a vector added to values that is no row of a table");
    auto type = cast<RankedTensorType>(read.getTensor().getType());
    SmallVector<Value> indices(read.getIndices());
    for (auto [n, index] : llvm::enumerate(read.getIndices())) {
      if (index.getType().isInteger(64) && plan.varies.of(index).isUniform())
        continue;
      if (!index.getType().isInteger(64) || plan.valueRow ||
          ShapedType::isDynamic(type.getDimSize(n)))
        return noKernel(loc, "a vector added to values that is not a row of a "
                             "table picked by one number");
      plan.valueRows = type.getDimSize(n);
      auto number = [&](int64_t value) -> Value {
        return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
      };
      plan.valueRow = arith::MaxSIOp::create(b, loc, index, number(0));
      plan.valueRow = arith::MinSIOp::create(b, loc, plan.valueRow,
                                             number(plan.valueRows - 1));
      indices[n] = plan.valuePlaceRow;
    }
    vector = ReadOp::create(b, loc, read.getType(), read.getTensor(), indices);
  } else {
    plan.valueRow = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    plan.valueRows = 1;
  }
  plan.valueElement = laneOf(b, loc, vector, plan.valuePlaceLane);
  return success();
}

/// Operations behind a term that are done for each pair.
int64_t countPairOperations(Operation &term, VariesBy &varies) {
  llvm::SetVector<Operation *> needed;
  auto take = [&](Operation *op) {
    for (Value operand : op->getOperands()) {
      VarySet set = varies.of(operand);
      Operation *from = operand.getDefiningOp();
      if (from && !set.isRow() && !set.without(VarySet::Head).isColumn())
        needed.insert(from);
    }
  };
  take(&term);
  for (size_t n = 0; n < needed.size(); ++n)
    take(needed[n]);
  return int64_t(needed.size());
}

} // namespace

LogicalResult refuseTerms(SchemeOp scheme) {
  LogicalResult result = success();
  for (Operation &op : scheme.getBody().front())
    if (failed(refuse(op)))
      result = failure();
  if (failed(result))
    return result;
  VariesBy varies(scheme);
  for (Operation &op : scheme.getBody().front()) {
    if (!isa<BiasOp, LogitOp, MaskOp, ValueBiasOp>(op))
      continue;
    int64_t count = countPairOperations(op, varies);
    if (count > maxPairOperations)
      return noKernel(op.getLoc(),
                      Twine(count) +
                          " operations for each pair of a query and "
                          "a key; at most " +
                          Twine(maxPairOperations) +
                          " are compiled: write fewer terms, or read what "
                          "they sum to from a param by the distance");
  }
  return result;
}

LogicalResult planTerms(SchemePlan &plan, int64_t headOption,
                        int64_t valueOption) {
  SchemeOp scheme = plan.scheme;
  Value scale, bias, softcap, sink, logit;
  Location biasLoc = scheme.getLoc(), sinkLoc = scheme.getLoc(),
           readoutLoc = scheme.getLoc();
  Value action;
  ValueBiasOp added;
  for (Operation &op : scheme.getBody().front()) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ActionTermOp term) { action = term.getAction(); })
        .Case([&](ValueActionOp term) { plan.valueAction = term; })
        .Case([&](ScaleOp term) { scale = term.getOperand(); })
        .Case([&](SoftcapOp term) { softcap = term.getOperand(); })
        .Case([&](LogitOp term) { logit = term.getOperand(); })
        .Case([&](BiasOp term) {
          bias = term.getOperand();
          biasLoc = term.getLoc();
        })
        .Case([&](SinkOp term) {
          sink = term.getOperand();
          sinkLoc = term.getLoc();
        })
        .Case([&](MaskOp term) { plan.mask = term.getOperand(); })
        .Case([&](NormOp term) { plan.norm = term; })
        .Case([&](PathTotalOp total) { plan.paths.push_back(total); })
        .Case([&](ReadoutOp term) {
          plan.linear = term.getKind() == ReadoutKind::Linear;
          plan.divisor = term.getDivisor();
          readoutLoc = term.getLoc();
        })
        .Case([&](ValueBiasOp term) { added = term; });
  }
  if (plan.mask && matchPattern(plan.mask, m_One()))
    plan.mask = {};
  if (action) {
    FailureOr<ActionForm> form = flattenAction(action);
    if (failed(form))
      return failure();
    plan.action = std::move(*form);
  }
  if (failed(planWidths(plan, headOption, valueOption)))
    return failure();

  if (plan.divisor && plan.varies.of(plan.divisor).has(VarySet::Content))
    return noKernel(readoutLoc, "a divisor that reads contents");
  if (plan.valueAction && added)
    return noKernel(added.getLoc(),
                    "a vector added to values that are acted on");
  if (added && failed(planValueRows(plan, added)))
    return failure();
  Folder fold(plan, biasLoc);
  if (!scale)
    scale = fold.real(1.0 / std::sqrt(double(plan.head)));
  // Weights are exp2 of z, or z itself.
  double unit = plan.linear ? 1.0 : log2e;
  if (bias)
    bias = fold.scaled(bias, unit);
  FailureOr<Value> start = unipotentStart(plan, fold);
  if (failed(start))
    return failure();
  if (logit) {
    plan.logit = fold.scaled(logit, unit);
  } else if (readsProduct(scheme)) {
    // q k stands bare in a term, so that the scale cannot be in q.
    Value z =
        fold.times(fold.score(), softcap ? scale : fold.scaled(scale, unit));
    if (softcap) {
      z = math::TanhOp::create(
          fold.b, fold.loc,
          arith::DivFOp::create(fold.b, fold.loc, z, softcap));
      z = fold.times(z, fold.scaled(softcap, unit));
    }
    plan.logit = fold.sum(z, bias);
  } else if (softcap) {
    // c tanh(scale score / c) + bias: the inner factor goes to q.
    plan.scale = arith::DivFOp::create(fold.b, fold.loc, scale, softcap);
    Value z = math::TanhOp::create(fold.b, fold.loc, fold.score());
    plan.logit = fold.times(z, fold.scaled(softcap, unit));
    if (bias)
      plan.logit = fold.sum(plan.logit, bias);
  } else {
    plan.scale = fold.scaled(scale, unit);
    plan.init = *start;
    if (bias && isToeplitz(plan, bias))
      plan.init = fold.sum(plan.init, bias);
    else if (bias)
      plan.logit = fold.sum(fold.score(), bias);
  }
  // Behind a softcap the score has no start any more.
  if (*start && !plan.init)
    plan.logit = fold.sum(plan.logit, *start);
  if (plan.scale && !plan.varies.of(plan.scale).isRow())
    return noKernel(scale.getLoc(), "a scale that varies by the key");
  if (sink) {
    plan.sink = fold.scaled(sink, log2e);
    if (plan.varies.of(sink).has(VarySet::Content))
      return noKernel(sinkLoc, "a sink that reads contents");
  }
  // Constants of constants, so that a constant scale is an attribute.
  if (plan.scale) {
    if (auto div = plan.scale.getDefiningOp<arith::DivFOp>()) {
      auto a = constantReal(div.getLhs()), c = constantReal(div.getRhs());
      if (a && c)
        plan.scale = fold.real(*a / *c);
    }
    plan.constantScale = constantReal(plan.scale);
  }
  return success();
}

} // namespace torsor
