// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums over the keys of a sequence, made before a kernel.
#ifndef TORSOR_CODEGEN_CPU_SCAN_H
#define TORSOR_CODEGEN_CPU_SCAN_H

#include "codegen/cpu/TableReader.h"

namespace torsor {

/// Bytes of the workspace that the sums of a sequence take.
Num scanBytes(Emitter &e, const Kernel &kernel, const Call &call,
              const Sequence &sequence);

/// Items of the phase that sums: one for each sequence, and for each head where
/// a sum differs between them.
Num scanItems(Emitter &e, const Kernel &kernel, const Call &call);

/// Sums the items begin … end-1.
void emitScans(Emitter &e, const Kernel &kernel, const Call &call, Num begin,
               Num end);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCAN_H
