// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 2^x of vectors of f32: 2^round(x) times a polynomial in x - round(x).
#include "codegen/cpu/Exp.h"

namespace torsor {

/// Minimax fit of 2^f over |f| <= 1/2 with the constant held at 1, so that
/// 2^0 is exactly 1; relative error 1.6e-7 in f32.
static constexpr double exp2Fit[] = {0.00132647273, 0.00967151299, 0.0555073358,
                                     0.240222424,   0.693147004,   1.0};

static Num polynomial(Emitter &e, Num f) {
  Num p = e.constant(f.type(), exp2Fit[0]);
  for (double coefficient : llvm::ArrayRef(exp2Fit).drop_front())
    p = fma(p, f, e.constant(f.type(), coefficient));
  return p;
}

Num emitExp2(Emitter &e, const Target &target, Num x) {
  if (target.hasScalef && x.lanes() == 16) {
    // -inf would leave NaN as its fraction.
    x = max(e.constant(x.type(), -1024.0), x);
    Num whole = e.rint(x);
    return e.call("llvm.x86.avx512.mask.scalef.ps.512", x.type(),
                  {polynomial(e, x - whole), whole, x,
                   e.constant(e.i16, int64_t(-1)),
                   e.constant(e.i32, int64_t(4))});
  }
  // A comparison with NaN is false, so `max` must keep its second operand.
  Num lowest = e.constant(x.type(), -127.0);
  x = max(lowest, x);
  // Adding 1.5 * 2^23 rounds to an integer, which then lies in the low bits.
  Num magic = e.constant(x.type(), 12582912.0);
  Num shifted = x + magic;
  Num f = x - (shifted - magic);
  Num p = polynomial(e, f);
  // 2^-127 comes out as 0: the exponent's bits are then 0.
  Num scale = e.bitcast(
      (e.bitcast(shifted, e.i32) << 23) + (int64_t(127) << 23), e.f32);
  return p * scale;
}

Num emitFullExp2(Emitter &e, const Target &target, Num x) {
  // Two factors of half the exponent each, so that neither leaves its range.
  x = max(e.constant(x.type(), -252.0), x);
  x = min(e.constant(x.type(), 252.0), x);
  Num whole = e.rint(x);
  Num p = polynomial(e, x - whole);
  Num low = e.convert(whole, e.i32) >> 1, high = e.convert(whole, e.i32) - low;
  auto power = [&](Num n) { return e.bitcast((n + 127) << 23, e.f32); };
  return p * power(low) * power(high);
}

} // namespace torsor
