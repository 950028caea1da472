// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scheme level without sums and vectors, as kernels are formed from it.
#ifndef TORSOR_PASSES_PLAINSCHEME_H
#define TORSOR_PASSES_PLAINSCHEME_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace torsor {

/// The most terms of a sum that a kernel writes out.
inline constexpr int64_t maxTerms = 4096;

/// Operations of a pair that a kernel holds; so many took LLVM half a minute
/// for prefill.
inline constexpr int64_t maxPairOperations = 4096;

/// Writes sums out and resolves elements of lists, rows, choices and
/// tabulations to scalars, until nothing changes. What would grow beyond all
/// measure stays as it is.
mlir::LogicalResult makePlain(SchemeOp scheme);

/// Writes the terms of path sums at the key's token (torsor.path_total), and
/// lifts dot products whose one vector is a row of a table out of the pairs
/// (torsor.tabulated, torsor.table_dot). Other products with q or k are written
/// out by lanes. To be called on a plain scheme; makes more that is not plain.
mlir::LogicalResult liftDots(SchemeOp scheme);

/// Does no action change the contents of q and k, so that their product is the
/// score?
bool passesContents(SchemeOp scheme);

/// Lane `lane` of a vector: a scalar, written where `b` stands.
mlir::Value laneOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector,
                   mlir::Value lane);

} // namespace torsor

#endif // TORSOR_PASSES_PLAINSCHEME_H
