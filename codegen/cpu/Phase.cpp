// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cosine and sine of a time multiplied by a frequency, exact modulo a turn.
#include "codegen/cpu/Phase.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace torsor {

/// The lower 64 bits of rates * time, as pairs of words. Vectors have no
/// product of 64 bits, but those bits are a sum of three products of halves: of
/// the lower halves, and of the halves crosswise the lower words. The lower
/// word of the sum is wrong.
static Num wideProduct(Emitter &e, Num rates, Num time) {
  int64_t lanes = rates.lanes();
  auto words = [&](Num wide) {
    return e.num(mlir::LLVM::BitcastOp::create(e.b, e.vec(2 * lanes, e.i32),
                                               wide.value));
  };
  auto wide = [&](Num words) {
    return e.num(
        mlir::LLVM::BitcastOp::create(e.b, e.vec(lanes, e.i64), words.value));
  };
  constexpr int64_t lower = 0xffffffff;
  Num swapped = (time << 32) | ((time >> 32) & lower);
  Num across = words(rates) * words(e.splat(swapped, lanes));
  Num low = words((rates & lower) * e.splat(time & lower, lanes));
  return across + words(wide(across) << 32) + low;
}

/// The upper 32 bits of the lower 64 of rates * time. A vector of rates fills
/// two registers: each is a product of its own.
static Num upperProduct(Emitter &e, Num rates, Num time) {
  int32_t lanes = int32_t(rates.lanes());
  llvm::SmallVector<int32_t> odd, halves[2];
  for (int32_t lane = 0; lane < lanes; ++lane) {
    odd.push_back(2 * lane + 1);
    halves[2 * lane / lanes].push_back(lane);
  }
  return e.shuffle(wideProduct(e, e.shuffle(rates, rates, halves[0]), time),
                   wideProduct(e, e.shuffle(rates, rates, halves[1]), time),
                   odd);
}

/// Rounded once and never contracted.
static Num product(Num a, Num b) {
  Emitter &e = *a.e;
  return e.num(mlir::arith::MulFOp::create(e.b, a.value, b.value));
}

/// What is left of rates * time, f64 turns, without whole turns: the product
/// counts with all its bits, since its rounding grows with the time itself and
/// would be another one for each token.
static Num exactRest(Num time, Num rates) {
  Emitter &e = *time.e;
  Num at = e.splat(e.convert(time, e.f64), rates.lanes());
  Num turns = product(at, rates);
  Num lost = fma(at, rates, e.constant(turns.type(), 0.0) - turns);
  Num rest = turns - e.rint(turns) + lost;
  return rest - e.rint(rest);
}

/// The upper 32 bits of the phase in turns: as a signed number, -1/2 … 1/2.
/// Rates are fixed point.
static Num phaseBits(Emitter &e, Num time, Num rates) {
  int64_t lanes = rates.lanes();
  bool whole = mlir::isa<mlir::IntegerType>(time.type());
  auto high = [&](Num phase) {
    // Logical shift, so that truncation is a shuffle of the upper halves.
    return e.convert(phase >> 32, e.i32);
  };
  if (whole)
    return lanes > 1 ? upperProduct(e, rates, e.convert(time, e.i64))
                     : high(rates * time);
  // To 2^-32 of a turn, by an addition that leaves a whole number in the low
  // bits; vectors have no conversion from f64 to i64.
  auto fraction = [&](Num rest) {
    return e.halves(fma(rest, e.constant(rest.type(), 0x1p32),
                        e.constant(rest.type(), 0x1.8p52)),
                    /*upper=*/false);
  };
  // time = n + r with n whole: n * U wraps exactly, r * U is below a turn.
  Num n = e.floor(time);
  Num r = e.splat(time - n, lanes);
  Num steps = e.convert(n, e.i64);
  Num coarse = lanes > 1 ? upperProduct(e, rates, steps) : high(rates * steps);
  Num turns = e.convert(e.convert(rates >> 32, e.i32), e.f64) * 0x1p-32;
  Num part = turns * r;
  return coarse + fraction(part - e.rint(part));
}

/// cos and sin of an angle from those of its distance to `quarter` quarters.
static CosSin inQuarter(Emitter &e, Num quarter, Num cosine, Num sine) {
  Num odd = (quarter & 1) != 0;
  Num c = select(odd, sine, cosine), s = select(odd, cosine, sine);
  // Signs: cos is negative in quarters 1 and 2, sin in 2 and 3.
  mlir::Type bits = quarter.element(), real = cosine.element();
  int64_t up = bits.getIntOrFloatBitWidth() - 2;
  Num flipCos = ((quarter + 1) & 2) << up, flipSin = (quarter & 2) << up;
  return {e.bitcast(e.bitcast(c, bits) ^ flipCos, real),
          e.bitcast(e.bitcast(s, bits) ^ flipSin, real)};
}

/// 1 + y c[0] + y^2 c[1] + … with c[n] = -c[n-1] / ((first + 2 n) (first + 2 n
/// + 1)): the series of cos (first 1) and of sin(x) / x (first 2) in y = x^2.
static Num series(Num y, int first, int terms) {
  Emitter &e = *y.e;
  Num sum = e.constant(y.type(), 1.0);
  for (int n = terms; n-- > 0;) {
    double divisor = double(first + 2 * n) * (first + 2 * n + 1);
    sum = fma(y * sum, e.constant(y.type(), -1 / divisor),
              e.constant(y.type(), 1.0));
  }
  return sum;
}

/// Of the f32 phase f32(time) * rate. cos and sin are taken in f64, where the
/// phase is reduced by a quarter turn of 106 bits, and rounded to f32 once.
static CosSin emitRoundedCosSin(Emitter &e, Num time, Num rates) {
  Num at = e.splat(e.convert(time, e.f32), rates.lanes());
  Num phase = e.convert(product(at, rates), e.f64);
  auto constant = [&](double value) { return e.constant(phase.type(), value); };
  Num quarters = e.rint(product(phase, constant(2 / M_PI)));
  Num minus = constant(0.0) - quarters;
  Num x = fma(minus, constant(M_PI / 2), phase);
  x = fma(minus, constant(6.123233995736766e-17), x); // pi / 2 - M_PI / 2
  // Beyond 2^53 quarters x means nothing; it stays in range, or NaN.
  x = min(constant(0.8), max(constant(-0.8), x));
  Num turns = e.floor(product(quarters, constant(0.25)));
  Num quarter = e.convert(quarters - turns * 4.0, e.i32); // 0 … 3
  Num y = x * x;
  Num sine = e.convert(x * series(y, 2, 7), e.f32);
  Num cosine = e.convert(series(y, 1, 8), e.f32);
  return inQuarter(e, quarter, cosine, sine);
}

/// A phase as quarter turns, modulo 4, and the radians that are left, in
/// -pi / 4 … pi / 4.
static std::pair<Num, Num> nearestQuarter(Emitter &e, Num time, Num rates) {
  if (rates.element() == e.f64) {
    // A sum with 1.5 * 2^52 is whole, and has its number in the low bits. The
    // product counts with all its bits (exactRest).
    Num at = e.splat(e.convert(time, e.f64) * 4.0, rates.lanes());
    Num magic = e.constant(rates.type(), 0x1.8p52);
    Num shifted = fma(at, rates, magic);
    Num rest = e.convert(fma(at, rates, magic - shifted), e.f32);
    // Beyond 2^51 quarters it means nothing; it stays in range, or NaN.
    auto bound = [&](double value) { return e.constant(rest.type(), value); };
    rest = min(bound(0.5), max(bound(-0.5), rest));
    return {e.halves(shifted, /*upper=*/false), rest * (M_PI / 2)};
  }
  Num bits = phaseBits(e, time, rates);
  Num quarter = (bits + (int64_t(1) << 29)) >> 30;
  Num rest = bits - (quarter << 30);
  return {quarter, e.convert(rest, e.f32) * (2 * M_PI * 0x1p-32)};
}

CosSin emitCosSin(Emitter &e, Num time, Num rates) {
  if (rates.element() == e.f32)
    return emitRoundedCosSin(e, time, rates);
  auto [quarter, x] = nearestQuarter(e, time, rates);
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
  return inQuarter(e, quarter, cosine, sine);
}

CosSin emitWideCosSin(Emitter &e, Num time, Num rates) {
  Num phase;
  if (mlir::isa<mlir::FloatType>(rates.element()))
    phase = e.convert(exactRest(time, rates) * 0x1p64, e.i64);
  else // wraps
    phase = rates * e.splat(e.convert(time, rates.element()), rates.lanes());
  Num quarter = (phase + (int64_t(1) << 61)) >> 62;
  Num rest = phase - (quarter << 62);
  Num x = e.convert(rest, e.f64) * (2 * M_PI * 0x1p-64);
  Num y = x * x;
  return inQuarter(e, quarter, series(y, 1, 8), x * series(y, 2, 7));
}

CosSin composed(CosSin a, CosSin b) {
  Num zero = a.cos.e->constant(a.cos.type(), 0.0);
  return {fma(a.cos, b.cos, zero - a.sin * b.sin),
          fma(a.sin, b.cos, a.cos * b.sin)};
}

std::pair<Num, Num> turned(CosSin turn, Num x, Num y) {
  Num zero = x.e->constant(x.type(), 0.0);
  return {fma(x, turn.cos, zero - y * turn.sin),
          fma(x, turn.sin, y * turn.cos)};
}

std::pair<Num, Num> emitRoundedTurn(Emitter &e, mlir::Type storage, CosSin turn,
                                    double gain, Num x, Num y) {
  auto round = [&](Num value) {
    return e.convert(e.convert(value, storage), e.f32);
  };
  auto sum = [&](Num a, Num b) {
    return round(e.num(mlir::arith::AddFOp::create(e.b, a.value, b.value)));
  };
  auto times = [&](Num a, Num b) { return round(product(a, b)); };
  Num by = e.constant(turn.cos.type(), gain);
  Num c = times(turn.cos, by), s = times(turn.sin, by);
  Num minus = e.num(mlir::arith::NegFOp::create(e.b, y.value));
  return {sum(times(x, c), times(minus, s)), sum(times(y, c), times(x, s))};
}

} // namespace torsor
