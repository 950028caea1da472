// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for memory before it is read.
#ifndef TORSOR_CODEGEN_CPU_PREFETCH_H
#define TORSOR_CODEGEN_CPU_PREFETCH_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

struct TileContext;

/// Asks for the 64 bytes at `address`, which may be nobody's, into the first
/// cache or only into the second.
void prefetch(Pointer address, bool intoFirst = true);

/// Rows of memory that are asked for into the second cache while a loop runs,
/// some lines in each turn: a burst would take the buffers that loads need.
struct SteadyRequest {
  Pointer from;
  int64_t lines; // of a row
  Num step;      // bytes from row to row
  /// Turn n asks for line (first + n * each) / 2^16.
  Num first, each;

  void emit(Num turn) const;
};

/// What a row group asks for while it meets panel `panel` of keys, in `turns`
/// turns. The first half of the groups shares out the packed keys of the next
/// panel, the others the values of this one. Where blocks pack them, what the
/// same panel of the next tile is made of takes their place. Scores are the
/// loop to do it in: their keys stay in the first cache, where values do not,
/// and use up the buffers.
SteadyRequest requestOf(const TileContext &c, Num panel, Num group, Num groups,
                        int64_t turns);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PREFETCH_H
