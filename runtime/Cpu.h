// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the CPU can run: features by number, levels by name.
#ifndef TORSOR_RUNTIME_CPU_H
#define TORSOR_RUNTIME_CPU_H

#include "runtime/Base.h"

namespace torsor {

/// A set of the features of torsor_kernel.h.
struct Features {
  uint64_t bits[2] = {0, 0};

  void add(int feature) { bits[feature / 64] |= uint64_t(1) << feature % 64; }
  void remove(int feature) {
    bits[feature / 64] &= ~(uint64_t(1) << feature % 64);
  }
  bool has(int feature) const { return bits[feature / 64] >> feature % 64 & 1; }
  bool contains(const uint64_t other[2]) const {
    return !(other[0] & ~bits[0]) && !(other[1] & ~bits[1]);
  }
};

/// The features of this CPU that the system lets programs use (CPUID, XCR0).
Features cpuFeatures();

/// Those that make code faster here: without bf16 instructions but on AMD's
/// processors. On Intel's `vdpbf16ps` takes two cycles, and code that computes
/// in f32 is up to 1.9 times as fast. findHostTarget has the same rule.
Features fastFeatures();

/// Reads a level as variants are named, "x86-64-v4+avx512bf16": all features
/// a machine of that level has. An unknown name is TORSOR_INVALID.
torsor_status parseCpu(const char *name, Features &out);

/// The names of a set, "x86-64-v3".
void describeFeatures(const uint64_t bits[2], Text &out);

} // namespace torsor

#endif // TORSOR_RUNTIME_CPU_H
