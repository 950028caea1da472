// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hand-written kernel beside the one that is timed.
#ifndef TORSOR_TOOLS_TORSOR_BENCHYARDSTICK_H
#define TORSOR_TOOLS_TORSOR_BENCHYARDSTICK_H

#include "bench/Meters.h"
#include "bench/Yardstick.h"
#include "tools/torsor/BenchData.h"

#include <vector>

namespace torsor {

/// Whether the hand-written kernel does calls of this shape.
bool canYardstick(const BenchShape &shape);

/// The hand-written kernel on a problem of its own.
class BenchYardstick {
public:
  /// `bf16`: by bf16 instructions; `narrow`: by AVX2.
  BenchYardstick(const BenchShape &shape, bool causal, bool bf16, bool narrow);
  BenchYardstick(const BenchYardstick &) = delete;
  BenchYardstick &operator=(const BenchYardstick &) = delete;

  /// Lives no longer than this; `inPieces`: as runs of a piece each.
  Subject makeSubject(bool inPieces);

private:
  std::vector<float> q, k, v, o, cosine, sine;
  YardstickProblem problem;
  YardstickMemory memory;
  YardstickIsa isa;
};

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_BENCHYARDSTICK_H
