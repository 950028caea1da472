// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From arith, scf, memref and func to the llvm dialect.
#include "codegen/Lower.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace torsor {

/// The language's conversions saturate and give 0 for NaN; LLVM's own leave the
/// result undefined there.
static void saturateConversions(ModuleOp module) {
  SmallVector<arith::FPToSIOp> conversions;
  module.walk([&](arith::FPToSIOp op) { conversions.push_back(op); });
  for (arith::FPToSIOp op : conversions) {
    OpBuilder b(op);
    auto call = LLVM::CallIntrinsicOp::create(
        b, op.getLoc(), TypeRange(op.getType()),
        b.getStringAttr("llvm.fptosi.sat"), op->getOperands(),
        LLVM::FastmathFlagsAttr());
    op.replaceAllUsesWith(call->getResult(0));
    op.erase();
  }
}

/// No pattern here fails after it has changed something; keeping the means to
/// undo takes half of the time.
static ConversionConfig conversionConfig() {
  ConversionConfig config;
  config.allowPatternRollback = false;
  return config;
}

/// Constants are made where they are used, a third of all operations: leaves
/// one of each in a function, at its start.
static void uniteConstants(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    Block &entry = function.getFunctionBody().front();
    DenseMap<Attribute, Value> kept; // the attribute says the type
    function->walk([&](arith::ConstantOp op) {
      auto [at, isNew] = kept.try_emplace(op.getValue(), op.getResult());
      if (isNew) {
        op->moveBefore(&entry, entry.begin());
        return;
      }
      op.replaceAllUsesWith(at->second);
      op.erase();
    });
  }
}

static LogicalResult lowerLoops(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<scf::SCFDialect>();
  target.addIllegalOp<arith::CeilDivSIOp, arith::CeilDivUIOp,
                      arith::FloorDivSIOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns),
                                conversionConfig());
}

LogicalResult lowerToLlvmDialect(ModuleOp module, TimingScope &timing) {
  saturateConversions(module);
  lowerPowers(module);
  uniteConstants(module);
  TimingScope step = timing.nest("loops to branches");
  if (failed(lowerLoops(module)))
    return failure();
  step = timing.nest("mathematics");
  if (failed(lowerMath(module)))
    return failure();
  step = timing.nest("to the llvm dialect");
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  if (failed(applyPartialConversion(module, target, std::move(patterns),
                                    conversionConfig())))
    return failure();
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts);
  return success();
}

} // namespace torsor
