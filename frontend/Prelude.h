// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard library, built into the compiler.
#ifndef TORSOR_FRONTEND_PRELUDE_H
#define TORSOR_FRONTEND_PRELUDE_H

#include "llvm/ADT/StringRef.h"

namespace torsor {

/// The text of prelude.torsor.
llvm::StringRef getPreludeText();

} // namespace torsor

#endif // TORSOR_FRONTEND_PRELUDE_H
