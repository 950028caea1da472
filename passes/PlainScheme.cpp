// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes sums out and resolves elements of vectors to scalars.
#include "passes/PlainScheme.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace torsor {
namespace {

Value constantIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

/// Operations that may still be written out; a scheme of .mlir may nest sums
/// and tabulations so that they multiply.
constexpr int64_t maxOperations = 1 << 18;

struct Budget {
  int64_t left = maxOperations;

  /// Takes `times` copies of a term, or gives false.
  bool take(Region &term, int64_t times) {
    int64_t size = 0;
    term.walk([&](Operation *) { ++size; });
    if (size * times > left)
      return false;
    left -= size * times;
    return true;
  }
};

/// Clones a term with its argument bound; gives what it yields.
Value inlineTerm(PatternRewriter &rewriter, Region &term, Value argument) {
  Block &block = term.front();
  IRMapping mapping;
  mapping.map(block.getArgument(0), argument);
  for (Operation &op : block.without_terminator())
    rewriter.clone(op, mapping);
  return mapping.lookupOrDefault(
      cast<YieldOp>(block.getTerminator()).getValues()[0]);
}

/// An index that every vector of n elements has.
Value clampIndex(OpBuilder &b, Location loc, Value index, int64_t extent) {
  Value low = constantIndex(b, loc, 0);
  Value high = constantIndex(b, loc, extent - 1);
  Value least = arith::MaxSIOp::create(b, loc, index, low);
  return arith::MinSIOp::create(b, loc, least, high);
}

struct WriteOutSum : OpRewritePattern<SumOp> {
  WriteOutSum(MLIRContext *context, Budget &budget)
      : OpRewritePattern(context), budget(budget) {}

  Budget &budget;

  LogicalResult matchAndRewrite(SumOp op,
                                PatternRewriter &rewriter) const override {
    int64_t count = op.getCount();
    if (count > maxTerms || !budget.take(op.getTerm(), count))
      return failure();
    Location loc = op.getLoc();
    bool integer = op.getType().isInteger(64);
    if (count <= 0) {
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(
          op, integer ? TypedAttr(rewriter.getI64IntegerAttr(0))
                      : TypedAttr(rewriter.getF64FloatAttr(0)));
      return success();
    }
    Value sum;
    for (int64_t p = 0; p < count; ++p) {
      Value term =
          inlineTerm(rewriter, op.getTerm(), constantIndex(rewriter, loc, p));
      if (!sum)
        sum = term;
      else if (integer)
        sum = arith::AddIOp::create(rewriter, loc, sum, term);
      else
        sum = arith::AddFOp::create(rewriter, loc, sum, term);
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

/// Elements of lists, tabulations, constants, choices, rows and times.
struct ResolveElement : OpRewritePattern<ElementOp> {
  ResolveElement(MLIRContext *context, Budget &budget)
      : OpRewritePattern(context), budget(budget) {}

  Budget &budget;

  LogicalResult matchAndRewrite(ElementOp op,
                                PatternRewriter &rewriter) const override {
    Operation *vector = op.getVector().getDefiningOp();
    int64_t extent =
        cast<RankedTensorType>(op.getVector().getType()).getDimSize(0);
    if (!vector || extent == 0)
      return failure();
    Location loc = op.getLoc();
    std::optional<int64_t> constant;
    if (APInt index; matchPattern(op.getIndex(), m_ConstantInt(&index)))
      constant = std::clamp<int64_t>(
          index.getSExtValue(), 0,
          ShapedType::isDynamic(extent) ? index.getSExtValue() : extent - 1);
    if (auto read = dyn_cast<ReadOp>(vector)) {
      SmallVector<Value> indices(read.getIndices());
      indices.push_back(op.getIndex());
      rewriter.replaceOpWithNewOp<ReadOp>(op, op.getType(), read.getTensor(),
                                          indices);
      return success();
    }
    if (auto select = dyn_cast<arith::SelectOp>(vector)) {
      if (!select.getCondition().getType().isInteger(1))
        return failure();
      Value a = ElementOp::create(rewriter, loc, op.getType(),
                                  select.getTrueValue(), op.getIndex());
      Value b = ElementOp::create(rewriter, loc, op.getType(),
                                  select.getFalseValue(), op.getIndex());
      rewriter.replaceOpWithNewOp<arith::SelectOp>(op, select.getCondition(), a,
                                                   b);
      return success();
    }
    if (auto tabulate = dyn_cast<TabulateOp>(vector)) {
      if (ShapedType::isDynamic(extent) || !budget.take(tabulate.getTerm(), 1))
        return failure();
      Value index = constant ? constantIndex(rewriter, loc, *constant)
                             : clampIndex(rewriter, loc, op.getIndex(), extent);
      rewriter.replaceOp(op, inlineTerm(rewriter, tabulate.getTerm(), index));
      return success();
    }
    if (auto time = dyn_cast<TimeOp>(vector); time && constant) {
      rewriter.replaceOpWithNewOp<TimeOp>(op, op.getType(), time.getClock(),
                                          rewriter.getI64IntegerAttr(*constant),
                                          time.getToken());
      return success();
    }
    if (auto list = dyn_cast<ListOp>(vector))
      return resolveList(op, list, constant, rewriter);
    return resolveConstant(op, constant, rewriter);
  }

  static LogicalResult resolveList(ElementOp op, ListOp list,
                                   std::optional<int64_t> constant,
                                   PatternRewriter &rewriter) {
    ValueRange elements = list.getElements();
    if (constant) {
      rewriter.replaceOp(op, elements[*constant]);
      return success();
    }
    // A chain of choices; below the first index the first, past the last one
    // the last.
    Value chosen = elements.front();
    for (auto [n, element] : llvm::enumerate(elements.drop_front())) {
      Value bound = constantIndex(rewriter, op.getLoc(), n + 1);
      Value reached = arith::CmpIOp::create(rewriter, op.getLoc(),
                                            arith::CmpIPredicate::sge,
                                            op.getIndex(), bound);
      chosen = arith::SelectOp::create(rewriter, op.getLoc(), reached, element,
                                       chosen);
    }
    rewriter.replaceOp(op, chosen);
    return success();
  }

  static LogicalResult resolveConstant(ElementOp op,
                                       std::optional<int64_t> constant,
                                       PatternRewriter &rewriter) {
    DenseElementsAttr dense;
    if (!constant || !matchPattern(op.getVector(), m_Constant(&dense)))
      return failure();
    auto values = dense.getValues<Attribute>();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, cast<TypedAttr>(values[*constant]));
    return success();
  }
};

/// A row of a tensor that some computed index picks, in the scheme's own block:
/// what liftDots takes.
bool isPickedRow(DotOp op, Value vector) {
  auto read = vector.getDefiningOp<ReadOp>();
  return read && isa<SchemeOp>(op->getParentOp()) &&
         llvm::any_of(read.getIndices(), [](Value index) {
           return index.getType().isInteger(64) &&
                  !index.getDefiningOp<arith::ConstantOp>() &&
                  !index.getDefiningOp<AmbientOp>();
         });
}

/// A dot product of vectors that are not q or k.
struct WriteOutDot : OpRewritePattern<DotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DotOp op,
                                PatternRewriter &rewriter) const override {
    int64_t extent =
        cast<RankedTensorType>(op.getLhs().getType()).getDimSize(0);
    if (ShapedType::isDynamic(extent) || extent > maxTerms ||
        op.getLhs().getDefiningOp<VectorOp>() ||
        op.getRhs().getDefiningOp<VectorOp>() || isPickedRow(op, op.getLhs()) ||
        isPickedRow(op, op.getRhs()))
      return failure();
    Location loc = op.getLoc();
    Value sum;
    for (int64_t p = 0; p < extent; ++p) {
      Value index = constantIndex(rewriter, loc, p);
      Type f64 = rewriter.getF64Type();
      Value a = ElementOp::create(rewriter, loc, f64, op.getLhs(), index);
      Value b = ElementOp::create(rewriter, loc, f64, op.getRhs(), index);
      Value product = arith::MulFOp::create(rewriter, loc, a, b);
      sum = sum ? Value(arith::AddFOp::create(rewriter, loc, sum, product))
                : product;
    }
    if (!sum)
      sum =
          arith::ConstantOp::create(rewriter, loc, rewriter.getF64FloatAttr(0));
    rewriter.replaceOp(op, sum);
    return success();
  }
};

} // namespace

LogicalResult makePlain(SchemeOp scheme) {
  RewritePatternSet patterns(scheme.getContext());
  Budget budget;
  patterns.add<WriteOutSum, ResolveElement>(scheme.getContext(), budget);
  patterns.add<WriteOutDot>(scheme.getContext());
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  if (failed(applyPatternsGreedily(scheme->getRegion(0), std::move(patterns),
                                   config)))
    return failure();
  // Nobody but the driver erases terms that nothing reads any more.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(scheme.getBody().front())))
    if (op.use_empty() && (isOpTriviallyDead(&op) ||
                           isa<SumOp, TabulateOp, RunningOp, PathSumOp>(op)))
      op.erase();
  return success();
}

} // namespace torsor
