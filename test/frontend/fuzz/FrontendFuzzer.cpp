// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's entry: any bytes are a source text. Half of the changes are made
// to whole tokens, since few changes of bytes get past the parser.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../Exercise.h"
#include "../Mutator.h"

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

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  static torsor::Mutator mutator(0);
  if (seed % 2 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  mutator.reseed(seed);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned n = 1 + seed / 2 % 3; n > 0; --n)
    text = mutator.mutateToken(text);
  if (text.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
