// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of bf16 as f32: the even columns of a stretch in one vector, the odd
// ones in another, which costs a shift and a mask instead of two widenings.
#ifndef TORSOR_CODEGEN_CPU_DECODEPAIRS_H
#define TORSOR_CODEGEN_CPU_DECODEPAIRS_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// Whether rows of `element` come in pairs; what is multiplied with them, or
/// summed from them, then lies in the same order: stretches of 2 * lanes
/// columns, each as evens and odds.
inline bool comeInPairs(mlir::Type element) { return element.isBF16(); }

/// Lanes 0, 2, 4, … of two vectors, and lanes 1, 3, 5, …
std::pair<Num, Num> separate(Num a, Num b);

/// The columns at … at + 2 * lanes - 1 of a row, evens and odds. Rows of f32
/// are shuffled.
std::pair<Num, Num> loadPair(Pointer row, Operand at, int64_t lanes);

/// Brings the first `width` columns (whole stretches) of `count` rows of f32
/// into the order of pairs, or back.
void emitPairOrder(Pointer rows, Num count, int64_t stride, int64_t width,
                   int64_t lanes, bool back);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_DECODEPAIRS_H
