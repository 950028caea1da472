// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ceilings of the machine, and interleaved timing.
#include "bench/Meters.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <numeric>
#include <unistd.h>

using namespace torsor;

static double readClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
}

double torsor::getThreadSeconds() { return readClock(CLOCK_THREAD_CPUTIME_ID); }
double torsor::getWallSeconds() { return readClock(CLOCK_MONOTONIC); }

const char *torsor::getName(FmaKind kind) {
  switch (kind) {
  case FmaKind::Vector256:
    return "fma256";
  case FmaKind::Vector512:
    return "fma512";
  case FmaKind::Dot512Bf16:
    return "dpbf16";
  }
  return "";
}

bool torsor::isSupported(FmaKind kind) {
  switch (kind) {
  case FmaKind::Vector256:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  case FmaKind::Vector512:
    return __builtin_cpu_supports("avx512f");
  case FmaKind::Dot512Bf16:
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bf16");
  }
  return false;
}

FmaKind torsor::getBestFma(bool bf16) {
  if (bf16 && isSupported(FmaKind::Dot512Bf16))
    return FmaKind::Dot512Bf16;
  return isSupported(FmaKind::Vector512) ? FmaKind::Vector512
                                         : FmaKind::Vector256;
}

// Twelve accumulators: more than latency times rate of any x86 core so far.
#define TORSOR_TWELVE(OP, R)                                                   \
  OP " %%" R "12, %%" R "13, %%" R "0\n\t" OP " %%" R "12, %%" R "13, %%" R    \
     "1\n\t" OP " %%" R "12, %%" R "13, %%" R "2\n\t" OP " %%" R "12, %%" R    \
     "13, %%" R "3\n\t" OP " %%" R "12, %%" R "13, %%" R "4\n\t" OP " %%" R    \
     "12, %%" R "13, %%" R "5\n\t" OP " %%" R "12, %%" R "13, %%" R "6\n\t" OP \
     " %%" R "12, %%" R "13, %%" R "7\n\t" OP " %%" R "12, %%" R "13, %%" R    \
     "8\n\t" OP " %%" R "12, %%" R "13, %%" R "9\n\t" OP " %%" R "12, %%" R    \
     "13, %%" R "10\n\t" OP " %%" R "12, %%" R "13, %%" R "11\n\t"
#define TORSOR_CLOBBERS                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",      \
      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc"
// Zeros everywhere: no denormals, and no data-dependent power.
#define TORSOR_LOOP(OP, R)                                                     \
  asm volatile("vzeroall\n\t"                                                  \
               ".p2align 5\n"                                                  \
               "1:\n\t" TORSOR_TWELVE(OP, R) "dec %0\n\t"                      \
                                             "jnz 1b\n\t"                      \
                                             "vzeroupper"                      \
               : "+r"(iterations)                                              \
               :                                                               \
               : TORSOR_CLOBBERS)

double torsor::runFmaLoop(FmaKind kind, int64_t iterations) {
  double flops = 12.0 * 2 * static_cast<double>(iterations);
  switch (kind) {
  case FmaKind::Vector256:
    TORSOR_LOOP("vfmadd231ps", "ymm");
    return 8 * flops;
  case FmaKind::Vector512:
    TORSOR_LOOP("vfmadd231ps", "zmm");
    return 16 * flops;
  case FmaKind::Dot512Bf16:
    TORSOR_LOOP("vdpbf16ps", "zmm");
    return 32 * flops;
  }
  return 0;
}

void ReadMeter::Free::operator()(void *block) const { std::free(block); }

ReadMeter::ReadMeter(int64_t bytes, int threadCount) : threads(threadCount) {
  share = (bytes / threads + 4095) / 4096 * 4096;
  void *block = std::aligned_alloc(4096, share * threads);
  if (!block)
    throw std::bad_alloc();
  std::memset(block, 1, share * threads); // pages of its own, not the zero page
  memory.reset(block);
  double best[2] = {1e30, 1e30};
  for (int round = 0; round < 3; ++round)
    for (bool beside : {false, true}) {
      inStretches = beside;
      double begin = getThreadSeconds();
      run();
      best[beside] = std::min(best[beside], getThreadSeconds() - begin);
    }
  inStretches = best[1] < best[0];
}

/// Reads 64 bytes.
static void loadLine(const char *at, bool wide) {
  using Line = const char[64];
  using Half = const char[32];
  if (wide)
    asm volatile("vmovaps %0, %%zmm0"
                 :
                 : "m"(*reinterpret_cast<Line *>(at))
                 : "xmm0");
  else
    asm volatile("vmovaps %0, %%ymm0\n\t"
                 "vmovaps %1, %%ymm1"
                 :
                 : "m"(*reinterpret_cast<Half *>(at)),
                   "m"(*reinterpret_cast<Half *>(at + 32))
                 : "xmm0", "xmm1");
}

/// Pieces of 64 KiB, each as eight stretches side by side, a line of each in
/// turn, with the piece behind asked for: more lines are on their way at once.
static void readInStretches(const char *at, int64_t bytes, bool wide) {
  constexpr int64_t piece = 65536, stretches = 8;
  for (int64_t begin = 0; begin < bytes; begin += piece) {
    int64_t size = std::min(piece, bytes - begin) / stretches;
    for (int64_t line = 0; line < size; line += 64)
#pragma GCC unroll 8
      for (int64_t n = 0; n < stretches; ++n) {
        const char *from = at + begin + n * size + line;
        __builtin_prefetch(from + piece);
        loadLine(from, wide);
      }
  }
}

double ReadMeter::run(int thread) const {
  const char *at = static_cast<const char *>(memory.get()) + share * thread;
  if (inStretches) {
    readInStretches(at, share, isSupported(FmaKind::Vector512));
    return static_cast<double>(share);
  }
  const char *end = at + share;
  if (isSupported(FmaKind::Vector512)) {
    asm volatile(".p2align 5\n"
                 "1:\n\t"
                 "vmovaps (%0), %%zmm0\n\t"
                 "vmovaps 64(%0), %%zmm1\n\t"
                 "vmovaps 128(%0), %%zmm2\n\t"
                 "vmovaps 192(%0), %%zmm3\n\t"
                 "add $256, %0\n\t"
                 "cmp %1, %0\n\t"
                 "jb 1b\n\t"
                 "vzeroupper"
                 : "+r"(at)
                 : "r"(end)
                 : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
    return static_cast<double>(share);
  }
  asm volatile(".p2align 5\n"
               "1:\n\t"
               "vmovaps (%0), %%ymm0\n\t"
               "vmovaps 32(%0), %%ymm1\n\t"
               "vmovaps 64(%0), %%ymm2\n\t"
               "vmovaps 96(%0), %%ymm3\n\t"
               "vmovaps 128(%0), %%ymm0\n\t"
               "vmovaps 160(%0), %%ymm1\n\t"
               "vmovaps 192(%0), %%ymm2\n\t"
               "vmovaps 224(%0), %%ymm3\n\t"
               "add $256, %0\n\t"
               "cmp %1, %0\n\t"
               "jb 1b\n\t"
               "vzeroupper"
               : "+r"(at)
               : "r"(end)
               : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
  return static_cast<double>(share);
}

CacheSizes torsor::getCacheSizes() {
  auto read = [](int name) -> int64_t {
    long size = sysconf(name);
    return size > 0 ? size : 0;
  };
  return {read(_SC_LEVEL1_DCACHE_SIZE), read(_SC_LEVEL2_CACHE_SIZE),
          read(_SC_LEVEL3_CACHE_SIZE)};
}

double Subject::getMedian() const {
  if (samples.empty())
    return 0;
  std::vector<double> sorted = samples;
  auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

/// Runs a subject once; `least` holds the least time of each of its pieces.
static double runOnce(const Subject &subject, double (*now)(),
                      std::vector<double> &least) {
  if (subject.pieces.empty()) {
    double start = now();
    subject.work();
    double seconds = now() - start;
    least[0] = std::min(least[0], seconds);
    return seconds;
  }
  double sum = 0;
  for (size_t n = 0; n < subject.pieces.size(); ++n) {
    double start = now();
    subject.pieces[n]();
    double seconds = now() - start;
    least[n] = std::min(least[n], seconds);
    sum += seconds;
  }
  return sum;
}

void torsor::measureInterleaved(std::vector<Subject> &subjects, int rounds,
                                double seconds, bool wall) {
  auto now = wall ? getWallSeconds : getThreadSeconds;
  std::vector<std::vector<double>> least;
  for (Subject &subject : subjects) {
    subject.samples.clear();
    size_t count = std::max<size_t>(1, subject.pieces.size());
    least.emplace_back(count, HUGE_VAL);
    runOnce(subject, now, least.back());
    least.back().assign(count, HUGE_VAL);
  }
  double begin = getWallSeconds();
  for (int round = 0; round < rounds || getWallSeconds() - begin < seconds;
       ++round)
    for (size_t n = 0; n < subjects.size(); ++n)
      subjects[n].samples.push_back(runOnce(subjects[n], now, least[n]));
  for (size_t n = 0; n < subjects.size(); ++n)
    subjects[n].best = std::accumulate(least[n].begin(), least[n].end(), 0.0);
}
