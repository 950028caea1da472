// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times values, in registers.
#ifndef TORSOR_CODEGEN_CPU_VALUETILE_H
#define TORSOR_CODEGEN_CPU_VALUETILE_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// A register tile of `rows` rows by `vectors` vectors of columns.
struct ValueTile {
  int64_t lanes, rows, vectors;
  /// Keys and weights come as words of two bf16 (BfloatPairs.h), n counts them.
  bool pairs = false;
  /// Weight of the tile's row r for key n: weights[r * weightStride + n].
  Pointer weights;
  int64_t weightStride;
  /// First column of key n: values[n * valueStride].
  Pointer values;
  Num valueStride;
  /// outputs[r * outputStride], alphas[r].
  Pointer outputs;
  int64_t outputStride;
  Pointer alphas;
};

/// outputs = alpha * outputs + weights * values over the keys (or words of two)
/// begin … end-1. A weight of 0 keeps a value that is not finite out.
void emitValueTile(const ValueTile &tile, Num begin, Num end);

/// The same for all row groups of a block, each over its own keys of the tile
/// that begins at key `tile`.
void emitOutputs(const TileContext &c, Num groups, Num tile);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_VALUETILE_H
