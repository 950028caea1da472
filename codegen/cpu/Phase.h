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
///
/// Rates in f32 are radians per unit of time, and the phase is rounded as other
/// libraries round it (`f32_reference`): the f32 product of the rate with the
/// time in f32. Its cos and sin are then within an ulp, up to 2^53 radians.
CosSin emitCosSin(Emitter &e, Num time, Num rates);

/// The same in f64 of turns (i64 or f64), absolute error below 1e-15, for a
/// whole number of units of time.
CosSin emitWideCosSin(Emitter &e, Num time, Num rates);

/// One turn behind the other.
CosSin composed(CosSin a, CosSin b);
/// The pair x, y turned.
std::pair<Num, Num> turned(CosSin turn, Num x, Num y);

/// The pair x, y turned as other libraries do it in a tensor of elements
/// `storage`: cos and sin times the gain, both products and the sum are rounded
/// to that type each. All are f32.
std::pair<Num, Num> emitRoundedTurn(Emitter &e, mlir::Type storage, CosSin turn,
                                    double gain, Num x, Num y);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PHASE_H
