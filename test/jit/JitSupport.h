// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of the compiler's library share.
#ifndef TORSOR_TEST_JIT_JITSUPPORT_H
#define TORSOR_TEST_JIT_JITSUPPORT_H

#include "runtime/torsor_jit.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace torsor {

/// Handles that destroy themselves.
template <typename T, void (*destroy)(T *)> struct Destroyer {
  void operator()(T *handle) const { destroy(handle); }
};
template <typename T, void (*destroy)(T *)>
using Handle = std::unique_ptr<T, Destroyer<T, destroy>>;
using Compiler = Handle<torsor_compiler, torsor_compiler_destroy>;
using Library = Handle<torsor_library, torsor_library_destroy>;
using Messages = Handle<torsor_diagnostics, torsor_diagnostics_destroy>;

/// A rotary scheme on heads 8 lanes wide; `base` tells one from another.
inline std::string makeRope(double base, const char *mask = "causal") {
  return "torsor 1\nscheme rope8 { head 8\n  action split(rope(8, base = " +
         std::to_string(base) + "))\n  mask " + mask + "\n}\n";
}

/// A compiler with a cache in `folder`, or without one where that is empty.
Compiler makeCompiler(const std::string &folder = "", uint32_t flags = 0,
                      int64_t limit = 0);

/// One result of a compile call.
struct Compiled {
  torsor_status status = TORSOR_OK;
  std::string error;
  Messages messages;
  Library library;
};
Compiled compileText(torsor_compiler *compiler, const std::string &source,
                     const torsor_compile_options *options = nullptr);

/// Runs the only scheme of a library on pseudo-random data and gives the
/// largest error against attention computed plainly with rotary positions of
/// `base` under a causal mask.
double measureError(torsor_library *library, double base);

} // namespace torsor

#endif // TORSOR_TEST_JIT_JITSUPPORT_H
