// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that joins partial results.
#ifndef TORSOR_CODEGEN_CPU_MERGE_H
#define TORSOR_CODEGEN_CPU_MERGE_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/Spec.h"

namespace torsor {

/// Writes the functions of a torsor.merge: one phase, an item per query and
/// head. The parts come in f32 or in the type of o.
mlir::FailureOr<OperationInfo> emitMerge(Emitter &e, const Kernel &kernel,
                                         MergeOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_MERGE_H
