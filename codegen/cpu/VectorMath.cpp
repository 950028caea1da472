// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors of f32, shorter than the general approximations of MLIR.
#include "codegen/cpu/VectorMath.h"

#include "codegen/cpu/Exp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

namespace torsor {

/// ln 2 as a number of few digits, whose multiples are exact, and the rest.
static constexpr double ln2High = 0.693359375, ln2Low = -2.12194440e-4;

/// (e^r - 1 - r) / r^2 over |r| <= ln 2 / 2 (Cephes); the highest power first.
static constexpr double expFit[] = {1.9875691500e-4, 1.3981999507e-3,
                                    8.3334519073e-3, 4.1665795894e-2,
                                    1.6666665459e-1, 5.0000001201e-1};
/// (log(1 + m) - m) / m^2 over -1/4 <= m <= 1/2: minimax in what it adds to the
/// logarithm, relative error 3e-8.
static constexpr double log1pFit[] = {0.05413251750811968, -0.12067369931522288,
                                      0.14983914788436575, -0.16822810869261023,
                                      0.19977077354612133, -0.24993442316960252,
                                      0.3333354855237823,  -0.5000006064840115};

static Num polynomial(Emitter &e, Num x, llvm::ArrayRef<double> fit) {
  Num sum = e.constant(x.type(), fit.front());
  for (double coefficient : fit.drop_front())
    sum = fma(sum, x, e.constant(x.type(), coefficient));
  return sum;
}

/// 2^n (1 + r + r^2 P(r)), x = n ln 2 + r.
static Num emitExp(Emitter &e, const Target &target, Num x) {
  auto number = [&](double value) { return e.constant(x.type(), value); };
  // Beyond them lie infinity and what is rounded to 0. NaN stays.
  x = min(number(89), max(number(-104), x));
  Num n = e.rint(x * M_LOG2E);
  Num r = fma(n, number(-ln2Low), fma(n, number(-ln2High), x));
  Num p = fma(polynomial(e, r, expFit), r * r, r + 1.0);
  return emitScaled(e, target, p, n);
}

/// log(1 + x) for 1 + x from 2^-126 to 2^126: 1 + x = 2^n (1 + m), m in
/// -1/4 … 1/2, then (n + more) ln 2 + log(1 + m). NaN stays.
static Num emitNearLog1p(Emitter &e, Num x, Num more = {}) {
  Num n = (e.bitcast(x + 1.0, e.i32) - 0x3f400000) >> 23;
  Num scale = e.bitcast((e.constant(n.type(), int64_t(127)) - n) << 23, e.f32);
  Num m = fma(x, scale, scale - 1.0);
  Num log = fma(polynomial(e, m, log1pFit), m * m, m);
  Num whole = e.convert(n, e.f32);
  if (more)
    whole = whole + more;
  return fma(whole, e.constant(x.type(), M_LN2), log);
}

static Num emitLog1p(Emitter &e, Num x) {
  auto number = [&](double value) { return e.constant(x.type(), value); };
  // So large that adding 1 changes nothing.
  Num isLarge = x > 0x1p100;
  Num log = emitNearLog1p(e, select(isLarge, x * 0x1p-64, x),
                          select(isLarge, number(64), 0.0));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  log = select(x == infinity, x, log);
  Num rest = select(x == -1.0, number(-infinity),
                    number(std::numeric_limits<double>::quiet_NaN()));
  return select(x > -1.0, log, rest);
}

/// Whether the value is exp(-|x|), as softplus has it: within 0 … 1, or NaN.
static bool isFading(mlir::Value value) {
  auto exp = value.getDefiningOp<mlir::math::ExpOp>();
  auto minus =
      exp ? exp.getOperand().getDefiningOp<mlir::arith::NegFOp>() : nullptr;
  return minus && minus.getOperand().getDefiningOp<mlir::math::AbsFOp>();
}

Num emitVectorMath(Emitter &e, const Target &target, mlir::Operation &op,
                   llvm::ArrayRef<Num> operands) {
  if (operands.empty() || !operands[0].isVector() ||
      !operands[0].element().isF32())
    return {};
  if (llvm::isa<mlir::math::ExpOp>(op))
    return emitExp(e, target, operands[0]);
  if (llvm::isa<mlir::math::Log1pOp>(op))
    return isFading(op.getOperand(0)) ? emitNearLog1p(e, operands[0])
                                      : emitLog1p(e, operands[0]);
  return {};
}

} // namespace torsor
