// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far a kernel may lie from the reference, and where it lies farther.
#ifndef TORSOR_TEST_E2E_COMPARE_H
#define TORSOR_TEST_E2E_COMPARE_H

#include "test/e2e/Kernel.h"

namespace torsor::test {

/// What the bound needs to know of a scheme: the largest |scale| times gains
/// of q and k, and the largest |bias| (cap and sink included).
struct Magnitude {
  double scale = 0; ///< 0: 1 / sqrt(D).
  double bias = 0;
  /// How often an acted lane is rounded to the storage type.
  double roundings = 1;
  /// How often a result is: once more where parts are stored and merged.
  double results = 1;
  /// How long a norm leaves each q and k at most; 0: as they are.
  double length = 0;
  /// Of a linear readout: the largest weight, and how much a weight changes at
  /// most when its score does. 0: a softmax readout.
  double weight = 0, slope = 0;
};

/// Compares results with the reference's on the same rounded call. "" if all
/// lies within the bound, else the worst place and its numbers.
///
/// The bound, u being the unit roundoff of the storage type, u32 that of f32:
///  - logit: what is acted on is rounded to the storage type once on either
///    side, so by Cauchy-Schwarz |dz| <= scale |q| |k| (2 u + (D / 8 + 24) u32)
///    (6 u with phases as other libraries round them, which round three times)
///    (rotation, cos and sin, sums in at least 8 lanes), and 32 u32 (|z| +
///    |bias|) for the terms behind the score;
///  - weights: exp to a few u32 and, before they meet v, one rounding to the
///    storage type: e = |dz| + u + 16 u32, so |do| <= 2 (exp(e) - 1) max |v|;
///  - sums of n terms in 8 lanes and the division: (n / 8 + 40) u32 max |v|;
///  - the result's own rounding: u max |v|, and that of stored parts.
/// Of a linear readout every one of n terms may be off by e = slope |dz| +
/// weight (u + (n / 8 + 40) u32), and the divisor, which is at least 1, by n e:
///  |do| <= n e (max |v| + |o|) + 3 u |o|.
/// The LSE has no rounding to the storage type: |dz| + (n / 8 + 40) u32 and
/// 8 u32 of its size.
std::string compare(const RunResult &result, const Output &reference,
                    const Problem &problem, torsor_dtype dtype,
                    Magnitude magnitude);

/// The largest share of the bound that any element came to in `compare`.
double largestShare();

} // namespace torsor::test

#endif
