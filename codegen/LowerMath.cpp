// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Math ops: vectors become polynomials, the rest calls of libm.
#include "codegen/Lower.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace torsor {

static bool isVectorF32(Operation *op) {
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  return type && type.getElementType().isF32();
}

/// What LLVM selects by itself, or calls libm for, as an intrinsic.
static bool isIntrinsic(Operation *op) {
  bool isVector = isa<VectorType>(op->getResult(0).getType());
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::FloorOp, math::FmaOp,
          math::SqrtOp, math::RoundEvenOp, math::TruncOp, math::CopySignOp,
          math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
          math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op))
    return true;
  return !isVector && isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
                          math::PowFOp, math::SinOp, math::CosOp>(op);
}

LogicalResult lowerMath(ModuleOp module) {
  MLIRContext *context = module.getContext();
  SmallVector<Operation *> vectors;
  bool any = false;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
      return;
    any = true;
    if (isVectorF32(op) && !isIntrinsic(op))
      vectors.push_back(op);
  });
  if (!any)
    return success();
  {
    RewritePatternSet patterns(context);
    populateMathPolynomialApproximationPatterns(patterns,
                                                [](StringRef) { return true; });
    if (!vectors.empty())
      (void)applyOpPatternsGreedily(vectors, std::move(patterns));
  }
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  math::populateExpansionPatterns(patterns, {"math.fpowi"});
  ConversionTarget target(*context);
  target.addLegalDialect<arith::ArithDialect, func::FuncDialect,
                         LLVM::LLVMDialect, vector::VectorDialect>();
  target.addDynamicallyLegalDialect<math::MathDialect>(isIntrinsic);
  return applyPartialConversion(module, target, std::move(patterns));
}

} // namespace torsor
