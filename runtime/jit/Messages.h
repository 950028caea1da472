// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of a compilation as the C interface gives them.
#ifndef TORSOR_RUNTIME_JIT_MESSAGES_H
#define TORSOR_RUNTIME_JIT_MESSAGES_H

#include "frontend/Diagnostics.h"
#include "runtime/torsor_jit.h"

#include <deque>
#include <string>
#include <vector>

/// The list that torsor_diagnostics_at reads; immutable once made.
struct torsor_diagnostics {
  std::deque<std::string> strings;
  std::vector<torsor_diagnostic> items;
  std::string text;
};

namespace torsor {

struct MessageOptions {
  bool remarks = false, warningsAreErrors = false;
};

/// Copies the messages of a list, in order of place, notes behind theirs.
torsor_diagnostics *makeMessages(const DiagnosticList &list,
                                 MessageOptions options);

/// The first error, for torsor_error(): "file:1:2: text [id]".
std::string summarizeMessages(const torsor_diagnostics &messages);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_MESSAGES_H
