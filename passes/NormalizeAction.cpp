// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Identities of direct sums, places and gains, and the pass that applies all.
#include "passes/NormalizeAction.h"

#include "passes/ActionForm.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_NORMALIZEACTION
#include "passes/Passes.h.inc"

int64_t widthOfAction(Value action) {
  return cast<ActionType>(action.getType()).getWidth();
}

namespace {

/// concat(concat(a, b), c) = concat(a, b, c); concat(a) = a; no empty parts.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    bool changed = false;
    for (Value part : op.getParts()) {
      if (auto inner = part.getDefiningOp<ConcatOp>()) {
        parts.append(inner.getParts().begin(), inner.getParts().end());
        changed = true;
      } else if (part.getDefiningOp<ZeroOp>() && widthOfAction(part) == 0) {
        changed = true;
      } else {
        parts.push_back(part);
      }
    }
    if (parts.size() == 1) {
      rewriter.replaceOp(op, parts.front());
      return success();
    }
    if (parts.empty()) {
      rewriter.replaceOpWithNewOp<ZeroOp>(op, op.getType());
      return success();
    }
    if (!changed)
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts);
    return success();
  }
};

/// Is `a` at the same place as `b`: both nowhere, or at the same times?
bool isSamePlace(AtOp a, AtOp b) {
  return (!a && !b) || (a && b && a.getQ() == b.getQ() && a.getK() == b.getK());
}

/// turn f at c + turn g at c = turn (f ++ g) at c; zero(n) + zero(m) =
/// zero(n + m). Only neighbours: the order of lanes stays.
struct JoinNeighbours : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value join(PatternRewriter &rewriter, Location loc, Value a, Value b) {
    auto type = ActionType::get(rewriter.getContext(),
                                widthOfAction(a) + widthOfAction(b));
    if (a.getDefiningOp<ZeroOp>() && b.getDefiningOp<ZeroOp>())
      return ZeroOp::create(rewriter, loc, type);
    auto placeA = a.getDefiningOp<AtOp>(), placeB = b.getDefiningOp<AtOp>();
    auto turnA = (placeA ? placeA.getBase() : a).getDefiningOp<TurnOp>();
    auto turnB = (placeB ? placeB.getBase() : b).getDefiningOp<TurnOp>();
    DenseElementsAttr f, g;
    if (!turnA || !turnB || !isSamePlace(placeA, placeB) ||
        !matchPattern(turnA.getFrequencies(), m_Constant(&f)) ||
        !matchPattern(turnB.getFrequencies(), m_Constant(&g)))
      return {};
    SmallVector<double> both;
    for (DenseElementsAttr part : {f, g})
      for (const APFloat &value : part.getValues<APFloat>())
        both.push_back(value.convertToDouble());
    Value joined = makeTurn(rewriter, loc, both);
    if (placeA)
      joined = AtOp::create(rewriter, loc, joined.getType(), joined,
                            placeA.getQ(), placeA.getK());
    return joined;
  }

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value part : op.getParts()) {
      Value joined = parts.empty()
                         ? Value()
                         : join(rewriter, op.getLoc(), parts.back(), part);
      if (joined)
        parts.back() = joined;
      else
        parts.push_back(part);
    }
    if (parts.size() == op.getParts().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts);
    return success();
  }
};

/// A place goes to the blocks: (A + B) at c = A at c + B at c, and the same
/// through layouts and gains; zero at c = zero.
struct PushPlace : OpRewritePattern<AtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtOp op,
                                PatternRewriter &rewriter) const override {
    Operation *base = op.getBase().getDefiningOp();
    // A family of times has one for each block.
    if (!base || isa<RankedTensorType>(op.getQ().getType()))
      return failure();
    // The place next to a block counts; only a default stands around another.
    if (isa<ZeroOp, AtOp>(base)) {
      rewriter.replaceOp(op, op.getBase());
      return success();
    }
    auto place = [&](Value action) -> Value {
      return AtOp::create(rewriter, op.getLoc(), action.getType(), action,
                          op.getQ(), op.getK());
    };
    if (!isa<ConcatOp, SplitOp, AdjacentOp, GainOp>(base))
      return failure();
    SmallVector<Value> operands(base->getOperands());
    unsigned count = isa<ConcatOp>(base) ? operands.size() : 1;
    for (unsigned n = 0; n < count; ++n)
      operands[n] = place(operands[n]);
    Operation *copy = rewriter.clone(*base);
    copy->setOperands(operands);
    rewriter.replaceOp(op, copy->getResults());
    return success();
  }
};

/// gain(gain(A, g), h) = gain(A, g h); gain(A, 1) = A; gain(zero, q, k) stays.
struct JoinGains : OpRewritePattern<GainOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GainOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getBy())
      return failure();
    if (constantReal(op.getBy()) == 1.0) {
      rewriter.replaceOp(op, op.getBase());
      return success();
    }
    auto inner = op.getBase().getDefiningOp<GainOp>();
    if (!inner || !inner.getBy())
      return failure();
    auto g = constantReal(inner.getBy()), h = constantReal(op.getBy());
    Value both;
    if (g && h)
      both = arith::ConstantOp::create(rewriter, op.getLoc(),
                                       rewriter.getF64FloatAttr(*g * *h));
    else
      both = arith::MulFOp::create(rewriter, op.getLoc(), inner.getBy(),
                                   op.getBy());
    rewriter.replaceOpWithNewOp<GainOp>(op, op.getType(), inner.getBase(), both,
                                        Value(), Value());
    return success();
  }
};

/// A gain g on every lane is g^2 on the scale. Not with `logit`, which reads
/// the score before any scale.
struct FoldGain : OpRewritePattern<ActionTermOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ActionTermOp op,
                                PatternRewriter &rewriter) const override {
    auto gain = op.getAction().getDefiningOp<GainOp>();
    if (!gain || !gain.getBy())
      return failure();
    ScaleOp scale;
    Block *block = op->getBlock();
    for (Operation &other : *block) {
      if (isa<LogitOp>(other))
        return failure();
      if (auto term = dyn_cast<ScaleOp>(other))
        scale = term;
    }
    Location loc = op.getLoc();
    rewriter.setInsertionPointToEnd(block);
    Value old;
    if (scale)
      old = scale.getOperand();
    else
      old = arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getF64FloatAttr(
              1 / std::sqrt(double(widthOfAction(op.getAction())))));
    Value square =
        arith::MulFOp::create(rewriter, loc, gain.getBy(), gain.getBy());
    Value both = arith::MulFOp::create(rewriter, loc, old, square);
    if (scale)
      rewriter.eraseOp(scale);
    ScaleOp::create(rewriter, loc, both);
    rewriter.modifyOpInPlace(
        op, [&] { op.getActionMutable().assign(gain.getBase()); });
    return success();
  }
};

struct NormalizeAction : impl::NormalizeActionBase<NormalizeAction> {
  using NormalizeActionBase::NormalizeActionBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FlattenConcat, JoinNeighbours, PushPlace, JoinGains>(
        &getContext());
    populateGeneratorPatterns(patterns);
    if (foldGain)
      patterns.add<FoldGain>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (SchemeOp scheme : getOperation().getOps<SchemeOp>()) {
      // Else a clock that is only declared would look unused.
      placeAtPosition(scheme, /*onlyDeclared=*/true);
      if (failed(applyPatternsGreedily(scheme->getRegion(0), frozen, config)))
        return signalPassFailure();
    }
  }
};

} // namespace

void placeAtPosition(SchemeOp scheme, bool onlyDeclared) {
  Block &body = scheme.getBody().front();
  ClockOp position;
  for (ClockOp clock : body.getOps<ClockOp>())
    if (clock.getName() == "pos")
      position = clock;
  if (onlyDeclared && !position)
    return;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isa<ActionTermOp, ValueActionOp>(op))
      continue;
    Operation *term = &op;
    Value action = term->getOperand(0);
    FailureOr<ActionForm> form = flattenAction(action);
    if (failed(form) || llvm::all_of(form->units, [](const ActionUnit &unit) {
          return isa<ZeroOp>(unit.block) || unit.timeQ;
        }))
      continue;
    OpBuilder b(term);
    Location loc = term->getLoc();
    if (!position) {
      auto type = ClockType::get(b.getContext(), b.getI32Type(), 0);
      position =
          ClockOp::create(b, loc, type, b.getStringAttr("pos"), UnitAttr(),
                          UnitAttr(), FloatAttr(), FloatAttr());
    }
    position->moveBefore(&body, body.begin());
    Type time = isa<FloatType>(position.getType().getElement())
                    ? Type(b.getF64Type())
                    : Type(b.getI64Type());
    SmallVector<Value, 2> times;
    for (Side side : {Side::Query, Side::Key}) {
      Value token =
          TokenOp::create(b, loc, TokenType::get(b.getContext()), side);
      times.push_back(TimeOp::create(b, loc, time, position, {}, token));
    }
    term->setOperand(
        0, AtOp::create(b, loc, action.getType(), action, times[0], times[1]));
  }
}

Value makeTurn(OpBuilder &b, Location loc, ArrayRef<double> frequencies) {
  auto vector =
      RankedTensorType::get({int64_t(frequencies.size())}, b.getF64Type());
  Value constant = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(vector, frequencies));
  auto type = ActionType::get(b.getContext(), 2 * frequencies.size());
  return TurnOp::create(b, loc, type, constant);
}

} // namespace torsor
