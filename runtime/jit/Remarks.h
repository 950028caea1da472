// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes report of their decisions.
#ifndef TORSOR_RUNTIME_JIT_REMARKS_H
#define TORSOR_RUNTIME_JIT_REMARKS_H

namespace mlir {
class MLIRContext;
}

namespace torsor {

/// Has all remarks of the context reported as MLIR diagnostics, with the pass
/// as their id: "text [pass]".
void reportRemarks(mlir::MLIRContext &context);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_REMARKS_H
