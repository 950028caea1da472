// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodings that stand beside attention.
#ifndef TORSOR_PASSES_SPLITENCODING_H
#define TORSOR_PASSES_SPLITENCODING_H

#include "mlir/IR/BuiltinOps.h"

namespace torsor {

/// Makes of each scheme that attends and also adds to embeddings two schemes:
/// the encoding is called `…_embed`.
void splitEncodings(mlir::ModuleOp module);

} // namespace torsor

#endif // TORSOR_PASSES_SPLITENCODING_H
