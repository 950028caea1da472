// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times the prefill kernel against the machine's FMA peak, by hand:
//   probe-prefill [length] [width] [causal] [heads] [groups] [dtype]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "Harness.h"
#include "KernelText.h"

using namespace torsor::test;

static double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Flops of `rounds` rounds of 12 independent 256-bit FMAs.
static double peakLoop(long rounds) {
  double start = threadSeconds();
  asm volatile("1:\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm2\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm3\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm4\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm5\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm6\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm7\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm8\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm9\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm10\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm11\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm12\n"
               "vfmadd231ps %%ymm0, %%ymm1, %%ymm13\n"
               "dec %0\n jnz 1b\n"
               : "+r"(rounds)
               :
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13");
  return threadSeconds() - start;
}

int main(int argc, char **argv) {
  auto number = [&](int n, long otherwise) {
    return argc > n ? std::atol(argv[n]) : otherwise;
  };
  int64_t length = number(1, 2048), width = number(2, 128);
  bool causal = number(3, 1);
  int64_t heads = number(4, 1), groups = number(5, 1);
  KernelText text;
  text.head = text.value = width;
  text.pairs = "<0, " + std::to_string(width / 2) + ", 1 x " +
               std::to_string(width / 2) + ">";
  text.pairCount = width / 2;
  text.pairArguments = ", %s: i64, %t: i64";
  text.attributes =
      "scale " + std::to_string(1.4426950408889634 / std::sqrt(double(width)));
  text.tileRows = number(6, 96);
  text.tileKeys = number(7, 256);
  if (causal)
    text.causal();
  Loaded code(text.module());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto tensor = [&](int64_t h) {
    std::vector<float> data(h * length * width);
    for (float &x : data)
      x = normal(random);
    return data;
  };
  std::vector<float> q = tensor(heads), k = tensor(groups), v = tensor(groups),
                     o = tensor(heads);
  CallData call(code, heads, groups);
  call.tensor(TORSOR_AT_Q) =
      torsor_dense(q.data(), TORSOR_F32, 1, heads, length, width);
  call.tensor(TORSOR_AT_K) =
      torsor_dense(k.data(), TORSOR_F32, 1, groups, length, width);
  call.tensor(TORSOR_AT_V) =
      torsor_dense(v.data(), TORSOR_F32, 1, groups, length, width);
  call.tensor(TORSOR_AT_O) =
      torsor_dense(o.data(), TORSOR_F32, 1, heads, length, width);
  torsor_sequence sequence = {};
  sequence.query_length = sequence.key_length = sequence.total = length;
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  torsor_kernel_plan plan;
  const torsor_kernel_op &prefill = code.operation(TORSOR_PREFILL);
  const torsor_kernel_args &args = call.prepare(prefill, plan);
  double pairs = causal ? 0.5 * double(length) * double(length + 1)
                        : double(length) * double(length);
  double flops = 4.0 * double(width) * pairs * double(heads);
  double best = 1e30, peak = 1e30;
  double phases[4] = {1e30, 1e30, 1e30, 1e30};
  long rounds = 2000000;
  for (int n = 0; n < 12; ++n) {
    peak = std::min(peak, peakLoop(rounds));
    double start = threadSeconds();
    for (uint32_t phase = 0; phase < plan.phases; ++phase) {
      double before = threadSeconds();
      prefill.run(&args, &plan, phase, 0, plan.items[phase], call.scratch());
      phases[phase] = std::min(phases[phase], threadSeconds() - before);
    }
    best = std::min(best, threadSeconds() - start);
  }
  double peakFlops = double(rounds) * 12 * 16 / peak;
  std::printf("L %ld D %ld %s H %ld/%ld: %.1f%% of %.1f GF/s, %.2f ms, pack "
              "%.1f%%, compile %.0f ms\n",
              long(length), long(width), causal ? "causal" : "full",
              long(heads), long(groups), 100 * flops / best / peakFlops,
              peakFlops * 1e-9, best * 1e3, 100 * phases[0] / best,
              code.compileSeconds * 1e3);
  return 0;
}
