// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of the yardstick, and the choice of its code.
#include "bench/Yardstick.h"

#include "bench/Meters.h"

#include <cstdlib>
#include <new>

using namespace torsor;

void YardstickMemory::Free::operator()(float *block) const { std::free(block); }

YardstickMemory::YardstickMemory(const YardstickProblem &problem) {
  panels = (problem.length + yardstickPanel - 1) / yardstickPanel *
           yardstickPanel * problem.width;
  int64_t scratch = yardstickRows * (2 * problem.width + yardstickKeys + 48);
  size_t bytes = (2 * panels + scratch) * sizeof(float);
  void *block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!block)
    throw std::bad_alloc();
  memory.reset(static_cast<float *>(block));
}

YardstickIsa torsor::getBestYardstick() {
  return isSupported(FmaKind::Vector512) ? YardstickIsa::Avx512
                                         : YardstickIsa::Avx2;
}

static int64_t countBlocks(const YardstickProblem &problem) {
  return (problem.length + yardstickRows - 1) / yardstickRows *
         (problem.heads / problem.groups);
}

int64_t torsor::countYardstickPieces(const YardstickProblem &problem) {
  return problem.groups * (1 + countBlocks(problem));
}

void torsor::runYardstickPiece(YardstickIsa isa,
                               const YardstickProblem &problem,
                               const YardstickMemory &memory, int64_t piece) {
  (isa == YardstickIsa::Avx2 ? runYardstickAvx2
   : isa == YardstickIsa::Avx512
       ? runYardstickAvx512
       : runYardstickAvx512Bf16)(problem, memory, piece);
}

void torsor::runYardstick(YardstickIsa isa, const YardstickProblem &problem,
                          const YardstickMemory &memory) {
  for (int64_t n = 0, end = countYardstickPieces(problem); n < end; ++n)
    runYardstickPiece(isa, problem, memory, n);
}
