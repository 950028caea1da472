// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structs of the C interface, checked and made C++.
#ifndef TORSOR_RUNTIME_JIT_JITOPTIONS_H
#define TORSOR_RUNTIME_JIT_JITOPTIONS_H

#include "runtime/jit/Compilation.h"
#include "runtime/torsor_jit.h"

#include <cstring>

namespace torsor {

/// Reads a struct that begins with its size, as the core does: a size below
/// today's struct is refused, and so is a surplus that is not zero. Null is all
/// zero.
template <typename T> bool readStruct(const T *given, T &out) {
  out = {};
  if (!given)
    return true;
  uint32_t size;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof(T))
    return false;
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t n = sizeof(T); n < size; ++n)
    if (bytes[n])
      return false;
  std::memcpy(&out, given, sizeof(T));
  return true;
}

/// Options of a compile call. False: `error` names the field.
bool readOptions(const torsor_compile_options *given, CompileOptions &options,
                 std::string &error);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_JITOPTIONS_H
