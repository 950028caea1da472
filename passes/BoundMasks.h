// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Affine bounds on the keys that a tile of queries sees.
#ifndef TORSOR_PASSES_BOUNDMASKS_H
#define TORSOR_PASSES_BOUNDMASKS_H

#include "dialect/TorsorDialect.h"

namespace torsor {

/// What affine maps say about a mask. The maps of an interval take the first
/// and the last query index of a tile and the number N of tokens.
struct MaskBounds {
  /// A key outside all of these is hidden from every query of the tile. They
  /// may overlap. Empty: no key is seen.
  llvm::SmallVector<IntervalAttr> visible;
  /// A key inside one of these is seen by every query of the tile.
  llvm::SmallVector<IntervalAttr> full;
  /// The maps hold only while positions are the indices.
  bool byPosition = false;
  /// The maps do not decide the mask: a tile test may say more.
  bool needsTile = false;
};

/// Bounds the mask `mask`, an i1 whose computation stands in its own block at
/// the scheme level; a null value sees everything. Exact for conjunctions,
/// disjunctions, negations and choices of comparisons of integer expressions
/// that are affine in the indices, N, divisions by constants, min, max and abs
/// of such, in which the key index stands once; sound for everything.
MaskBounds boundMask(mlir::Value mask, mlir::MLIRContext *context);

} // namespace torsor

#endif
