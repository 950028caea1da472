// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme with RoPE, as kernel text and as its naive meaning.
#ifndef TORSOR_TEST_CODEGEN_ROPE_H
#define TORSOR_TEST_CODEGEN_ROPE_H

#include "Compare.h"

namespace torsor::test {

struct Rope {
  KernelText text;
  NaiveScheme naive;
};

/// RoPE over the first 2 * `count` lanes, split or adjacent, causal or full.
inline Rope rope(int64_t head, int64_t value, int64_t count,
                 bool adjacent = false, bool causal = true) {
  Rope r;
  r.text.head = r.naive.head = head;
  r.text.value = r.naive.value = value;
  if (count) {
    r.text.pairCount = r.naive.count = count;
    r.naive.second = adjacent ? 1 : count;
    r.naive.step = adjacent ? 2 : 1;
    r.text.pairs = "<0, " + std::to_string(r.naive.second) + ", " +
                   std::to_string(r.naive.step) + " x " +
                   std::to_string(count) + ">";
    r.text.pairArguments = ", %s: i64, %t: i64";
  }
  r.text.attributes =
      "scale " + real(1.4426950408889634 / std::sqrt(double(head)));
  if (causal) {
    r.text.causal();
    r.naive.mask = [](int64_t i, int64_t j, int64_t) { return j <= i; };
  }
  return r;
}

} // namespace torsor::test

#endif // TORSOR_TEST_CODEGEN_ROPE_H
