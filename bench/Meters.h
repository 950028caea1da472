// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What this machine can do at most, and how to time against it fairly: short
// units of work, interleaved, the least of many, thread CPU time.
#ifndef TORSOR_BENCH_METERS_H
#define TORSOR_BENCH_METERS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torsor {

/// CPU time of the calling thread in seconds: other jobs do not count.
double getThreadSeconds();
/// Wall time in seconds, for work on several threads.
double getWallSeconds();

/// The multiply-add instructions whose rate bounds a kernel.
enum class FmaKind {
  Vector256,  ///< f32, 8 lanes
  Vector512,  ///< f32, 16 lanes
  Dot512Bf16, ///< pairs of bf16 into 16 lanes of f32
};

/// "fma256", "fma512" or "dpbf16".
const char *getName(FmaKind kind);
/// True if this CPU and its operating system have the instructions.
bool isSupported(FmaKind kind);
/// The fastest kind for f32 operands, or for bf16 operands.
FmaKind getBestFma(bool bf16 = false);

/// Runs `iterations` of a loop of twelve independent multiply-adds, written in
/// assembly since a compiler folds such a loop. Returns the flops it made.
double runFmaLoop(FmaKind kind, int64_t iterations);

/// Memory of a given size that is read over and over; the loop only loads, in
/// order or in stretches side by side, whichever was faster at the start.
class ReadMeter {
public:
  /// `bytes` is rounded up to a multiple of 4096 per thread.
  explicit ReadMeter(int64_t bytes, int threads = 1);
  /// Reads thread `thread`'s share once; returns the bytes read.
  double run(int thread = 0) const;
  int64_t getBytes() const { return share * threads; }

private:
  struct Free {
    void operator()(void *memory) const;
  };
  int64_t share;
  int threads;
  bool inStretches = false;
  std::unique_ptr<void, Free> memory;
};

/// Sizes of the data caches of this machine in bytes, 0 where unknown.
struct CacheSizes {
  int64_t l1 = 0, l2 = 0, l3 = 0;
};
CacheSizes getCacheSizes();

/// Something to be timed.
struct Subject {
  std::string name;
  /// One unit of work, 1 to 10 ms where possible; may use its own threads.
  std::function<void()> work;
  /// Seconds of the fastest run, and of all.
  double best = 0;
  std::vector<double> samples = {};
  /// In place of `work`: its pieces in order, each timed on its own. `best` is
  /// then the sum of the least time of each: what the whole takes on a machine
  /// that nobody disturbs, which a run of many milliseconds may never meet.
  std::vector<std::function<void()>> pieces = {};

  double getMedian() const;
};

/// Times all subjects in turn, round after round, so that each meets the same
/// clock rates and disturbances: at least `rounds` and until `seconds` have
/// passed. `wall` times by wall clock (work on several threads), else by the
/// thread's CPU time. A first round is not counted.
void measureInterleaved(std::vector<Subject> &subjects, int rounds,
                        double seconds, bool wall = false);

} // namespace torsor

#endif // TORSOR_BENCH_METERS_H
