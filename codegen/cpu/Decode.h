// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of few queries against a long row-major run of keys.
#ifndef TORSOR_CODEGEN_CPU_DECODE_H
#define TORSOR_CODEGEN_CPU_DECODE_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// Writes the functions of a split torsor.attention. Phases: prepare, partial
/// results of each split of the keys, and their sum by LSE. Each split reads
/// whole rows of k and v in address order, for all rows of a group at once.
mlir::FailureOr<OperationInfo> emitDecode(Emitter &e, const Kernel &kernel,
                                          AttentionOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODE_H
