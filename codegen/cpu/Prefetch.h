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

/// Asks for a row group's share of the packed keys of the next panel, and of
/// the values of this one where they are read in place.
void prefetchPanel(const TileContext &c, Num panel, Num group, Num groups);

/// Lines that are asked for into the second cache while a loop runs, some in
/// each turn: a burst would take the buffers that the loop's own loads need.
struct SteadyRequest {
  /// Rows of `lines` lines each, `step` bytes apart.
  Pointer from;
  int64_t lines;
  Num step;
  /// Turn n asks for line (first + n * each) / 2^16.
  Num first, each;

  void emit(Num turn) const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PREFETCH_H
