// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 2^x of vectors of f32: 2^round(x) times a polynomial in x - round(x).
#include "codegen/cpu/Exp.h"

#include "llvm/ADT/SmallVectorExtras.h"

namespace torsor {

/// Minimax fit of 2^f over |f| <= 1/2 with the constant held at 1, so that
/// 2^0 is exactly 1; relative error 1.6e-7 in f32.
static constexpr double exp2Fit[] = {0.00132647273, 0.00967151299, 0.0555073358,
                                     0.240222424,   0.693147004,   1.0};

static Nums each(llvm::ArrayRef<Num> values,
                 llvm::function_ref<Num(Num)> body) {
  return llvm::map_to_vector(values, body);
}

static Nums polynomials(Emitter &e, llvm::ArrayRef<Num> f) {
  Nums p(f.size(), e.constant(f[0].type(), exp2Fit[0]));
  for (double coefficient : llvm::ArrayRef(exp2Fit).drop_front())
    for (size_t n = 0; n < f.size(); ++n)
      p[n] = fma(p[n], f[n], e.constant(f[0].type(), coefficient));
  return p;
}

/// a * 2^n by the instruction.
static Num scalef(Num a, Num n) {
  Emitter &e = *a.e;
  return e.call(
      "llvm.x86.avx512.mask.scalef.ps.512", a.type(),
      {a, n, a, e.constant(e.i16, int64_t(-1)), e.constant(e.i32, int64_t(4))});
}

/// x - round(x) by the instruction; 0 of an infinity.
static Num fractionOf(Num x) {
  Emitter &e = *x.e;
  constexpr int64_t toNearestEven = 8;
  return e.call("llvm.x86.avx512.mask.reduce.ps.512", x.type(),
                {x, e.constant(e.i32, toNearestEven), x,
                 e.constant(e.i16, int64_t(-1)),
                 e.constant(e.i32, int64_t(4))});
}

static bool hasScalef(const Target &target, Num a) {
  return target.hasScalef && a.lanes() == 16;
}

static Nums scaledExp2(Emitter &e, Nums x) {
  Nums fraction = each(x, fractionOf), p = polynomials(e, fraction);
  for (size_t n = 0; n < x.size(); ++n)
    p[n] = scalef(p[n], x[n] - fraction[n]);
  return p;
}

Nums emitExp2(Emitter &e, const Target &target, Nums x) {
  if (hasScalef(target, x[0]))
    return scaledExp2(e, x);
  // A comparison with NaN is false, so `max` must keep its second operand.
  Num lowest = e.constant(x[0].type(), -127.0);
  x = each(x, [&](Num a) { return max(lowest, a); });
  // Adding 1.5 * 2^23 rounds to an integer, which then lies in the low bits;
  // 127 more, and they are the exponent of 2^round(x). 2^-127 comes out as 0:
  // the exponent's bits are then 0.
  Num magic = e.constant(x[0].type(), 12582912.0 + 127.0);
  Nums shifted = each(x, [&](Num a) { return a + magic; });
  Nums whole = each(shifted, [&](Num a) { return a - magic; }), fraction;
  for (size_t n = 0; n < x.size(); ++n)
    fraction.push_back(x[n] - whole[n]);
  Nums p = polynomials(e, fraction);
  for (size_t n = 0; n < x.size(); ++n)
    p[n] = p[n] * e.bitcast(e.bitcast(shifted[n], e.i32) << 23, e.f32);
  return p;
}

Num emitExp2(Emitter &e, const Target &target, Num x) {
  return emitExp2(e, target, Nums{x})[0];
}

Num emitScaled(Emitter &e, const Target &target, Num a, Num n) {
  if (hasScalef(target, a))
    return scalef(a, n);
  // 1.5 * 2^23 more, and n lies in the low bits. In two steps, since 2^n may
  // lie beyond the normal numbers where the product does not.
  Num whole = e.bitcast(n + 12582912.0, e.i32) - 0x4b400000;
  Num half = whole >> 1;
  for (Num part : {half, whole - half})
    a = a * e.bitcast((part + 127) << 23, e.f32);
  return a;
}

Num emitExp2Rest(Emitter &e, Num x) { return polynomials(e, {x})[0]; }

} // namespace torsor
