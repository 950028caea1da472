// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code of `bind` that inverts a square table.
#ifndef TORSOR_PASSES_FILLINVERSE_H
#define TORSOR_PASSES_FILLINVERSE_H

#include "mlir/IR/Builders.h"

namespace torsor {

/// Puts the inverse of the left half of `matrix`, a memref of n x 2 n f64, into
/// its right half; the left half becomes the unit matrix. A singular matrix
/// leaves no finite numbers.
void emitInversion(mlir::OpBuilder &b, mlir::Location loc, mlir::Value matrix,
                   int64_t n);

/// Writes the transposed right half of `matrix` to `out`, n x n f32.
void emitTransposedInverse(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value matrix, mlir::Value out, int64_t n);

} // namespace torsor

#endif // TORSOR_PASSES_FILLINVERSE_H
