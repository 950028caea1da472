// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scheme level without sums and vectors, as kernels are formed from it.
#ifndef TORSOR_PASSES_PLAINSCHEME_H
#define TORSOR_PASSES_PLAINSCHEME_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace torsor {

/// The most terms of a sum that a kernel writes out.
inline constexpr int64_t maxTerms = 4096;

/// Writes sums out and resolves elements of lists, rows, choices and
/// tabulations to scalars, until nothing changes. What would grow beyond all
/// measure stays as it is.
mlir::LogicalResult makePlain(SchemeOp scheme);

} // namespace torsor

#endif // TORSOR_PASSES_PLAINSCHEME_H
