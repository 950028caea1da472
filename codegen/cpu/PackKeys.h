// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing a tile of keys and values for the register tiles.
#ifndef TORSOR_CODEGEN_CPU_PACKKEYS_H
#define TORSOR_CODEGEN_CPU_PACKKEYS_H

#include "codegen/cpu/Act.h"
#include "codegen/cpu/Slots.h"

namespace torsor {

/// cos and sin of the phases of a tile's keys, for the groups that share them.
struct TileTurns {
  Pointer words;
  Num isFresh;
  /// Words from key to key, 0 where nobody reads them again.
  Num step;
};

/// Packs the keys begin … end-1, a tile, of the group: in each form acted on,
/// transposed into panels [key / panel][lane of the head][panel]; their
/// indices, column slots, and the bounds of the tile. `scratch` holds `lanes`
/// rows of the head in each form. `turns`: where the groups may share them;
/// null: each computes its own.
void emitPackKeys(const TileContext &c, const Indices &indices, const Tensor &k,
                  Num isActed, Num begin, Num end, Pointer scratch,
                  const TileTurns *turns);

/// Packs the values into panels [panel][key][columns], converted, the last
/// columns filled up with 0. `isActed`: keys lie acted on, and so may v.
void emitPackValues(const TileContext &c, const Tensor &v, Num isActed,
                    Num begin, Num end);

/// The vector of a key in f32 in place `slot` of those kept: after the norm,
/// unless the key lies acted on (then nothing but the norm is behind it).
Contents emitKeyVector(const TileContext &c, const RowLanes &around,
                       const Place &place, Pointer from, Num slot, Num isActed);

/// The key of number `number` of the run.
Place keyPlace(const TileContext &c, const Indices &indices, Num number);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PACKKEYS_H
