// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hand-written kernel as a share of the FMA peak, and the bandwidth of each
// level of memory, measured interleaved.
#include "bench/Meters.h"
#include "bench/Yardstick.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <random>

using namespace torsor;

namespace {

struct Data {
  std::vector<float> q, k, v, o, cosine, sine;
  YardstickProblem problem;

  Data(int64_t heads, int64_t groups, int64_t length, int64_t width,
       bool causal)
      : q(heads * length * width), k(groups * length * width), v(k.size()),
        o(q.size()), cosine(length * width / 2), sine(cosine.size()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto *values : {&q, &k, &v})
      for (float &value : *values)
        value = normal(random);
    for (int64_t i = 0; i < length; ++i)
      for (int64_t p = 0; p < width / 2; ++p) {
        double angle = i * std::pow(10000.0, -2.0 * p / width);
        cosine[i * width / 2 + p] = std::cos(angle);
        sine[i * width / 2 + p] = std::sin(angle);
      }
    problem = {q.data(),      k.data(),    v.data(), o.data(),
               cosine.data(), sine.data(), heads,    groups,
               length,        width,       causal};
  }
};

void runShare(benchmark::State &state) {
  int64_t length = state.range(0), width = state.range(1);
  bool causal = state.range(2);
  Data data(1, 1, length, width, causal);
  YardstickMemory memory(data.problem);
  FmaKind kind = getBestFma();
  double peakFlops = 0;
  std::vector<Subject> subjects(2);
  subjects[0] = {"peak", [&] { peakFlops = runFmaLoop(kind, 100000); }};
  subjects[1] = {"kernel", [&] {
                   runYardstick(getBestYardstick(), data.problem, memory);
                   benchmark::ClobberMemory();
                 }};
  double best = 0, peak = 0;
  double pairs = causal ? 0.5 * length * (length + 1.0)
                        : static_cast<double>(length) * length;
  for (auto _ : state) {
    measureInterleaved(subjects, 5, 0.3);
    best = std::max(best, 4 * width * pairs / subjects[1].best);
    peak = std::max(peak, peakFlops / subjects[0].best);
  }
  state.counters["gflops"] = best * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["share"] = best / peak;
}

void readMemory(benchmark::State &state) {
  ReadMeter meter(state.range(0));
  int repeats =
      static_cast<int>(std::max<int64_t>(1, (8 << 20) / state.range(0)));
  std::vector<Subject> subjects(1);
  double bytes = 0, best = 0;
  subjects[0] = {"read", [&] {
                   bytes = 0;
                   for (int n = 0; n < repeats; ++n)
                     bytes += meter.run();
                 }};
  for (auto _ : state) {
    measureInterleaved(subjects, 5, 0.1);
    best = std::max(best, bytes / subjects[0].best);
  }
  state.counters["GB/s"] = best * 1e-9;
}

} // namespace

BENCHMARK(runShare)
    ->ArgNames({"length", "width", "causal"})
    ->ArgsProduct({{512, 1024, 2048}, {64, 128}, {0, 1}})
    ->Iterations(1);
BENCHMARK(readMemory)
    ->ArgName("bytes")
    ->Arg(16 << 10)
    ->Arg(256 << 10)
    ->Arg(8 << 20)
    ->Arg(256 << 20)
    ->Iterations(1);
BENCHMARK_MAIN();
