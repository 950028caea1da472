// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's entry: any bytes are a source text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../Exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string failure;
  torsor::exerciseFrontend(
      std::string(reinterpret_cast<const char *>(data), size), failure);
  if (!failure.empty()) {
    std::fprintf(stderr, "%s\n", failure.c_str());
    std::abort();
  }
  return 0;
}
