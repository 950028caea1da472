// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the terms of a scheme: refuses what has no kernel, folds the scale and
// log2 e into q, tables and constants.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"
#include "passes/PlainScheme.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

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
      .Case([&](ValueActionOp) { return noKernel(loc, "an action on values"); })
      .Case([&](ValueBiasOp) {
        return noKernel(loc, "a vector added to values");
      })
      .Case([&](EmbedOp) { return noKernel(loc, "an additive encoding"); })
      .Case([&](NormOp) { return noKernel(loc, "a norm of q and k"); })
      .Case([&](ReadoutOp readout) -> LogicalResult {
        if (readout.getKind() == ReadoutKind::Softmax)
          return success();
        return noKernel(loc, readout.getKind() == ReadoutKind::Linear
                                 ? "a linear readout"
                                 : "the delta rule");
      })
      .Case(
          [&](RunningOp) { return noKernel(loc, "a running sum as a clock"); })
      .Case([&](PathSumOp) {
        return noKernel(loc, "a sum over the tokens between key and query");
      })
      .Case([&](VectorOp) {
        return noKernel(loc, "a term that reads the contents of q and k");
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
  if (scheme.getValue())
    plan.value = *scheme.getValue();
  else
    plan.value = valueOption ? valueOption : plan.head;
  if (plan.head == 0)
    return scheme.emitError("the scheme leaves the width of a head open; the "
                            "compile command must give it");
  for (int64_t width : {plan.head, plan.value})
    if (width < 1 || width > 1024)
      return scheme.emitError("head and value are 1 to 1024 wide, but one is ")
             << width;
  return success();
}

} // namespace

LogicalResult refuseTerms(SchemeOp scheme) {
  LogicalResult result = success();
  for (Operation &op : scheme.getBody().front())
    if (failed(refuse(op)))
      result = failure();
  return result;
}

LogicalResult planTerms(SchemePlan &plan, int64_t headOption,
                        int64_t valueOption) {
  SchemeOp scheme = plan.scheme;
  Value scale, bias, softcap, sink, logit;
  Location biasLoc = scheme.getLoc(), sinkLoc = scheme.getLoc();
  Value action;
  for (Operation &op : scheme.getBody().front()) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ActionTermOp term) { action = term.getAction(); })
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
        .Case([&](MaskOp term) { plan.mask = term.getOperand(); });
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

  Folder fold(plan, biasLoc);
  if (!scale)
    scale = fold.real(1.0 / std::sqrt(double(plan.head)));
  if (bias)
    bias = fold.scaled(bias, log2e);
  FailureOr<Value> start = unipotentStart(plan, fold);
  if (failed(start))
    return failure();
  if (logit) {
    plan.logit = fold.scaled(logit, log2e);
  } else if (softcap) {
    // c tanh(scale score / c) + bias: the inner factor goes to q.
    plan.scale = arith::DivFOp::create(fold.b, fold.loc, scale, softcap);
    Value z = math::TanhOp::create(fold.b, fold.loc, fold.score());
    plan.logit = fold.times(z, fold.scaled(softcap, log2e));
    if (bias)
      plan.logit = fold.sum(plan.logit, bias);
  } else {
    plan.scale = fold.scaled(scale, log2e);
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
    return noKernel(scale.getLoc(), "a scale that reads contents");
  if (sink) {
    plan.sink = fold.scaled(sink, log2e);
    if (!plan.varies.of(sink).isRow())
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
