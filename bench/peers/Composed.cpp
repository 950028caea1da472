// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention composed of parts that exist: sgemm of oneDNN for scores and for
// values, and between them a softmax in vectors. Blocks of rows keep the scores
// in a cache; causal blocks leave out the keys that no row of them sees.
#include "bench/Meters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <dnnl.h>
#include <numbers>
#include <random>
#include <vector>

using namespace torsor;

namespace {

struct Problem {
  int64_t length, width;
  bool causal;
  std::vector<float> q, k, v, o, scores;

  Problem(int64_t length, int64_t width, bool causal)
      : length(length), width(width), causal(causal), q(length * width), k(q),
        v(q), o(q) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto *values : {&q, &k, &v})
      for (float &value : *values)
        value = normal(random);
  }

  int64_t countKeys(int64_t row) const { return causal ? row + 1 : length; }
  double countFlops() const {
    double pairs = causal ? 0.5 * length * (length + 1.0)
                          : static_cast<double>(length) * length;
    return 4.0 * width * pairs;
  }
};

/// 2^x for -126 <= x <= 0, by a polynomial on the nearest integer's distance.
inline float exp2Polynomial(float x) {
  int whole = static_cast<int>(x - 0.5f);
  float f = x - static_cast<float>(whole);
  float p = 1.535336e-4f;
  p = p * f + 1.339887e-3f;
  p = p * f + 9.618437e-3f;
  p = p * f + 5.550332e-2f;
  p = p * f + 2.402264e-1f;
  p = p * f + 6.931472e-1f;
  p = p * f + 1.0f;
  return std::bit_cast<float>(std::bit_cast<int>(p) + (whole << 23));
}

/// Turns a row of scores (in units of ln 2) into weights; returns their sum.
float weigh(float *row, int64_t count) {
  float most = row[0];
  for (int64_t j = 0; j < count; ++j)
    most = row[j] > most ? row[j] : most;
  float sum = 0;
  for (int64_t j = 0; j < count; ++j) {
    float x = row[j] - most;
    row[j] = exp2Polynomial(x > -126.0f ? x : -126.0f);
    sum += row[j];
  }
  return sum;
}

void attend(Problem &p, int64_t blockRows) {
  int64_t width = p.width;
  float scale =
      std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(width));
  p.scores.resize(blockRows * p.length);
  for (int64_t begin = 0; begin < p.length; begin += blockRows) {
    int64_t rows = std::min(blockRows, p.length - begin);
    int64_t keys = p.countKeys(begin + rows - 1);
    float *scores = p.scores.data(), *o = &p.o[begin * width];
    dnnl_sgemm('N', 'T', rows, keys, width, scale, &p.q[begin * width], width,
               p.k.data(), width, 0, scores, keys);
    std::vector<float> sums(rows);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t seen = p.countKeys(begin + i);
      sums[i] = weigh(scores + i * keys, seen);
      std::fill(scores + i * keys + seen, scores + (i + 1) * keys, 0.0f);
    }
    dnnl_sgemm('N', 'N', rows, width, keys, 1, scores, keys, p.v.data(), width,
               0, o, width);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t d = 0; d < width; ++d)
        o[i * width + d] /= sums[i];
  }
}

/// The largest error of some rows against f64.
double measureError(const Problem &p) {
  double most = 0;
  for (int64_t i = 0; i < p.length; i += p.length / 7) {
    std::vector<double> weights(p.countKeys(i));
    double sum = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      double dot = 0;
      for (int64_t d = 0; d < p.width; ++d)
        dot += static_cast<double>(p.q[i * p.width + d]) * p.k[j * p.width + d];
      sum += weights[j] = std::exp(dot / std::sqrt(p.width));
    }
    for (int64_t d = 0; d < p.width; ++d) {
      double o = 0;
      for (size_t j = 0; j < weights.size(); ++j)
        o += weights[j] / sum * p.v[j * p.width + d];
      most = std::max(most, std::abs(o - p.o[i * p.width + d]));
    }
  }
  return most;
}

void measure(int64_t length, int64_t width, bool causal) {
  Problem problem(length, width, causal);
  double peakFlops = 0, best = 0;
  int64_t bestRows = 0;
  for (int64_t rows : {32, 64, 128, 256}) {
    std::vector<Subject> subjects(2);
    subjects[0] = {"peak",
                   [&] { peakFlops = runFmaLoop(getBestFma(), 10000); }};
    subjects[1] = {"composed", [&] { attend(problem, rows); }};
    measureInterleaved(subjects, 5, 0.3);
    double share = problem.countFlops() / subjects[1].best /
                   (peakFlops / subjects[0].best);
    if (share > best)
      best = share, bestRows = rows;
  }
  std::printf(
      "{\"peer\": \"oneDNN sgemm + softmax\", \"length\": %d, \"width\": "
      "%d, \"causal\": %s, \"fraction_of_peak\": %.4f, \"rows\": %d, "
      "\"largest_error\": %.1e}\n",
      int(length), int(width), causal ? "true" : "false", best, int(bestRows),
      measureError(problem));
  std::fflush(stdout);
}

} // namespace

/// usage: bench-peer-composed [LENGTH]...
int main(int argc, char **argv) {
  // oneDNN brings OpenMP; one thread is measured.
  if (void *set = dlsym(RTLD_DEFAULT, "omp_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(1);
  std::vector<int64_t> lengths;
  for (int n = 1; n < argc; ++n)
    lengths.push_back(std::max(8l, std::strtol(argv[n], nullptr, 10)));
  if (lengths.empty())
    lengths = {512, 1024, 2048};
  for (int64_t width : {64, 128})
    for (int64_t length : lengths)
      for (bool causal : {false, true})
        measure(length, width, causal);
}
