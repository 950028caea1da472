// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What it costs to compile a scheme within a process.
#ifndef TORSOR_TOOLS_TORSOR_BENCHCOMPILE_H
#define TORSOR_TOOLS_TORSOR_BENCHCOMPILE_H

#include "tools/torsor/Options.h"

namespace torsor {

/// Compiles what `source` names for each operation that it has, and for all of
/// them, `rounds` times or more for at least `seconds`, and prints what that
/// takes: the first time and at best, from the source to the loaded code, and
/// from the source to the object in a cache on disk; and how large the object
/// is. Processor time of this thread, which is the only one. `target`: a
/// machine level, "" that of this CPU.
void benchCompile(const SourceOptions &source, const std::string &dtype,
                  const std::string &target, int rounds, double seconds,
                  bool json);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_BENCHCOMPILE_H
