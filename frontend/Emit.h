// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From elaborated schemes to the scheme level of the IR.
#ifndef TORSOR_FRONTEND_EMIT_H
#define TORSOR_FRONTEND_EMIT_H

#include "frontend/Scheme.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace torsor {

/// A module with one torsor.scheme for each of `schemes` and one torsor.stack
/// for each of `stacks`, over those it uses (which must be among them). Loads
/// the dialects it needs. The file must have been checked without errors.
/// Every operation has the place of the text it came from.
mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::MLIRContext &context,
                                       const CheckedFile &file,
                                       llvm::ArrayRef<const Scheme *> schemes,
                                       llvm::ArrayRef<const Stack *> stacks);

} // namespace torsor

#endif // TORSOR_FRONTEND_EMIT_H
