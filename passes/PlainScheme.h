// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scheme level without sums and vectors, as kernels are formed from it.
#ifndef TORSOR_PASSES_PLAINSCHEME_H
#define TORSOR_PASSES_PLAINSCHEME_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace torsor {

/// The most terms of a sum that a kernel writes out.
inline constexpr int64_t maxTerms = 4096;

/// Sums written out, elements of lists, rows, choices and tabulations resolved
/// to scalars.
void populatePlainPatterns(mlir::RewritePatternSet &patterns);

/// Applies the patterns to a scheme until nothing changes.
mlir::LogicalResult makePlain(SchemeOp scheme);

} // namespace torsor

#endif // TORSOR_PASSES_PLAINSCHEME_H
