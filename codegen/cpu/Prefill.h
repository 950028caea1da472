// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of many queries: prepare, pack, compute.
#ifndef TORSOR_CODEGEN_CPU_PREFILL_H
#define TORSOR_CODEGEN_CPU_PREFILL_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// Writes the functions of a tiled torsor.attention.
mlir::FailureOr<OperationInfo> emitPrefill(Emitter &e, const Kernel &kernel,
                                           AttentionOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PREFILL_H
