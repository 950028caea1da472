// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The yardstick for AVX2 and FMA: tiles of 6 rows by 2 vectors.
#include "bench/YardstickKernel.h"

#include <algorithm>
#include <immintrin.h>

namespace torsor {
namespace {

struct Avx2 {
  using V = __m256;
  static constexpr int lanes = 8, rows = 6, vectors = 2;

  static V zero() { return _mm256_setzero_ps(); }
  static V load(const float *p) { return _mm256_loadu_ps(p); }
  static void store(float *p, V v) { _mm256_storeu_ps(p, v); }
  static V broadcast(const float *p) { return _mm256_broadcast_ss(p); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm256_max_ps(a, b); }

  /// Lanes from `limit` on become `hidden`.
  static V hideFrom(V v, int64_t limit) {
    int clamped = static_cast<int>(std::clamp<int64_t>(limit, 0, lanes));
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i seen = _mm256_cmpgt_epi32(_mm256_set1_epi32(clamped), lane);
    return _mm256_blendv_ps(_mm256_set1_ps(hidden), v,
                            _mm256_castsi256_ps(seen));
  }

  /// 2^x for x <= 0; 0 below -126.
  static V exp2(V x) {
    V seen = _mm256_cmp_ps(x, _mm256_set1_ps(-126), _CMP_GE_OQ);
    V n = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    V f = _mm256_sub_ps(x, n);
    V p = _mm256_set1_ps(.00132647273f);
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(.00967151299f));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(.0555073358f));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(.240222424f));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(.693147004f));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(1));
    __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    p = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), shift));
    return _mm256_and_ps(p, seen);
  }

  static void transpose(V (&x)[8]) {
    V y[8];
    for (int n = 0; n < 8; n += 2) {
      y[n] = _mm256_unpacklo_ps(x[n], x[n + 1]);
      y[n + 1] = _mm256_unpackhi_ps(x[n], x[n + 1]);
    }
    V z[8];
    for (int n = 0; n < 8; n += 4) {
      z[n] = _mm256_shuffle_ps(y[n], y[n + 2], 0x44);
      z[n + 1] = _mm256_shuffle_ps(y[n], y[n + 2], 0xee);
      z[n + 2] = _mm256_shuffle_ps(y[n + 1], y[n + 3], 0x44);
      z[n + 3] = _mm256_shuffle_ps(y[n + 1], y[n + 3], 0xee);
    }
    for (int n = 0; n < 4; ++n) {
      x[n] = _mm256_permute2f128_ps(z[n], z[n + 4], 0x20);
      x[n + 4] = _mm256_permute2f128_ps(z[n], z[n + 4], 0x31);
    }
  }
};

} // namespace

void runYardstickAvx2(const YardstickProblem &problem,
                      const YardstickMemory &memory, int64_t piece) {
  runKernel<Avx2>(problem, memory, piece);
}

} // namespace torsor
