// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel-level MLIR of small schemes, put together from parts.
#ifndef TORSOR_TEST_CODEGEN_KERNELTEXT_H
#define TORSOR_TEST_CODEGEN_KERNELTEXT_H

#include <cstdint>
#include <string>

namespace torsor::test {

/// A number as MLIR text, with all its digits.
std::string real(double value);

/// A scheme with its parts as text; what is empty is left out.
struct KernelText {
  int64_t head = 64, value = 64;
  std::string dtype = "f32";
  /// Pairs that a RoPE of base 10000 turns: "<0, 32, 1 x 32>", count of them.
  std::string pairs;
  int64_t pairCount = 0;
  /// #torsor.interval lists.
  std::string visible = "[#torsor.interval<(d0, d1)[s0] -> (0), "
                        "(d0, d1)[s0] -> (s0)>]";
  std::string full = visible;
  std::string rows, columns;         // bodies of regions, without the yield
  std::string rowSlots, columnSlots; // "%a, %b"
  std::string positionType = "i64";
  std::string rowTypes, columnTypes; // "i64, f32"
  std::string pairArguments;         // ", %a: i64, …" of rows, then columns
  std::string init, logit, mask, tile, toeplitz; // whole regions "{ … }"
  std::string attributes;                        // "scale 1.0 : f64" and so on
  std::string arguments;                         // #torsor.field, …
  std::string tables, tableTypes, tableInfo;     // further tables
  /// Lines that make %sink : f32 (log2 units) from the arguments of `rows`.
  std::string mergeSink;
  int64_t tileRows = 96, tileKeys = 256, splitKeys = 1024;
  bool keysActed = true, decode = false, append = false, merge = false;

  /// Causal ranges, and the region that says so.
  KernelText &causal();
  std::string module() const;

private:
  std::string appendFunction() const;
  std::string mergeFunction() const;
  std::string attention(const std::string &operation,
                        const std::string &plan) const;
};

} // namespace torsor::test

#endif // TORSOR_TEST_CODEGEN_KERNELTEXT_H
