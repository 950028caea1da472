// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads scheme-level IR.
#include "test/support/SchemeSource.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace torsor::test {

SchemeOp SchemeModule::scheme(llvm::StringRef name) const {
  if (!module)
    return {};
  mlir::ModuleOp holder = module.get();
  for (SchemeOp op : holder.getOps<SchemeOp>())
    if (name.empty() || op.getSymName() == name)
      return op;
  return {};
}

SchemeOp SchemeModule::layer(size_t layer, size_t attention) const {
  mlir::ModuleOp holder = module.get();
  for (StackOp stack : holder.getOps<StackOp>()) {
    auto schemes = mlir::cast<mlir::ArrayAttr>(stack.getLayers()[layer]);
    return scheme(
        mlir::cast<mlir::FlatSymbolRefAttr>(schemes[attention]).getValue());
  }
  return {};
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                       TorsorDialect>();
  return context;
}

SchemeModule parseIr(llvm::StringRef text) {
  SchemeModule result;
  result.context = makeContext();
  mlir::ScopedDiagnosticHandler handler(
      result.context.get(), [&](mlir::Diagnostic &diagnostic) {
        result.error += diagnostic.str() + "\n";
        return mlir::success();
      });
  result.module =
      mlir::parseSourceString<mlir::ModuleOp>(text, result.context.get());
  return result;
}

} // namespace torsor::test
