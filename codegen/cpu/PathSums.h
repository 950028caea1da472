// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over the keys between a key and its query.
#ifndef TORSOR_CODEGEN_CPU_PATHSUMS_H
#define TORSOR_CODEGEN_CPU_PATHSUMS_H

#include "codegen/cpu/Slots.h"

namespace torsor {

/// Terms of the path sums of a row at the keys key … key + lanes - 1, one for
/// each sum: 0 where a key is not `seen` (null: all are) or lies behind the
/// query.
Nums emitPathTerms(const TileContext &c, Num row, Num key, Num score, Num seen);

/// The sums at these keys, in the order of `terms`, whose carried part (the
/// keys behind, in c.pathSums) the terms are added to. To be called from the
/// last keys of a row to the first.
Nums emitPathSums(const TileContext &c, Num row, llvm::ArrayRef<Num> terms);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PATHSUMS_H
