// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that the attention kernels read where the caller has them.
#ifndef TORSOR_CODEGEN_CPU_INPLACEVALUES_H
#define TORSOR_CODEGEN_CPU_INPLACEVALUES_H

#include "codegen/cpu/Call.h"
#include "dialect/TorsorDialect.h"

namespace torsor {

struct TileLayout;

/// The rows of k or v of a sequence as the caller has them, from key 0 on, but
/// where pages or a ring scatter them.
struct CallersRows {
  CallersRows() = default;
  CallersRows(const Tensor &tensor, const Sequence &sequence, Num group,
              int64_t width);

  Pointer first;
  Num stride;        // elements from row to row
  int64_t lines = 0; // of 64 bytes, of a row
};

/// Whether keys lie in pages or in a ring.
Num areScattered(const Call &call);

/// Whether v is read where it lies: packing only moves it, where it comes in
/// f32 and nothing acts on it, since a register tile loads whole vectors of a
/// row, whatever lies between rows. They must lie at even distances, in whole
/// cache lines and so close that their addresses do not compete for the same
/// sets of a cache. Null: never.
Num areValuesInPlace(Emitter &e, const Call &call, AttentionOp op,
                     const TileLayout &layout);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_INPLACEVALUES_H
