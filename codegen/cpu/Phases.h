// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a kernel that the runtime calls.
#ifndef TORSOR_CODEGEN_CPU_PHASES_H
#define TORSOR_CODEGEN_CPU_PHASES_H

#include "codegen/cpu/Spec.h"

namespace torsor {

/// What `plan` says. The phase `prepare` comes first where the scheme has one.
struct PlanEntry {
  llvm::SmallVector<Num, 4> items; // of the phases behind prepare
  Num workspaceBytes;              // beyond the prepared tables
  Operand scratchBytes = 0;
  Num flops, readBytes, writtenBytes; // f64
};

/// A phase of `run`: the items begin … end-1, with the worker's scratch.
using PhaseBody =
    llvm::function_ref<void(const Call &, Num begin, Num end, Pointer scratch)>;

/// Writes a function of the kernel that its phases call: `body` gets the call
/// and the arguments behind it.
void emitInnerFunction(
    Emitter &e, const Kernel &kernel, llvm::StringRef name,
    llvm::ArrayRef<mlir::Type> arguments,
    llvm::function_ref<void(const Call &, llvm::ArrayRef<Num>)> body);

/// Writes the function kernel.planName.
void emitPlanFunction(Emitter &e, const Kernel &kernel,
                      llvm::function_ref<PlanEntry(const Call &)> entry);

/// Writes the function kernel.runName, which sends phase n to bodies[n].
void emitRunFunction(Emitter &e, const Kernel &kernel,
                     llvm::ArrayRef<PhaseBody> bodies);

/// Attributes of a function for the kernel's target.
llvm::SmallVector<mlir::NamedAttribute> targetAttributes(Emitter &e,
                                                         const Target &target);

/// Bytes of the prepared tables and running sums of all sequences, with which
/// the workspace begins.
Num preparedBytes(Emitter &e, const Kernel &kernel, const Call &call);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PHASES_H
