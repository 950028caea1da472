// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The yardstick's loops, over the vectors of one machine level (`Isa`).
//
// Per key head, once: K rotated and transposed into panels [L/P][D][P], V
// copied to [D/P][L][P]. Per block of query rows: Q rotated and scaled into
// scratch, then over tiles of keys a register tile of scores over D, row
// statistics for a vector of rows at once, exp2 in place, and a register tile
// of outputs over the keys, up to the exact causal limit.
#include "bench/Yardstick.h"

#include <cmath>

namespace torsor {
namespace {

constexpr float hidden = -1e30f;

template <typename Isa, int width> struct Kernel {
  using V = typename Isa::V;
  static constexpr int lanes = Isa::lanes, group = Isa::rows,
                       vectors = Isa::vectors, panel = lanes * vectors;
  static constexpr int rowCount = yardstickRows, keyCount = yardstickKeys;

  const YardstickProblem &problem;
  float *packedK, *packedV;
  int64_t padded;
  // Scratch of one block of rows.
  float *q, *scores, *o, *maxima, *sums, *m, *alpha;

  Kernel(const YardstickProblem &problem, const YardstickMemory &memory)
      : problem(problem), packedK(memory.keys()), packedV(memory.values()),
        padded((problem.length + yardstickPanel - 1) / yardstickPanel *
               yardstickPanel) {
    q = memory.scratch();
    scores = q + rowCount * width;
    o = scores + rowCount * keyCount;
    maxima = o + rowCount * width;
    sums = maxima + rowCount * 16;
    m = sums + rowCount * 16;
    alpha = m + rowCount;
  }

  /// Rotates `lanes` lanes of a row from d on: the pair's two halves.
  void rotate(const float *row, int64_t position, int d, V &x, V &y) const {
    V c = Isa::load(problem.cosine + position * (width / 2) + d);
    V s = Isa::load(problem.sine + position * (width / 2) + d);
    V a = Isa::load(row + d), b = Isa::load(row + d + width / 2);
    x = Isa::sub(Isa::mul(a, c), Isa::mul(b, s));
    y = Isa::add(Isa::mul(b, c), Isa::mul(a, s));
  }

  void packKeys(const float *k) const {
    for (int64_t j = 0; j < padded; j += lanes)
      for (int d = 0; d < width / 2; d += lanes) {
        V x[lanes], y[lanes];
        for (int n = 0; n < lanes; ++n) {
          x[n] = y[n] = Isa::zero();
          if (j + n < problem.length)
            rotate(k + (j + n) * width, j + n, d, x[n], y[n]);
        }
        Isa::transpose(x);
        Isa::transpose(y);
        float *to = packedK + j / panel * panel * width + j % panel;
        for (int n = 0; n < lanes; ++n) {
          Isa::store(to + (d + n) * panel, x[n]);
          Isa::store(to + (d + n + width / 2) * panel, y[n]);
        }
      }
  }

  void packValues(const float *v) const {
    for (int64_t j = 0; j < problem.length; ++j)
      for (int d = 0; d < width; d += lanes)
        Isa::store(packedV + d / panel * panel * padded + j * panel + d % panel,
                   Isa::load(v + j * width + d));
  }

  /// Scores of `group` rows against `count` vectors of keys, with their maxima.
  /// Keys from `limit` on (the row's own, one more per row in a causal block)
  /// are hidden where `masked`.
  template <bool masked>
  void score(const float *qRow, const float *keys, float *s, float *maximum,
             int64_t limit) const {
    V acc[group][vectors];
    for (int r = 0; r < group; ++r)
      for (int n = 0; n < vectors; ++n)
        acc[r][n] = Isa::zero();
#pragma GCC unroll 2
    for (int d = 0; d < width; ++d) {
      V b[vectors];
      for (int n = 0; n < vectors; ++n)
        b[n] = Isa::load(keys + d * panel + n * lanes);
      for (int r = 0; r < group; ++r) {
        V a = Isa::broadcast(qRow + r * width + d);
        for (int n = 0; n < vectors; ++n)
          acc[r][n] = Isa::fma(a, b[n], acc[r][n]);
      }
    }
    for (int r = 0; r < group; ++r) {
      V top = Isa::load(maximum + r * lanes);
      for (int n = 0; n < vectors; ++n) {
        if (masked)
          acc[r][n] = Isa::hideFrom(
              acc[r][n], limit + (problem.causal ? r : 0) - n * lanes);
        top = Isa::max(top, acc[r][n]);
        Isa::store(s + r * keyCount + n * lanes, acc[r][n]);
      }
      Isa::store(maximum + r * lanes, top);
    }
  }

  /// Keys of the tile [j0, j0 + keyCount) that the group at row i may see: to
  /// the last row's limit, counted from j0.
  int64_t limitOf(int64_t i, int64_t j0) const {
    int64_t end =
        problem.causal ? std::min(i + group, problem.length) : problem.length;
    return std::max<int64_t>(0, std::min<int64_t>(end - j0, keyCount));
  }

  void scoreTile(int64_t i0, int rows, int64_t j0) const {
    for (int p = 0; p < keyCount; p += panel)
      for (int r = 0; r < rows; r += group) {
        if (p >= limitOf(i0 + r, j0))
          continue;
        // The first row's limit: the least of the group.
        int64_t least = (problem.causal ? std::min(i0 + r + 1, problem.length)
                                        : problem.length) -
                        j0 - p;
        const float *keys = packedK + (j0 + p) * width;
        float *s = scores + r * keyCount + p;
        if (least >= panel)
          score<false>(q + r * width, keys, s, maxima + r * lanes, 0);
        else
          score<true>(q + r * width, keys, s, maxima + r * lanes, least);
      }
  }

  /// New maxima, and the factors of what was summed under the old ones.
  void updateRows(int rows) const {
    for (int r = 0; r < rows; r += lanes) {
      V x[lanes];
      for (int n = 0; n < lanes; ++n)
        x[n] = Isa::load(maxima + (r + n) * lanes);
      Isa::transpose(x);
      for (int step = lanes / 2; step > 0; step /= 2)
        for (int n = 0; n < step; ++n)
          x[n] = Isa::max(x[n], x[n + step]);
      V before = Isa::load(m + r), now = Isa::max(before, x[0]);
      Isa::store(alpha + r, Isa::exp2(Isa::sub(before, now)));
      Isa::store(m + r, now);
    }
  }

  void exponentiate(int64_t i0, int rows, int64_t j0) const {
    for (int r = 0; r < rows; ++r) {
      int64_t limit = limitOf(i0 + r / group * group, j0);
      float *s = scores + r * keyCount;
      V top = Isa::broadcast(m + r), sum0 = Isa::zero(), sum1 = Isa::zero();
      int64_t n = 0;
      for (; n + lanes < limit; n += 2 * lanes) {
        V a = Isa::exp2(Isa::sub(Isa::load(s + n), top));
        V b = Isa::exp2(Isa::sub(Isa::load(s + n + lanes), top));
        Isa::store(s + n, a);
        Isa::store(s + n + lanes, b);
        sum0 = Isa::add(sum0, a);
        sum1 = Isa::add(sum1, b);
      }
      if (n < limit) {
        V a = Isa::exp2(Isa::sub(Isa::load(s + n), top));
        Isa::store(s + n, a);
        sum0 = Isa::add(sum0, a);
      }
      Isa::store(sums + r * lanes,
                 Isa::fma(Isa::load(sums + r * lanes),
                          Isa::broadcast(alpha + r), Isa::add(sum0, sum1)));
    }
  }

  void accumulate(int64_t i0, int rows, int64_t j0) const {
    for (int c = 0; c < width; c += panel) {
      const float *values = packedV + c * padded + j0 * panel;
      for (int r = 0; r < rows; r += group) {
        V acc[group][vectors];
        for (int k = 0; k < group; ++k)
          for (int n = 0; n < vectors; ++n)
            acc[k][n] = Isa::mul(Isa::load(o + (r + k) * width + c + n * lanes),
                                 Isa::broadcast(alpha + r + k));
        int64_t limit = limitOf(i0 + r, j0);
        const float *p = scores + r * keyCount;
#pragma GCC unroll 2
        for (int64_t j = 0; j < limit; ++j) {
          V b[vectors];
          for (int n = 0; n < vectors; ++n)
            b[n] = Isa::load(values + j * panel + n * lanes);
          for (int k = 0; k < group; ++k) {
            V a = Isa::broadcast(p + k * keyCount + j);
            for (int n = 0; n < vectors; ++n)
              acc[k][n] = Isa::fma(a, b[n], acc[k][n]);
          }
        }
        for (int k = 0; k < group; ++k)
          for (int n = 0; n < vectors; ++n)
            Isa::store(o + (r + k) * width + c + n * lanes, acc[k][n]);
      }
    }
  }

  /// Query rows i0 … i0 + rows of one head; rows behind the end are copies of
  /// the last one and are not written back.
  void block(const float *qHead, float *oHead, int64_t i0, int rows) const {
    // log2 e, since the exponential is exp2.
    float gain = 1.4426950408889634f / std::sqrt(static_cast<float>(width));
    for (int r = 0; r < rows; ++r) {
      int64_t i = std::min(i0 + r, problem.length - 1);
      for (int d = 0; d < width / 2; d += lanes) {
        V x, y, g = Isa::broadcast(&gain);
        rotate(qHead + i * width, i, d, x, y);
        Isa::store(q + r * width + d, Isa::mul(x, g));
        Isa::store(q + r * width + d + width / 2, Isa::mul(y, g));
      }
      for (int d = 0; d < width; d += lanes)
        Isa::store(o + r * width + d, Isa::zero());
      Isa::store(sums + r * lanes, Isa::zero());
      m[r] = hidden;
    }
    int64_t end =
        problem.causal ? std::min(i0 + rows, problem.length) : problem.length;
    for (int64_t j0 = 0; j0 < end; j0 += keyCount) {
      for (int r = 0; r < rows; ++r)
        Isa::store(maxima + r * lanes, Isa::broadcast(&hidden));
      scoreTile(i0, rows, j0);
      updateRows(rows);
      exponentiate(i0, rows, j0);
      accumulate(i0, rows, j0);
    }
    for (int r = 0; r < rows && i0 + r < problem.length; ++r) {
      float sum = 0;
      for (int n = 0; n < lanes; ++n)
        sum += sums[r * lanes + n];
      float inverse = 1 / sum;
      for (int d = 0; d < width; d += lanes)
        Isa::store(
            oHead + (i0 + r) * width + d,
            Isa::mul(Isa::load(o + r * width + d), Isa::broadcast(&inverse)));
    }
  }

  void run(int64_t piece) const {
    int64_t size = problem.length * width,
            share = problem.heads / problem.groups,
            blocks = (problem.length + rowCount - 1) / rowCount;
    int64_t g = piece / (1 + share * blocks), n = piece % (1 + share * blocks);
    if (n == 0) {
      packKeys(problem.k + g * size);
      packValues(problem.v + g * size);
      return;
    }
    int64_t h = g * share + (n - 1) / blocks, i = (n - 1) % blocks * rowCount;
    // A whole number of row groups and of vectors of statistics.
    int64_t rows = std::min<int64_t>(problem.length - i, rowCount);
    constexpr int64_t step = group * lanes / 2;
    block(problem.q + h * size, problem.o + h * size, i,
          static_cast<int>((rows + step - 1) / step * step));
  }
};

template <typename Isa>
void runKernel(const YardstickProblem &problem, const YardstickMemory &memory,
               int64_t piece) {
  if (problem.width == 64)
    Kernel<Isa, 64>(problem, memory).run(piece);
  else
    Kernel<Isa, 128>(problem, memory).run(piece);
}

} // namespace
} // namespace torsor
