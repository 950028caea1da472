// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention in double, pair by pair, to compare kernels with.
#include "Naive.h"

namespace torsor::test {

static size_t bytesOf(torsor_dtype dtype) {
  return dtype == TORSOR_F32 ? 4 : 2;
}

Array::Array(torsor_dtype dtype, int64_t rows, int64_t heads, int64_t tokens,
             int64_t width, bool tokenMajor)
    : dtype(dtype), sizes{rows, heads, tokens, width}, tokenMajor(tokenMajor),
      bytes(size_t(rows * heads * tokens * width) * bytesOf(dtype), 0xff) {}

size_t Array::at(int64_t row, int64_t head, int64_t token, int64_t lane) const {
  int64_t line = tokenMajor ? (row * sizes[2] + token) * sizes[1] + head
                            : (row * sizes[1] + head) * sizes[2] + token;
  return size_t(line * sizes[3] + lane) * bytesOf(dtype);
}

double Array::get(int64_t row, int64_t head, int64_t token,
                  int64_t lane) const {
  const unsigned char *from = bytes.data() + at(row, head, token, lane);
  if (dtype == TORSOR_F32) {
    float x;
    std::memcpy(&x, from, 4);
    return x;
  }
  if (dtype == TORSOR_F16) {
    _Float16 x;
    std::memcpy(&x, from, 2);
    return double(x);
  }
  uint16_t half;
  std::memcpy(&half, from, 2);
  uint32_t bits = uint32_t(half) << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

void Array::set(int64_t row, int64_t head, int64_t token, int64_t lane,
                double value) {
  unsigned char *to = bytes.data() + at(row, head, token, lane);
  float x = float(value);
  if (dtype == TORSOR_F32) {
    std::memcpy(to, &x, 4);
  } else if (dtype == TORSOR_F16) {
    auto h = static_cast<_Float16>(x);
    std::memcpy(to, &h, 2);
  } else {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    uint16_t half = std::isnan(x)
                        ? 0x7fc0
                        : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    std::memcpy(to, &half, 2);
  }
}

void Array::fillNormal(unsigned seed, double spread) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, spread);
  for (int64_t r = 0; r < sizes[0]; ++r)
    for (int64_t h = 0; h < sizes[1]; ++h)
      for (int64_t t = 0; t < sizes[2]; ++t)
        for (int64_t d = 0; d < sizes[3]; ++d)
          set(r, h, t, d, normal(random));
}

torsor_tensor Array::view() {
  return tokenMajor ? torsor_token_major(bytes.data(), dtype, sizes[0],
                                         sizes[2], sizes[1], sizes[3])
                    : torsor_dense(bytes.data(), dtype, sizes[0], sizes[1],
                                   sizes[2], sizes[3]);
}

void turn(const NaiveScheme &scheme, std::vector<double> &row, double t) {
  for (int64_t p = 0; p < scheme.count; ++p) {
    double angle = t * std::pow(10000.0, -double(p) / double(scheme.count));
    double c = std::cos(angle), s = std::sin(angle);
    double &x = row[scheme.first + p * scheme.step];
    double &y = row[scheme.second + p * scheme.step];
    double turned = x * c - y * s;
    y = x * s + y * c;
    x = turned;
  }
}

NaiveRow naiveRow(const NaiveScheme &scheme, const Array &q, const Array &k,
                  const Array &v, const torsor_sequence &sequence,
                  int64_t query, int64_t h, int64_t headsPerGroup,
                  bool isActed) {
  int64_t i = sequence.query_index + query, g = h / headsPerGroup;
  std::vector<double> a(scheme.head), b(scheme.head);
  for (int64_t d = 0; d < scheme.head; ++d)
    a[d] = q.get(sequence.query_row, h, sequence.query_start + query, d);
  turn(scheme, a, scheme.stretch * double(i));
  std::vector<double> logits;
  std::vector<int64_t> keys;
  for (int64_t n = 0; n < sequence.key_length && i >= 0; ++n) {
    int64_t j = sequence.key_index + n;
    if (scheme.mask && !scheme.mask(i, j, h))
      continue;
    for (int64_t d = 0; d < scheme.head; ++d)
      b[d] = k.get(sequence.key_row, g, sequence.key_start + n, d);
    if (!isActed)
      turn(scheme, b, scheme.stretch * double(j));
    double z = 0;
    for (int64_t d = 0; d < scheme.head; ++d)
      z += a[d] * b[d];
    logits.push_back(scheme.logit ? scheme.logit(z, i, j, h)
                                  : z / std::sqrt(double(scheme.head)));
    keys.push_back(sequence.key_start + n);
  }
  double infinity = std::numeric_limits<double>::infinity();
  double top = scheme.sink ? scheme.sink(i, h) : -infinity, sum = 0;
  for (double z : logits)
    top = z > top || std::isnan(z) ? z : top;
  NaiveRow row = {std::vector<double>(scheme.value, 0.0), -infinity};
  if (logits.empty() || top == -infinity)
    return row;
  if (scheme.sink)
    sum = std::exp(scheme.sink(i, h) - top);
  for (size_t n = 0; n < keys.size(); ++n) {
    double weight = std::exp(logits[n] - top);
    sum += weight;
    if (weight != 0)
      for (int64_t d = 0; d < scheme.value; ++d)
        row.o[d] += weight * v.get(sequence.key_row, g, keys[n], d);
  }
  for (double &x : row.o)
    x /= sum;
  row.lse = top + std::log(sum);
  return row;
}

} // namespace torsor::test
