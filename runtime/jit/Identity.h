// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which compiler this is.
#ifndef TORSOR_RUNTIME_JIT_IDENTITY_H
#define TORSOR_RUNTIME_JIT_IDENTITY_H

#include "llvm/ADT/StringRef.h"

namespace torsor {

/// Versions of Torsor and LLVM, and the build id of the binaries with their
/// code: two compilers of which this is equal make equal objects.
llvm::StringRef getCompilerIdentity();

/// "torsor 0.1.0, LLVM 22.1.8".
llvm::StringRef getProducer();

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_IDENTITY_H
