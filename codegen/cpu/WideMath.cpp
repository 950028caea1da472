// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors of f64.
#include "codegen/cpu/WideMath.h"

#include "codegen/cpu/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

namespace torsor {

/// log 2 in two parts: a whole number below 2^11 times the first is exact.
static constexpr double ln2High = 0x1.62e42fefa38p-1,
                        ln2Low = 0x1.ef35793c7673p-45;
/// Whole numbers lie in the low bits of a sum with it.
static constexpr double magic = 0x1.8p52;

/// 2^n for whole n, |n| < 1023.
static Num power(Emitter &e, Num n) {
  return e.bitcast(e.bitcast(n + (magic + 1023), e.i64) << 52, e.f64);
}

WideParts emitWideParts(Emitter &e, Num x) {
  Num bits = e.bitcast(x, e.i64);
  Num k = (bits - int64_t(0x3fe6a09e667f3bcd)) >> 52; // sqrt(1/2)
  Num f = e.bitcast(bits - (k << 52), e.f64) - 1.0;
  // 1.5 * 2^52 and k.
  k = e.bitcast(k + int64_t(0x4338000000000000), e.f64) - magic;
  return {f, k};
}

Num emitWideExp(Emitter &e, Num x) {
  // Beyond these it is 0 or infinite; comparisons with NaN are false.
  x = select(x < -800.0, -800.0, x);
  x = select(x > 800.0, 800.0, x);
  Num n = e.rint(x * M_LOG2E);
  Num minus = e.constant(x.type(), 0.0) - n;
  Num rest = fma(minus, e.constant(x.type(), ln2High), x);
  rest = fma(minus, e.constant(x.type(), ln2Low), rest);
  // The series: |rest| <= log(2) / 2.
  double coefficients[14] = {1.0};
  for (int k = 1; k < 14; ++k)
    coefficients[k] = coefficients[k - 1] / k;
  Num sum = e.constant(x.type(), coefficients[13]);
  for (int k = 12; k >= 0; --k)
    sum = fma(rest, sum, e.constant(x.type(), coefficients[k]));
  Num half = e.rint(n * 0.5);
  return sum * power(e, half) * power(e, n - half);
}

Num emitWideLog1p(Emitter &e, Num x) {
  auto constant = [&](double value) { return e.constant(x.type(), value); };
  Num u = x + 1.0;
  auto [f, k] = emitWideParts(e, u);
  // log(1 + f) = 2 (s + s^3 / 3 + s^5 / 5 + …), s = f / (2 + f), |s| < 0.172.
  Num s = f / (f + 2.0), z = s * s;
  Num sum = constant(1.0 / 25);
  for (int n = 23; n > 0; n -= 2)
    sum = fma(sum, z, constant(1.0 / n));
  // By the rounding of u; near 1 / u = 2 - u where that counts.
  Num lost = (x - (u - 1.0)) * max(constant(2.0) - u, 0.0);
  Num low = fma(k, constant(ln2Low), lost);
  Num found = fma(k, constant(ln2High), fma(s * 2.0, sum, low));
  double infinity = std::numeric_limits<double>::infinity();
  found = select(x == -1.0, -infinity, found);
  found = select(x == infinity, infinity, found);
  found = select(x < -1.0, std::numeric_limits<double>::quiet_NaN(), found);
  return select(e.isNan(x), x, found);
}

/// x = (n + half) pi + r with half = 0, of a cosine 1/2: (-1)^n sin(r) is the
/// sine, and minus the cosine.
static Num emitNearSine(Emitter &e, Num x, bool isCosine) {
  auto constant = [&](double value) { return e.constant(x.type(), value); };
  double half = isCosine ? 0.5 : 0;
  Num n = e.rint(fma(x, constant(M_1_PI), constant(-half)));
  Num minus = constant(-half) - n;
  Num r = fma(minus, constant(0x1.921fb54442d18p+1), x);
  r = fma(minus, constant(0x1.1a62633145c07p-53), r);
  // The series: |r| <= pi / 2.
  double coefficients[11] = {1.0};
  for (int k = 1; k < 11; ++k)
    coefficients[k] = -coefficients[k - 1] / (2 * k * (2 * k + 1));
  Num square = r * r, sum = constant(coefficients[10]);
  for (int k = 9; k > 0; --k)
    sum = fma(square, sum, constant(coefficients[k]));
  Num sine = fma(square * sum, r, r);
  Num sign = (e.bitcast(n + magic, e.i64) + int64_t(isCosine)) << 63;
  return e.bitcast(e.bitcast(sine, e.i64) ^ sign, e.f64);
}

Num emitWideSine(Emitter &e, Num x, bool isCosine) {
  Num isNear = (x < 0x1p45) & (x > -0x1p45); // not NaN
  return e.choose(
      e.any(isNear ^ 1),
      [&]() -> Nums {
        return {emitLaneByLane(
            e, {x}, [&](llvm::ArrayRef<mlir::Value> lanes) -> mlir::Value {
              if (isCosine)
                return mlir::math::CosOp::create(e.b, lanes[0]);
              return mlir::math::SinOp::create(e.b, lanes[0]);
            })};
      },
      [&]() -> Nums { return {emitNearSine(e, x, isCosine)}; })[0];
}

} // namespace torsor
