// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a compilation holds of MLIR; private to its sources.
#ifndef TORSOR_RUNTIME_JIT_COMPILATIONSTATE_H
#define TORSOR_RUNTIME_JIT_COMPILATIONSTATE_H

#include "codegen/Codegen.h"
#include "dialect/TorsorDialect.h"
#include "runtime/jit/Compilation.h"

#include <chrono>

namespace torsor {

struct Compilation::State {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> schemes, kernels;

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<TorsorDialect>();
    registerCodegenDialects(registry);
    return registry;
  }
  // One thread compiles; what runs beside it are other compilations.
  // What a user sees of an error is the text and the source, not the IR.
  State() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
  }
};

/// Adds the time of its life to a number.
class Stopwatch {
public:
  explicit Stopwatch(double &seconds) : seconds(seconds) {}
  ~Stopwatch() {
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - begin;
    seconds += passed.count();
  }

private:
  double &seconds;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

/// The text of an operation, without locations.
std::string printOperation(mlir::Operation *op);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_COMPILATIONSTATE_H
