// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of many terms, as chains that do not wait for each other.
#ifndef TORSOR_PASSES_LONGSUMS_H
#define TORSOR_PASSES_LONGSUMS_H

#include "mlir/IR/Block.h"

namespace torsor {

/// Adds the terms of long f32 sums of `block` in four chains: one by one, each
/// addition waits for the one before, four times as long as a processor takes
/// for another.
void splitLongSums(mlir::Block &block);

} // namespace torsor

#endif // TORSOR_PASSES_LONGSUMS_H
