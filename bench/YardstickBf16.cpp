// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The yardstick for AVX512-BF16. As YardstickKernel.h, but all products are of
// pairs of bf16: K packed as [L/64][D/2][64 x 2], V as [D/64][L/2][64 x 2], the
// weights rounded to bf16 in place.
#include "bench/VectorsAvx512.h"

namespace torsor {
namespace {

using V = __m512;
constexpr int lanes = Avx512::lanes, group = Avx512::rows,
              vectors = Avx512::vectors, panel = lanes * vectors;
constexpr int rowCount = yardstickRows, keyCount = yardstickKeys;

V widen(const uint16_t *from) {
  __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
void narrow(uint16_t *to, V value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                      reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
}
/// Sixteen words of two: first the lanes of `low`, then those of `high`.
__m512i narrowPair(V low, V high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
V multiplyAdd(__m512i a, __m512i b, V sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a),
                          reinterpret_cast<__m512bh>(b));
}

template <int width> struct BfloatKernel {
  static constexpr int words = width / 2;
  const YardstickProblem &problem;
  const uint16_t *q, *k, *v;
  uint16_t *o;
  uint32_t *packedK, *packedV, *rows;
  int64_t padded;
  float *scores, *sum, *maxima, *sums, *m, *alpha;

  BfloatKernel(const YardstickProblem &problem, const YardstickMemory &memory)
      : problem(problem), q(reinterpret_cast<const uint16_t *>(problem.q)),
        k(reinterpret_cast<const uint16_t *>(problem.k)),
        v(reinterpret_cast<const uint16_t *>(problem.v)),
        o(reinterpret_cast<uint16_t *>(problem.o)),
        packedK(reinterpret_cast<uint32_t *>(memory.keys())),
        packedV(reinterpret_cast<uint32_t *>(memory.values())),
        rows(reinterpret_cast<uint32_t *>(memory.scratch())),
        padded((problem.length + yardstickPanel - 1) / yardstickPanel *
               yardstickPanel) {
    scores = memory.scratch() + rowCount * width;
    sum = scores + rowCount * keyCount;
    maxima = sum + rowCount * width;
    sums = maxima + rowCount * lanes;
    m = sums + rowCount * lanes;
    alpha = m + rowCount;
  }

  void rotate(const uint16_t *row, int64_t position, int d, V &x, V &y) const {
    V c = Avx512::load(problem.cosine + position * words + d);
    V s = Avx512::load(problem.sine + position * words + d);
    V a = widen(row + d), b = widen(row + d + words);
    x = Avx512::sub(Avx512::mul(a, c), Avx512::mul(b, s));
    y = Avx512::add(Avx512::mul(b, c), Avx512::mul(a, s));
  }
  /// Rotates 2 * lanes lanes of a row from d on, as words of the two halves.
  void rotatePair(const uint16_t *row, int64_t position, int d, V gain, V &x,
                  V &y) const {
    V x0, y0, x1, y1;
    rotate(row, position, d, x0, y0);
    rotate(row, position, d + lanes, x1, y1);
    x = _mm512_castsi512_ps(
        narrowPair(Avx512::mul(x0, gain), Avx512::mul(x1, gain)));
    y = _mm512_castsi512_ps(
        narrowPair(Avx512::mul(y0, gain), Avx512::mul(y1, gain)));
  }

  void packKeys(const uint16_t *from) const {
    for (int64_t j = 0; j < padded; j += lanes)
      for (int d = 0; d < words; d += 2 * lanes) {
        V x[lanes], y[lanes];
        for (int n = 0; n < lanes; ++n) {
          x[n] = y[n] = Avx512::zero();
          if (j + n < problem.length)
            rotatePair(from + (j + n) * width, j + n, d, _mm512_set1_ps(1),
                       x[n], y[n]);
        }
        Avx512::transpose(x);
        Avx512::transpose(y);
        uint32_t *to = packedK + j / panel * panel * words + j % panel;
        for (int n = 0; n < lanes; ++n) {
          _mm512_storeu_ps(to + (d / 2 + n) * panel, x[n]);
          _mm512_storeu_ps(to + (d / 2 + n + words / 2) * panel, y[n]);
        }
      }
  }

  void packValues(const uint16_t *from) const {
    alignas(64) uint16_t order[2 * lanes];
    for (int n = 0; n < 2 * lanes; ++n)
      order[n] = n / 2 + n % 2 * 2 * lanes;
    __m512i interleave = _mm512_load_si512(order);
    for (int64_t j = 0; j < problem.length; j += 2)
      for (int d = 0; d < width; d += lanes) {
        auto load = [&](int64_t row) {
          return _mm512_castsi256_si512(_mm256_loadu_si256(
              reinterpret_cast<const __m256i *>(from + row * width + d)));
        };
        __m512i first = load(j), second = _mm512_setzero_si512();
        if (j + 1 < problem.length)
          second = load(j + 1);
        _mm512_storeu_si512(
            packedV + (d / panel * panel * padded + j * panel) / 2 + d % panel,
            _mm512_permutex2var_epi16(first, interleave, second));
      }
  }

  template <bool masked>
  void score(const uint32_t *qRow, const uint32_t *keys, float *s,
             float *maximum, int64_t limit) const {
    V acc[group][vectors];
    for (auto &row : acc)
      for (V &one : row)
        one = Avx512::zero();
#pragma GCC unroll 2
    for (int d = 0; d < words; ++d) {
      __m512i b[vectors];
      for (int n = 0; n < vectors; ++n)
        b[n] = _mm512_loadu_si512(keys + d * panel + n * lanes);
      for (int r = 0; r < group; ++r) {
        __m512i a = _mm512_set1_epi32(static_cast<int>(qRow[r * words + d]));
        for (int n = 0; n < vectors; ++n)
          acc[r][n] = multiplyAdd(a, b[n], acc[r][n]);
      }
    }
    for (int r = 0; r < group; ++r) {
      V top = Avx512::load(maximum + r * lanes);
      for (int n = 0; n < vectors; ++n) {
        if (masked)
          acc[r][n] = Avx512::hideFrom(
              acc[r][n], limit + (problem.causal ? r : 0) - n * lanes);
        top = Avx512::max(top, acc[r][n]);
        Avx512::store(s + r * keyCount + n * lanes, acc[r][n]);
      }
      Avx512::store(maximum + r * lanes, top);
    }
  }

  int64_t limitOf(int64_t i, int64_t j0) const {
    int64_t end =
        problem.causal ? std::min(i + group, problem.length) : problem.length;
    return std::clamp<int64_t>(end - j0, 0, keyCount);
  }

  void scoreTile(int64_t i0, int count, int64_t j0) const {
    for (int p = 0; p < keyCount; p += panel)
      for (int r = 0; r < count; r += group) {
        if (p >= limitOf(i0 + r, j0))
          continue;
        int64_t least = (problem.causal ? std::min(i0 + r + 1, problem.length)
                                        : problem.length) -
                        j0 - p;
        const uint32_t *keys = packedK + (j0 + p) * words;
        float *s = scores + r * keyCount + p;
        if (least >= panel)
          score<false>(rows + r * words, keys, s, maxima + r * lanes, 0);
        else
          score<true>(rows + r * words, keys, s, maxima + r * lanes, least);
      }
  }

  void updateRows(int count) const {
    for (int r = 0; r < count; r += lanes) {
      V x[lanes];
      for (int n = 0; n < lanes; ++n)
        x[n] = Avx512::load(maxima + (r + n) * lanes);
      Avx512::transpose(x);
      for (int step = lanes / 2; step > 0; step /= 2)
        for (int n = 0; n < step; ++n)
          x[n] = Avx512::max(x[n], x[n + step]);
      V before = Avx512::load(m + r), now = Avx512::max(before, x[0]);
      Avx512::store(alpha + r, Avx512::exp2(Avx512::sub(before, now)));
      Avx512::store(m + r, now);
    }
  }

  /// Scores to weights, as bf16 at the front of each row.
  void exponentiate(int64_t i0, int count, int64_t j0) const {
    for (int r = 0; r < count; ++r) {
      int64_t limit = limitOf(i0 + r / group * group, j0);
      float *s = scores + r * keyCount;
      auto *weights = reinterpret_cast<uint32_t *>(s);
      V top = Avx512::broadcast(m + r), sum0 = Avx512::zero(), sum1 = sum0;
      for (int64_t n = 0; n < limit; n += 2 * lanes) {
        V a = Avx512::exp2(Avx512::sub(Avx512::load(s + n), top));
        V b = Avx512::exp2(Avx512::sub(Avx512::load(s + n + lanes), top));
        _mm512_storeu_si512(weights + n / 2, narrowPair(a, b));
        sum0 = Avx512::add(sum0, a);
        sum1 = Avx512::add(sum1, b);
      }
      Avx512::store(sums + r * lanes,
                    Avx512::fma(Avx512::load(sums + r * lanes),
                                Avx512::broadcast(alpha + r),
                                Avx512::add(sum0, sum1)));
    }
  }

  void accumulate(int64_t i0, int count, int64_t j0) const {
    for (int c = 0; c < width; c += panel) {
      const uint32_t *values = packedV + (c * padded + j0 * panel) / 2;
      for (int r = 0; r < count; r += group) {
        V acc[group][vectors];
        for (int n = 0; n < group; ++n)
          for (int b = 0; b < vectors; ++b)
            acc[n][b] =
                Avx512::mul(Avx512::load(sum + (r + n) * width + c + b * lanes),
                            Avx512::broadcast(alpha + r + n));
        int64_t pairs = (limitOf(i0 + r, j0) + 1) / 2;
        auto *weights =
            reinterpret_cast<const uint32_t *>(scores + r * keyCount);
#pragma GCC unroll 2
        for (int64_t j = 0; j < pairs; ++j) {
          __m512i b[vectors];
          for (int n = 0; n < vectors; ++n)
            b[n] = _mm512_loadu_si512(values + j * panel + n * lanes);
          for (int n = 0; n < group; ++n) {
            __m512i a =
                _mm512_set1_epi32(static_cast<int>(weights[n * keyCount + j]));
            for (int l = 0; l < vectors; ++l)
              acc[n][l] = multiplyAdd(a, b[l], acc[n][l]);
          }
        }
        for (int n = 0; n < group; ++n)
          for (int b = 0; b < vectors; ++b)
            Avx512::store(sum + (r + n) * width + c + b * lanes, acc[n][b]);
      }
    }
  }

  void block(const uint16_t *qHead, uint16_t *oHead, int64_t i0,
             int count) const {
    V gain = _mm512_set1_ps(1.4426950408889634f /
                            std::sqrt(static_cast<float>(width)));
    for (int r = 0; r < count; ++r) {
      int64_t i = std::min(i0 + r, problem.length - 1);
      for (int d = 0; d < words; d += 2 * lanes) {
        V x, y;
        rotatePair(qHead + i * width, i, d, gain, x, y);
        _mm512_storeu_ps(rows + r * words + d / 2, x);
        _mm512_storeu_ps(rows + r * words + (d + words) / 2, y);
      }
      for (int d = 0; d < width; d += lanes)
        Avx512::store(sum + r * width + d, Avx512::zero());
      Avx512::store(sums + r * lanes, Avx512::zero());
      m[r] = hidden;
    }
    int64_t end =
        problem.causal ? std::min(i0 + count, problem.length) : problem.length;
    for (int64_t j0 = 0; j0 < end; j0 += keyCount) {
      for (int r = 0; r < count; ++r)
        Avx512::store(maxima + r * lanes, Avx512::broadcast(&hidden));
      scoreTile(i0, count, j0);
      updateRows(count);
      exponentiate(i0, count, j0);
      accumulate(i0, count, j0);
    }
    for (int r = 0; r < count && i0 + r < problem.length; ++r) {
      V inverse = _mm512_set1_ps(
          1 / _mm512_reduce_add_ps(Avx512::load(sums + r * lanes)));
      for (int d = 0; d < width; d += lanes)
        narrow(oHead + (i0 + r) * width + d,
               Avx512::mul(Avx512::load(sum + r * width + d), inverse));
    }
  }

  void run(int64_t piece) const {
    int64_t size = problem.length * width,
            share = problem.heads / problem.groups,
            blocks = (problem.length + rowCount - 1) / rowCount;
    int64_t g = piece / (1 + share * blocks), n = piece % (1 + share * blocks);
    if (n == 0) {
      packKeys(k + g * size);
      packValues(v + g * size);
      return;
    }
    int64_t h = g * share + (n - 1) / blocks, i = (n - 1) % blocks * rowCount;
    int64_t count = std::min<int64_t>(problem.length - i, rowCount);
    constexpr int64_t step = group * lanes / 2; // whole groups, whole vectors
    block(q + h * size, o + h * size, i,
          static_cast<int>((count + step - 1) / step * step));
  }
};

} // namespace

void runYardstickAvx512Bf16(const YardstickProblem &problem,
                            const YardstickMemory &memory, int64_t piece) {
  if (problem.width == 64)
    BfloatKernel<64>(problem, memory).run(piece);
  else
    BfloatKernel<128>(problem, memory).run(piece);
}

} // namespace torsor
