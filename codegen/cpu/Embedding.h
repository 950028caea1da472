// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that adds an encoding of positions to embeddings.
#ifndef TORSOR_CODEGEN_CPU_EMBEDDING_H
#define TORSOR_CODEGEN_CPU_EMBEDDING_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/Spec.h"

namespace torsor {

/// Writes plan and run of an embedding.
mlir::FailureOr<OperationInfo> emitEmbedding(Emitter &e, const Kernel &kernel,
                                             EmbeddingOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_EMBEDDING_H
