// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From emitted code (arith, math, scf, memref, func, llvm.func) to an object.
#ifndef TORSOR_CODEGEN_LOWER_H
#define TORSOR_CODEGEN_LOWER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Support/Timing.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace torsor {

/// Brings the module to the llvm dialect.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module,
                                       mlir::TimingScope &timing);

/// Powers of integers as loops.
void lowerPowers(mlir::ModuleOp module);

/// Math on vectors as polynomials, the rest as calls of libm.
mlir::LogicalResult lowerMath(mlir::ModuleOp module);

/// A target machine of x86-64; functions say their own level.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine();

/// LLVM IR of a module in the llvm dialect, for `machine`.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module,
                                        llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine);

struct Sanitizers {
  bool address = false, thread = false;
};

/// The cheap middle-end pipeline: the emitter has unrolled, blocked and
/// vectorised already. Instruments for sanitizers last.
void optimise(llvm::Module &code, llvm::TargetMachine &machine,
              Sanitizers sanitizers);

/// An object, or assembly.
llvm::SmallVector<char> emitMachineCode(llvm::Module &code,
                                        llvm::TargetMachine &machine,
                                        bool assembly);

} // namespace torsor

#endif // TORSOR_CODEGEN_LOWER_H
