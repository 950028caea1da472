// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention in double, pair by pair, to compare kernels with.
#ifndef TORSOR_TEST_CODEGEN_NAIVE_H
#define TORSOR_TEST_CODEGEN_NAIVE_H

#include "runtime/torsor.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace torsor::test {

/// One tensor [rows, heads, tokens, width] of f32, bf16 or f16, values kept as
/// they were rounded.
class Array {
public:
  Array(torsor_dtype dtype, int64_t rows, int64_t heads, int64_t tokens,
        int64_t width, bool tokenMajor = false);

  void fillNormal(unsigned seed, double spread = 1);
  double get(int64_t row, int64_t head, int64_t token, int64_t lane) const;
  void set(int64_t row, int64_t head, int64_t token, int64_t lane, double x);
  torsor_tensor view();

private:
  size_t at(int64_t row, int64_t head, int64_t token, int64_t lane) const;
  torsor_dtype dtype;
  int64_t sizes[4];
  bool tokenMajor;
  std::vector<unsigned char> bytes;
};

/// What a scheme computes, by pair. Unset: the plain thing.
struct NaiveScheme {
  int64_t head = 0, value = 0;
  /// Rotated pairs: lanes first + p * step and second + p * step; RoPE of base
  /// 10000 over `count`.
  int64_t first = 0, second = 0, step = 1, count = 0;
  double stretch = 1; // position = stretch * index
  /// Natural logit from the plain product; visibility.
  std::function<double(double z, int64_t i, int64_t j, int64_t h)> logit;
  std::function<bool(int64_t i, int64_t j, int64_t h)> mask;
  std::function<double(int64_t i, int64_t h)> sink;
};

struct NaiveRow {
  std::vector<double> o;
  double lse;
};

/// The row of query i = index of token `query`, head `h`, against the keys of
/// `sequence`; positions are indices.
NaiveRow naiveRow(const NaiveScheme &scheme, const Array &q, const Array &k,
                  const Array &v, const torsor_sequence &sequence,
                  int64_t query, int64_t h, int64_t headsPerGroup,
                  bool isActed = false);

/// Turns a row of `count` pairs by position `t`.
void turn(const NaiveScheme &scheme, std::vector<double> &row, double t);

} // namespace torsor::test

#endif // TORSOR_TEST_CODEGEN_NAIVE_H
