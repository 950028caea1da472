// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Radians as fractions of a turn.
#include "passes/FormKernels.h"

#include <cmath>

namespace torsor {

int64_t turnsOf(double radians) {
  // The product with 1 / 2 pi as two numbers of 64 bits, so that rounding is
  // right to the last of the 64 bits kept.
  constexpr long double high = 0xA2F9836E4E44152Ap-66L;
  constexpr long double low = -2.036222852907384024050e-22L;
  long double turns = radians * high;
  long double error =
      std::fma((long double)radians, high, -turns) + radians * low;
  turns -= std::floor(turns);
  long double scaled = turns * 0x1p64L, whole = std::floor(scaled);
  scaled = whole + std::floor((scaled - whole) + error * 0x1p64L + 0.5L);
  if (scaled < 0)
    scaled += 0x1p64L;
  return scaled >= 0x1p64L ? 0 : int64_t(uint64_t(scaled));
}

} // namespace torsor
