// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's back end for CPUs: kernel-level IR in, object out.
#ifndef TORSOR_CODEGEN_CODEGEN_H
#define TORSOR_CODEGEN_CODEGEN_H

#include "codegen/Lower.h"
#include "codegen/Target.h"

#include <string>

namespace mlir {
class DialectRegistry;
class TimingScope;
} // namespace mlir

namespace torsor {

struct CodegenOptions {
  /// The object's constant is `torsor_module_<name>`.
  std::string name = "kernels";
  /// Levels to compile for; empty: all.
  llvm::SmallVector<const Target *> targets;
  /// Also `torsor_entry`, which a shared object needs.
  bool entry = false;
  Sanitizers sanitizers;
  /// Where to print the emitted IR, LLVM IR and assembly; null: nowhere.
  llvm::raw_ostream *emitted = nullptr;
  llvm::raw_ostream *llvmIr = nullptr;
  llvm::raw_ostream *assembly = nullptr;
  /// Under which each step is timed; null: not.
  mlir::TimingScope *timing = nullptr;
};

/// Dialects that compileToObject creates ops of: load them into the context
/// before it is shared between threads.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// Compiles every torsor.interface of a kernel-level module, and the functions
/// it names, into a relocatable x86-64 ELF object with one constant
/// `torsor_module_<name>` (runtime/torsor_kernel.h). `module` is not changed.
/// Reports what has no kernel yet at the op.
mlir::FailureOr<llvm::SmallVector<char>>
compileToObject(mlir::ModuleOp module, const CodegenOptions &options);

} // namespace torsor

#endif // TORSOR_CODEGEN_CODEGEN_H
