// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Identities of generators: sums on one clock, frequency 0, clocks scaled and
// shifted by constants.
#include "passes/ActionForm.h"
#include "passes/NormalizeAction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {
namespace {

std::optional<SmallVector<double>> constantFrequencies(TurnOp turn) {
  DenseElementsAttr list;
  if (!turn || !matchPattern(turn.getFrequencies(), m_Constant(&list)))
    return std::nullopt;
  SmallVector<double> values;
  for (const APFloat &value : list.getValues<APFloat>())
    values.push_back(value.convertToDouble());
  return values;
}

/// A pair that does not turn is a zero block.
struct ZeroFrequency : OpRewritePattern<TurnOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TurnOp op,
                                PatternRewriter &rewriter) const override {
    auto values = constantFrequencies(op);
    if (!values || !llvm::is_contained(*values, 0.0))
      return failure();
    SmallVector<Value> parts;
    for (size_t begin = 0, end; begin < values->size(); begin = end) {
      bool still = (*values)[begin] == 0;
      for (end = begin; end < values->size() && ((*values)[end] == 0) == still;)
        ++end;
      if (still)
        parts.push_back(ZeroOp::create(
            rewriter, op.getLoc(),
            ActionType::get(rewriter.getContext(), 2 * (end - begin))));
      else
        parts.push_back(
            makeTurn(rewriter, op.getLoc(),
                     ArrayRef<double>(*values).slice(begin, end - begin)));
    }
    if (parts.size() == 1)
      rewriter.replaceOp(op, parts.front());
    else
      rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts);
    return success();
  }
};

/// On one clock exp(d X) exp(d Y) = exp(d (X + Y)) where X and Y commute: turns
/// of the same pairs, decays of the same lanes; zero changes nothing.
struct JoinProduct : OpRewritePattern<ProductOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ProductOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.getRhs().getDefiningOp<ZeroOp>()) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    if (op.getLhs().getDefiningOp<ZeroOp>()) {
      rewriter.replaceOp(op, op.getRhs());
      return success();
    }
    auto placeA = op.getLhs().getDefiningOp<AtOp>();
    auto placeB = op.getRhs().getDefiningOp<AtOp>();
    bool same = (!placeA && !placeB) ||
                (placeA && placeB && placeA.getQ() == placeB.getQ() &&
                 placeA.getK() == placeB.getK());
    if (!same)
      return failure();
    Value lhs = placeA ? placeA.getBase() : op.getLhs();
    Value rhs = placeB ? placeB.getBase() : op.getRhs();
    Value joined;
    auto decayA = lhs.getDefiningOp<DecayOp>();
    auto decayB = rhs.getDefiningOp<DecayOp>();
    auto f = constantFrequencies(lhs.getDefiningOp<TurnOp>());
    auto g = constantFrequencies(rhs.getDefiningOp<TurnOp>());
    if (decayA && decayB) {
      Value rate = arith::AddFOp::create(rewriter, loc, decayA.getRate(),
                                         decayB.getRate());
      joined = DecayOp::create(rewriter, loc, op.getType(), rate);
    } else if (f && g) {
      for (auto [x, y] : llvm::zip(*f, *g))
        x += y;
      joined = makeTurn(rewriter, loc, *f);
    } else {
      return failure();
    }
    if (placeA)
      joined = AtOp::create(rewriter, loc, joined.getType(), joined,
                            placeA.getQ(), placeA.getK());
    rewriter.replaceOp(op, joined);
    return success();
  }
};

/// A time that is another one times a constant, or divided by it.
struct ScaledTime {
  Value time;
  double constant = 1;
  bool isDivided = false;
};

std::optional<ScaledTime> scaledTime(Value time) {
  if (auto div = time.getDefiningOp<arith::DivFOp>())
    if (auto c = constantReal(div.getRhs()); c && *c != 0)
      return ScaledTime{div.getLhs(), *c, true};
  if (auto mul = time.getDefiningOp<arith::MulFOp>()) {
    if (auto c = constantReal(mul.getRhs()))
      return ScaledTime{mul.getLhs(), *c, false};
    if (auto c = constantReal(mul.getLhs()))
      return ScaledTime{mul.getRhs(), *c, false};
  }
  return std::nullopt;
}

/// exp((d / c) X) = exp(d (X / c)): a clock divided by a constant divides the
/// frequencies, and integers stay integers.
struct ScaleClock : OpRewritePattern<AtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtOp op,
                                PatternRewriter &rewriter) const override {
    auto values = constantFrequencies(op.getBase().getDefiningOp<TurnOp>());
    auto q = scaledTime(op.getQ()), k = scaledTime(op.getK());
    if (!values || !q || !k || q->constant != k->constant ||
        q->isDivided != k->isDivided)
      return failure();
    for (double &value : *values)
      value = q->isDivided ? value / q->constant : value * q->constant;
    for (ScaledTime *side : {&*q, &*k})
      if (auto real = side->time.getDefiningOp<arith::SIToFPOp>())
        side->time = real.getIn();
    if (q->time.getType() != k->time.getType())
      return failure();
    Value turn = makeTurn(rewriter, op.getLoc(), *values);
    rewriter.replaceOpWithNewOp<AtOp>(op, op.getType(), turn, q->time, k->time);
    return success();
  }
};

/// (s + c, t + c) = (s, t): only the difference counts.
struct CancelOffset : OpRewritePattern<AtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtOp op,
                                PatternRewriter &rewriter) const override {
    auto a = op.getQ().getDefiningOp<arith::AddIOp>();
    auto b = op.getK().getDefiningOp<arith::AddIOp>();
    if (!a || !b || !op.getBase().getDefiningOp<Generator>())
      return failure();
    APInt x, y;
    if (!matchPattern(a.getRhs(), m_ConstantInt(&x)) ||
        !matchPattern(b.getRhs(), m_ConstantInt(&y)) || x != y)
      return failure();
    rewriter.replaceOpWithNewOp<AtOp>(op, op.getType(), op.getBase(),
                                      a.getLhs(), b.getLhs());
    return success();
  }
};

} // namespace

void populateGeneratorPatterns(RewritePatternSet &patterns) {
  patterns.add<ZeroFrequency, JoinProduct, ScaleClock, CancelOffset>(
      patterns.getContext());
}

} // namespace torsor
