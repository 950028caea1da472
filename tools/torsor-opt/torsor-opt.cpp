// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torsor-opt: runs every pass alone.
#include "dialect/TorsorDialect.h"
#include "passes/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<torsor::TorsorDialect>();
  mlir::registerAllPasses();
  torsor::registerTorsorPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "torsor optimizer\n", registry));
}
