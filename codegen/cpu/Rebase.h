// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that moves cached keys to other positions.
#ifndef TORSOR_CODEGEN_CPU_REBASE_H
#define TORSOR_CODEGEN_CPU_REBASE_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/Spec.h"

namespace torsor {

/// Writes the functions of a torsor.rebase: one phase, an item per block of
/// keys. f32 is turned in f64, so that a key is rounded once; 16 bits in f32.
mlir::FailureOr<OperationInfo> emitRebase(Emitter &e, const Kernel &kernel,
                                          RebaseOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_REBASE_H
