// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The yardstick for AVX-512: tiles of 6 rows by 4 vectors.
#include "bench/VectorsAvx512.h"

namespace torsor {

void runYardstickAvx512(const YardstickProblem &problem,
                        const YardstickMemory &memory, int64_t piece) {
  runKernel<Avx512>(problem, memory, piece);
}

} // namespace torsor
