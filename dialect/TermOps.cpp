// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verifier of a scheme.
#include "dialect/TorsorDialect.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace torsor {

LogicalResult SchemeOp::verify() {
  llvm::StringMap<Operation *> seen;
  for (Operation &op : getBody().front()) {
    if (!isa<ActionTermOp, ValueActionOp, ScaleOp, SoftcapOp, LogitOp, BiasOp,
             SinkOp, MaskOp, ValueBiasOp, EmbedOp, NormOp, ReadoutOp>(op))
      continue;
    auto [at, fresh] = seen.try_emplace(op.getName().stripDialect(), &op);
    if (!fresh) { // scheme R1
      InFlightDiagnostic error = op.emitOpError("stands twice in a scheme");
      error.attachNote(at->second->getLoc()) << "the first is here";
      return error;
    }
    auto action = dyn_cast<ActionTermOp>(op);
    if (action && getHead() && // scheme R2
        action.getAction().getType().getWidth() != int64_t(*getHead()))
      return op.emitOpError("is ")
             << action.getAction().getType().getWidth()
             << " lanes wide, but the head is " << *getHead();
  }
  return success();
}

} // namespace torsor
