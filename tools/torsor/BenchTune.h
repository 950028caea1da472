// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A search for tiles around what the cost model chooses.
#ifndef TORSOR_TOOLS_TORSOR_BENCHTUNE_H
#define TORSOR_TOOLS_TORSOR_BENCHTUNE_H

#include "tools/torsor/BenchData.h"
#include "tools/torsor/Options.h"

namespace torsor {

/// Compiles the kernel of `shape` with `chosen` and with smaller and larger
/// tiles, times all of them in turn within one run, and prints a table: the
/// sizes, the time, and which are the model's and the fastest. `compile` says
/// the rest of the compilation.
void benchTune(const SourceOptions &source, const CompileOptions &compile,
               const BenchShape &shape, const TileSizes &chosen, int rounds,
               double seconds, bool json);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_BENCHTUNE_H
