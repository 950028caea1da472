// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes report of their decisions.
#ifndef TORSOR_RUNTIME_JIT_REMARKS_H
#define TORSOR_RUNTIME_JIT_REMARKS_H

#include "frontend/Diagnostics.h"

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}

namespace torsor {

/// A rewrite that a pass applied or refused.
struct Decision {
  /// Of the rewrite, the same whether it was applied: "BiasStarts".
  std::string name;
  /// "form-kernels"
  std::string pass;
  /// The scheme, or its kernel ("rope.prefill"); "" where no pass says.
  std::string where;
  /// What was done, or why it was not.
  std::string text;
  bool applied = false;
  DiagnosticPlace place;
};

/// Has all remarks of the context reported as MLIR diagnostics, with the pass
/// as their id: "text [pass]"; and collected in `decisions`, which must outlive
/// the context.
void reportRemarks(mlir::MLIRContext &context,
                   std::vector<Decision> &decisions);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_REMARKS_H
