// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places as MLIR locations, and messages of MLIR as messages to the user.
#ifndef TORSOR_FRONTEND_MLIRDIAGNOSTICS_H
#define TORSOR_FRONTEND_MLIRDIAGNOSTICS_H

#include "frontend/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"

#include <functional>

namespace torsor {

/// The location of a range, a FileLineColRange whose end lies behind it. An
/// invalid range gives an unknown location.
mlir::Location getLocation(mlir::MLIRContext *context, SourceRange range);

/// The place of a location: of a fused location its first part that has one,
/// of a call site its callee, of a name what it names. An unknown one gives a
/// place without a file.
DiagnosticPlace getPlace(mlir::Location location);

/// While it lives, what passes report in a context goes to a list. A message
/// that ends with " [id]" has this id, as in
///   emitRemark(loc, "the keys are rotated once [place-actions]").
class MlirDiagnostics {
public:
  /// Gives the file of a name, or null; for the source lines of messages.
  using Lookup = std::function<const SourceFile *(llvm::StringRef name)>;

  MlirDiagnostics(mlir::MLIRContext *context, DiagnosticList &list,
                  Lookup lookup);

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_MLIRDIAGNOSTICS_H
