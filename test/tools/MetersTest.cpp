// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The yardstick computes attention, and the meters measure something.
#include "bench/Meters.h"

#include "bench/Yardstick.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace torsor;

namespace {

struct Inputs {
  int64_t heads, groups, length, width;
  std::vector<float> q, k, v, cosine, sine;

  Inputs(int64_t heads, int64_t groups, int64_t length, int64_t width)
      : heads(heads), groups(groups), length(length), width(width),
        q(heads * length * width), k(groups * length * width), v(k.size()),
        cosine(length * width / 2), sine(cosine.size()) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto *values : {&q, &k, &v})
      for (float &value : *values)
        value = normal(random);
    for (int64_t i = 0; i < length; ++i)
      for (int64_t p = 0; p < width / 2; ++p) {
        double angle = i * std::pow(10000.0, -2.0 * p / width);
        cosine[i * width / 2 + p] = static_cast<float>(std::cos(angle));
        sine[i * width / 2 + p] = static_cast<float>(std::sin(angle));
      }
  }

  /// <R q_i, R k_j>, plainly.
  double dot(const float *a, int64_t i, const float *b, int64_t j) const {
    double sum = 0;
    for (int64_t p = 0; p < width / 2; ++p) {
      double angle = (i - j) * std::pow(10000.0, -2.0 * p / width);
      double x = a[p], y = a[p + width / 2], z = b[p], w = b[p + width / 2];
      sum += (x * z + y * w) * std::cos(angle) +
             (y * z - x * w) * -std::sin(angle);
    }
    return sum;
  }

  double largestError(const std::vector<float> &o, bool causal) const {
    double worst = 0;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < length; ++i) {
        const float *keys = k.data() + h * groups / heads * length * width;
        const float *values = v.data() + h * groups / heads * length * width;
        std::vector<double> sums(width);
        double total = 0;
        for (int64_t j = 0; j < (causal ? i + 1 : length); ++j) {
          double p = std::exp(
              dot(&q[(h * length + i) * width], i, keys + j * width, j) /
              std::sqrt(double(width)));
          total += p;
          for (int64_t d = 0; d < width; ++d)
            sums[d] += p * values[j * width + d];
        }
        for (int64_t d = 0; d < width; ++d)
          worst = std::max(worst, std::abs(sums[d] / total -
                                           o[(h * length + i) * width + d]));
      }
    return worst;
  }
};

TEST(Yardstick, ComputesAttention) {
  for (YardstickIsa isa : {YardstickIsa::Avx2, YardstickIsa::Avx512}) {
    if (!isSupported(isa == YardstickIsa::Avx2 ? FmaKind::Vector256
                                               : FmaKind::Vector512))
      continue;
    for (int64_t width : {64, 128})
      for (int64_t length : {1, 7, 64, 97, 271})
        for (bool causal : {false, true}) {
          Inputs in(4, 2, length, width);
          std::vector<float> o(in.q.size(), NAN);
          YardstickProblem problem = {
              in.q.data(),      in.k.data(),    in.v.data(), o.data(),
              in.cosine.data(), in.sine.data(), in.heads,    in.groups,
              length,           width,          causal};
          YardstickMemory memory(problem);
          runYardstick(isa, problem, memory);
          EXPECT_LT(in.largestError(o, causal), 3e-6)
              << "length " << length << " width " << width << " causal "
              << causal;
        }
  }
}

TEST(Meters, LoopsTakeTimeInProportion) {
  // Were the loop folded away, ten times the work would take as long.
  for (FmaKind kind :
       {FmaKind::Vector256, FmaKind::Vector512, FmaKind::Dot512Bf16}) {
    if (!isSupported(kind))
      continue;
    double once = 0, tenfold = 0;
    std::vector<Subject> subjects(2);
    subjects[0] = {"once", [&] { once = runFmaLoop(kind, 20000); }};
    subjects[1] = {"tenfold", [&] { tenfold = runFmaLoop(kind, 200000); }};
    measureInterleaved(subjects, 20, 0);
    EXPECT_EQ(tenfold, 10 * once);
    EXPECT_GT(subjects[1].best, 5 * subjects[0].best) << getName(kind);
    EXPECT_EQ(subjects[0].samples.size(), 20u);
    EXPECT_GE(subjects[0].getMedian(), subjects[0].best);
  }
}

TEST(Meters, PiecesAddUpToTheWhole) {
  FmaKind kind = getBestFma();
  auto work = [&] { runFmaLoop(kind, 50000); };
  std::vector<Subject> subjects(2);
  subjects[0] = {"whole", [&] { work(), work(), work(), work(); }};
  subjects[1].name = "pieces";
  subjects[1].pieces = {work, work, work, work};
  measureInterleaved(subjects, 40, 0);
  // Pieces meet quiet moments more easily, but there are four of them.
  EXPECT_LT(subjects[1].best, 1.2 * subjects[0].best);
  EXPECT_GT(subjects[1].best, 0.5 * subjects[0].best);
  EXPECT_EQ(subjects[1].samples.size(), 40u);
  EXPECT_GE(subjects[1].getMedian(), subjects[1].best);
}

TEST(Meters, ReadsEveryByteOfEachShare) {
  ReadMeter meter(100000, 3);
  EXPECT_GE(meter.getBytes(), 100000);
  double bytes = meter.run(0) + meter.run(1) + meter.run(2);
  EXPECT_EQ(bytes, double(meter.getBytes()));
}

} // namespace
