// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How large the tiles of attention kernels are.
#ifndef TORSOR_RUNTIME_JIT_TILECHOICE_H
#define TORSOR_RUNTIME_JIT_TILECHOICE_H

#include "mlir/IR/BuiltinOps.h"

namespace torsor {

/// Prefill takes `rows` rows of queries against `keys` keys at a time, decode
/// `split` keys as one item of work. 0: the cost model chooses. Rows are
/// rounded up to multiples of 48, the others of 64: whole register tiles of
/// every machine level.
struct TileSizes {
  int64_t rows = 0, keys = 0, split = 0;
  bool operator==(const TileSizes &) const = default;
};

/// The most that may be asked for.
inline constexpr int64_t mostTileRows = 960, mostTileKeys = 4096,
                         mostSplitKeys = 65536;

/// Bytes that prefill works on while it computes a tile, all in f32: rows of q,
/// scores and sums, keys and values.
int64_t countTileBytes(int64_t head, int64_t value, const TileSizes &sizes);

/// What costs least by a model of the time for each pair of a row and a key,
/// with a second cache of `cacheBytes`.
TileSizes chooseTiles(int64_t head, int64_t value, int64_t cacheBytes);

/// The second cache of this machine in bytes, 512 KB where it is not known.
int64_t getSecondCacheBytes();

/// Sets the plans of all attention kernels: what `wanted` says, else what the
/// model chooses.
void setTiles(mlir::ModuleOp kernels, const TileSizes &wanted,
              int64_t cacheBytes);

/// The sizes that the kernels have.
TileSizes getTiles(mlir::ModuleOp kernels);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_TILECHOICE_H
