// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that the attention kernels read where the caller has them.
#ifndef TORSOR_CODEGEN_CPU_INPLACEVALUES_H
#define TORSOR_CODEGEN_CPU_INPLACEVALUES_H

#include "codegen/cpu/Call.h"
#include "dialect/TorsorDialect.h"

namespace torsor {

struct TileLayout;

/// Packing v only moves it, where it comes in f32 and nothing acts on it: a
/// register tile loads whole vectors of a row of v, whatever lies between rows.
struct InPlaceValues {
  /// Whether the rows of a run of keys lie at even distances, in whole cache
  /// lines and so close that their addresses do not compete for the same sets
  /// of a cache; null: they must be packed.
  Num hold;
  Tensor rows;

  /// What holds of a call.
  static InPlaceValues read(Emitter &e, const Call &call, AttentionOp op,
                            const TileLayout &layout);
  /// Key 0 of the sequence, in a group.
  Pointer first(const Sequence &sequence, Num group) const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_INPLACEVALUES_H
