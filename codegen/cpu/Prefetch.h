// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for memory before it is read.
#ifndef TORSOR_CODEGEN_CPU_PREFETCH_H
#define TORSOR_CODEGEN_CPU_PREFETCH_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// Asks for the 64 bytes at `address`, which may be nobody's, into the first
/// cache or only into the second.
void prefetch(Pointer address, bool intoFirst = true);

/// Asks for share `part` of `parts` of the lines that begin at `from`.
void prefetchShare(Pointer from, int64_t lines, Num part, Num parts);

/// The same of `rows` rows that lie `step` elements apart, `lines` lines each.
void prefetchRows(Pointer from, int64_t rows, Num step, int64_t lines, Num part,
                  Num parts);

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
