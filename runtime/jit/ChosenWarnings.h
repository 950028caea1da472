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

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_CHOSENWARNINGS_H
