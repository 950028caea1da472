// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cosine and sine of a time multiplied by a frequency, exact modulo a turn.
#include "codegen/cpu/Phase.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace torsor {

/// The upper 32 bits of the phase in turns: as a signed number, -1/2 … 1/2.
static Num phaseBits(Emitter &e, Num time, Num rates) {
  int64_t lanes = rates.lanes();
  bool fixed = mlir::isa<mlir::IntegerType>(rates.element());
  bool whole = mlir::isa<mlir::IntegerType>(time.type());
  auto high = [&](Num phase) {
    // Logical shift, so that truncation is a shuffle of the upper halves.
    return e.convert(phase >> 32, e.i32);
  };
  if (fixed && whole)
    return high(rates * e.splat(time, lanes));
  auto fraction = [&](Num turns) { // of f64 turns, |turns| < 2^31
    Num rest = turns - e.rint(turns);
    return e.convert(rest * 0x1p64, e.i64);
  };
  if (!fixed) {
    Num at = e.splat(e.convert(time, e.f64), lanes);
    return high(fraction(at * rates));
  }
  // time = n + r with n whole: n * U wraps exactly, r * U is below a turn.
  Num n = e.floor(time);
  Num r = e.splat(time - n, lanes);
  Num coarse = rates * e.splat(e.convert(n, e.i64), lanes);
  Num fine = e.convert(e.rint(e.convert(rates, e.f64) * r), e.i64);
  return high(coarse + fine);
}

CosSin emitCosSin(Emitter &e, Num time, Num rates) {
  Num bits = phaseBits(e, time, rates);
  // To the nearest quarter turn; the rest is -1/8 … 1/8 of a turn.
  Num quarter = (bits + (int64_t(1) << 29)) >> 30;
  Num rest = bits - (quarter << 30);
  Num x = e.convert(rest, e.f32) * (2 * M_PI * 0x1p-32);
  Num y = x * x;
  auto polynomial = [&](std::initializer_list<double> coefficients) {
    Num p;
    for (double coefficient : coefficients) {
      Num c = e.constant(x.type(), coefficient);
      p = p ? fma(p, y, c) : c;
    }
    return p;
  };
  // Minimax fits over |x| <= pi/4.
  Num sine =
      fma(x * y,
          polynomial({-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), x);
  Num cosine = fma(y,
                   polynomial({2.443315711809948e-5, -1.388731625493765e-3,
                               4.166664568298827e-2, -0.5}),
                   e.constant(x.type(), 1.0));
  Num odd = (quarter & 1) != 0;
  Num c = select(odd, sine, cosine), s = select(odd, cosine, sine);
  // Signs: cos is negative in quarters 1 and 2, sin in 2 and 3.
  Num flipCos = ((quarter + 1) & 2) << 30, flipSin = (quarter & 2) << 30;
  return {e.bitcast(e.bitcast(c, e.i32) ^ flipCos, e.f32),
          e.bitcast(e.bitcast(s, e.i32) ^ flipSin, e.f32)};
}

} // namespace torsor
