// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hand-written attention kernel: what generated code is measured against.
#ifndef TORSOR_BENCH_YARDSTICK_H
#define TORSOR_BENCH_YARDSTICK_H

#include <cstdint>
#include <memory>

namespace torsor {

/// Softmax attention over f32 with rotary positions (pairs (d, d + width/2)),
/// scale 1/sqrt(width). q, o [heads, length, width]; k, v [groups, length,
/// width]; cosine, sine [length, width/2]. Width is 64 or 128.
struct YardstickProblem {
  const float *q, *k, *v;
  float *o;
  const float *cosine, *sine;
  int64_t heads, groups, length, width;
  bool causal;
};

/// Memory that a run works in, kept between runs.
class YardstickMemory {
public:
  explicit YardstickMemory(const YardstickProblem &problem);
  float *keys() const { return memory.get(); }
  float *values() const { return memory.get() + panels; }
  float *scratch() const { return memory.get() + 2 * panels; }

private:
  struct Free {
    void operator()(float *memory) const;
  };
  int64_t panels;
  std::unique_ptr<float, Free> memory;
};

/// With Avx512Bf16 q, k, v and o point to bf16.
enum class YardstickIsa { Avx2, Avx512, Avx512Bf16 };

/// The best for f32 that runs here. One must, see isSupported(FmaKind).
YardstickIsa getBestYardstick();

/// Runs the whole problem on the calling thread, packing included.
void runYardstick(YardstickIsa isa, const YardstickProblem &problem,
                  const YardstickMemory &memory);

/// The pieces of a run: for each group its packing, then blocks of query rows.
/// Run in order, they are the whole problem.
int64_t countYardstickPieces(const YardstickProblem &problem);
void runYardstickPiece(YardstickIsa isa, const YardstickProblem &problem,
                       const YardstickMemory &memory, int64_t piece);

// One translation unit each, compiled for its own machine level.
void runYardstickAvx2(const YardstickProblem &, const YardstickMemory &,
                      int64_t piece);
void runYardstickAvx512(const YardstickProblem &, const YardstickMemory &,
                        int64_t piece);
void runYardstickAvx512Bf16(const YardstickProblem &, const YardstickMemory &,
                            int64_t piece);

/// Keys and values are packed up to a multiple of this length.
constexpr int64_t yardstickPanel = 64;
/// Query rows of a block and keys of a tile.
constexpr int64_t yardstickRows = 96, yardstickKeys = 256;

} // namespace torsor

#endif // TORSOR_BENCH_YARDSTICK_H
