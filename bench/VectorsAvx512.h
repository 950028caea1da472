// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of AVX-512 for the yardsticks; included where they are compiled for.
#ifndef TORSOR_BENCH_VECTORSAVX512_H
#define TORSOR_BENCH_VECTORSAVX512_H

#include "bench/YardstickKernel.h"

#include <algorithm>
#include <immintrin.h>

namespace torsor {
namespace {

struct Avx512 {
  using V = __m512;
  static constexpr int lanes = 16, rows = 6, vectors = 4;

  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float *p) { return _mm512_loadu_ps(p); }
  static void store(float *p, V v) { _mm512_storeu_ps(p, v); }
  static V broadcast(const float *p) { return _mm512_set1_ps(*p); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }

  /// Lanes from `limit` on become `hidden`.
  static V hideFrom(V v, int64_t limit) {
    int clamped = static_cast<int>(std::clamp<int64_t>(limit, 0, lanes));
    __mmask16 seen = static_cast<__mmask16>((1u << clamped) - 1);
    return _mm512_mask_mov_ps(_mm512_set1_ps(hidden), seen, v);
  }

  /// 2^x for x <= 0; 0 far below.
  static V exp2(V x) {
    // Scaling a NaN-free clamped value: the remainder of -1e30 would be 0.
    x = _mm512_max_ps(x, _mm512_set1_ps(-1000));
    V n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT);
    V f = _mm512_sub_ps(x, n);
    V p = _mm512_set1_ps(.00132647273f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(.00967151299f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(.0555073358f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(.240222424f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(.693147004f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return _mm512_scalef_ps(p, n);
  }

  static void transpose(V (&x)[16]) {
    V y[16], z[16];
    for (int n = 0; n < 16; n += 2) {
      y[n] = _mm512_unpacklo_ps(x[n], x[n + 1]);
      y[n + 1] = _mm512_unpackhi_ps(x[n], x[n + 1]);
    }
    for (int n = 0; n < 16; n += 4) {
      z[n] = _mm512_shuffle_ps(y[n], y[n + 2], 0x44);
      z[n + 1] = _mm512_shuffle_ps(y[n], y[n + 2], 0xee);
      z[n + 2] = _mm512_shuffle_ps(y[n + 1], y[n + 3], 0x44);
      z[n + 3] = _mm512_shuffle_ps(y[n + 1], y[n + 3], 0xee);
    }
    // z[4 a + b] holds, in its 128-bit quarters c, columns 4 c + b of rows
    // 4 a … 4 a + 3: transpose the quarters.
    for (int b = 0; b < 4; ++b) {
      V low0 = _mm512_shuffle_f32x4(z[b], z[4 + b], 0x88);
      V high0 = _mm512_shuffle_f32x4(z[b], z[4 + b], 0xdd);
      V low1 = _mm512_shuffle_f32x4(z[8 + b], z[12 + b], 0x88);
      V high1 = _mm512_shuffle_f32x4(z[8 + b], z[12 + b], 0xdd);
      x[b] = _mm512_shuffle_f32x4(low0, low1, 0x88);
      x[4 + b] = _mm512_shuffle_f32x4(high0, high1, 0x88);
      x[8 + b] = _mm512_shuffle_f32x4(low0, low1, 0xdd);
      x[12 + b] = _mm512_shuffle_f32x4(high0, high1, 0xdd);
    }
  }
};

} // namespace
} // namespace torsor

#endif // TORSOR_BENCH_VECTORSAVX512_H
