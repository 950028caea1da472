// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cosine and sine of a time multiplied by a frequency, exact modulo a turn.
#ifndef TORSOR_CODEGEN_CPU_PHASE_H
#define TORSOR_CODEGEN_CPU_PHASE_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

struct CosSin {
  Num cos, sin;
};

/// Of the phases time * rates. Rates are turns per unit of time: i64 as 64-bit
/// fixed point, where the product wraps as phases do, or f64. `time` is a
/// scalar i64 or f64. The result is f32 with as many lanes as `rates`, absolute
/// error below 1.2e-7.
CosSin emitCosSin(Emitter &e, Num time, Num rates);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PHASE_H
