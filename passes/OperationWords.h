// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of a pair in the words of the language, for remarks.
#ifndef TORSOR_PASSES_OPERATIONWORDS_H
#define TORSOR_PASSES_OPERATIONWORDS_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
}

namespace torsor {

/// What the user wrote for this operation: "a difference", "'exp'".
std::string describeOperation(mlir::Operation *op);

} // namespace torsor

#endif
