// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warnings of what was chosen, without those of its neighbours in a file.
#ifndef TORSOR_RUNTIME_JIT_CHOSENWARNINGS_H
#define TORSOR_RUNTIME_JIT_CHOSENWARNINGS_H

#include "frontend/Check.h"

namespace torsor {

/// Drops warnings that point into items which the scheme or stack `name` does
/// not use.
void dropOtherWarnings(const CheckedFile &file, llvm::StringRef name,
                       DiagnosticList &diagnostics);

/// Warns of widths and numbers of layers that were given for what leaves them
/// open, where all that was chosen says other ones itself.
void warnUnusedWidths(const CheckOptions &options,
                      llvm::ArrayRef<const Scheme *> schemes,
                      llvm::ArrayRef<const Stack *> stacks,
                      DiagnosticList &diagnostics);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_CHOSENWARNINGS_H
