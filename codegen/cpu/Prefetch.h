// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for memory before it is read.
#ifndef TORSOR_CODEGEN_CPU_PREFETCH_H
#define TORSOR_CODEGEN_CPU_PREFETCH_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// Asks for the 64 bytes at `address`, which may be nobody's.
void prefetch(Pointer address);

/// Asks for share `part` of `parts` of the lines that begin at `from`.
void prefetchShare(Pointer from, int64_t lines, Num part, Num parts);

/// The same of `rows` rows that lie `step` elements apart, `lines` lines each.
void prefetchRows(Pointer from, int64_t rows, Num step, int64_t lines, Num part,
                  Num parts);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PREFETCH_H
