// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that stores new keys and values in a cache.
#ifndef TORSOR_CODEGEN_CPU_APPEND_H
#define TORSOR_CODEGEN_CPU_APPEND_H

#include "codegen/Descriptor.h"
#include "codegen/cpu/Spec.h"

namespace torsor {

/// Writes the functions of a torsor.append: running sums of the new tokens, if
/// there are any, then an item per block of new tokens. Keys are acted on as
/// the cache's contract says; streams that carry an argument or the index are
/// stored beside them.
mlir::FailureOr<OperationInfo> emitAppend(Emitter &e, const Kernel &kernel,
                                          AppendOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_APPEND_H
