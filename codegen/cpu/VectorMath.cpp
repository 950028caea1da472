// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors, shorter than the general approximations of MLIR.
#include "codegen/cpu/VectorMath.h"

#include "codegen/cpu/Exp.h"
#include "codegen/cpu/WideMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// (sin(r) - r) / r^3 over |r| <= pi / 2, of r^2: what it leaves of the sine is
/// below 6.1e-9 of it.
static constexpr double sinFit[] = {2.6057793793810487e-06,
                                    -0.00019809602252897552,
                                    0.008333066235579832, -0.16666659549907556};
/// pi as numbers of f32, the first two and the rest.
static constexpr double piParts[] = {0x1.921fb6p+1, -0x1.777a5cp-24,
                                     -0x1.ee59dap-49};
/// log2(1 + f) / f for 1 + f from sqrt(1/2) to sqrt(2), in f64: relative error
/// 1.1e-10.
static constexpr double log2Fit[] = {
    -0.0863383815082851,  0.154850964233654,    -0.15698217802120848,
    0.15900270216763354,  -0.17904714882741718, 0.20609618450735423,
    -0.24050415862801908, 0.28854064508516986,  -0.3606728009235173,
    0.480898320722155,    -0.7213475252109766,  1.4426950409393293};
/// (2^r - 1) / r over |r| <= 1/2: 2^r to 2e-9.
static constexpr double exp2Fit[] = {
    0.00015353429214546896, 0.00133988750143355, 0.009618437116121857,
    0.05550332469265279,    0.24022647915510767, 0.6931472028567128};

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

/// The sine, or the cosine, of angles below 2^22 pi; beyond, some number from
/// -1 to 1: neighbours of f32 are more than a radian apart there.
///
/// x = (n + half) pi + r with half = 0, of a cosine 1/2: (-1)^n sin(r) is the
/// sine, and minus the cosine.
static Num emitSine(Emitter &e, Num x, bool isCosine) {
  auto number = [&](double value) { return e.constant(x.type(), value); };
  double half = isCosine ? 0.5 : 0;
  // Whole numbers lie in the low bits of a sum with it.
  constexpr double magic = 0x1.8p23;
  Num shifted = fma(x, number(M_1_PI), number(-half)) + magic;
  Num minus = number(magic) - shifted - half;
  Num r = x;
  for (double part : piParts)
    r = fma(minus, number(part), r);
  r = min(number(1.58), max(number(-1.58), r));
  Num square = r * r;
  Num sine = fma(polynomial(e, square, sinFit) * square, r, r);
  Num sign = (e.bitcast(shifted, e.i32) + int64_t(isCosine)) << 31;
  return e.bitcast(e.bitcast(sine, e.i32) ^ sign, e.f32);
}

/// log2(x) of vectors of f64 that are f32 above 0.
static Num emitWideLog2(Emitter &e, Num x) {
  auto [f, k] = emitWideParts(e, x);
  return fma(f, polynomial(e, f, log2Fit), k);
}

Num emitLaneByLane(
    Emitter &e, llvm::ArrayRef<Num> vectors,
    llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)> function) {
  using namespace mlir::LLVM;
  return e.loop(
      0, e.index(vectors[0].lanes()), 1, {vectors[0]},
      [&](Num n, llvm::ArrayRef<Num> carried) -> Nums {
        llvm::SmallVector<mlir::Value, 2> lanes;
        for (Num vector : vectors)
          lanes.push_back(ExtractElementOp::create(e.b, vector.value, n.value));
        return {e.num(InsertElementOp::create(e.b, carried[0].value,
                                              function(lanes), n.value))};
      })[0];
}

/// x^y = 2^(y log2(x)), whose exponent is computed in f64: near 2^128 it needs
/// 32 bits. Other numbers than those above 0, and positive powers of 0, are
/// left to libm.
static Num emitPower(Emitter &e, const Target &target, Num x, Num y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Num isZero = (x == 0.0) & (y > 0.0);
  Num isPlain =
      (isZero | (x > 0.0)) & (x < infinity) & (y < infinity) & (y > -infinity);
  return e.choose(
      e.any(isPlain ^ 1),
      [&]() -> Nums {
        return {
            emitLaneByLane(e, {x, y}, [&](llvm::ArrayRef<mlir::Value> lanes) {
              return mlir::math::PowFOp::create(e.b, lanes[0], lanes[1])
                  .getResult();
            })};
      },
      [&]() -> Nums {
        Num exponent =
            emitWideLog2(e, e.convert(x, e.f64)) * e.convert(y, e.f64);
        exponent = min(max(exponent, -150.0), 150.0);
        Num n = e.rint(exponent), r = e.convert(exponent - n, e.f32);
        Num p = fma(polynomial(e, r, exp2Fit), r, e.constant(r.type(), 1.0));
        Num power = emitScaled(e, target, p, e.convert(n, e.f32));
        return {select(isZero, 0.0, power)};
      })[0];
}

/// Whether the value is exp(-|x|), as softplus has it: within 0 … 1, or NaN.
static bool isFading(mlir::Value value) {
  auto exp = value.getDefiningOp<mlir::math::ExpOp>();
  auto minus =
      exp ? exp.getOperand().getDefiningOp<mlir::arith::NegFOp>() : nullptr;
  return minus && minus.getOperand().getDefiningOp<mlir::math::AbsFOp>();
}

/// What `op` makes of a vector of f64.
static Num emitWideMath(Emitter &e, mlir::Operation &op, Num x) {
  if (llvm::isa<mlir::math::SinOp, mlir::math::CosOp>(op))
    return emitWideSine(e, x, llvm::isa<mlir::math::CosOp>(op));
  if (llvm::isa<mlir::math::ExpOp>(op))
    return emitWideExp(e, x);
  if (llvm::isa<mlir::math::Log1pOp>(op))
    return emitWideLog1p(e, x);
  return {};
}

Num emitVectorMath(Emitter &e, const Target &target, mlir::Operation &op,
                   llvm::ArrayRef<Num> operands) {
  if (operands.empty())
    return {};
  if (operands[0].isVector() && operands[0].element().isF64())
    return emitWideMath(e, op, operands[0]);
  if (!operands[0].element().isF32())
    return {};
  if (llvm::isa<mlir::math::PowFOp>(op)) {
    int64_t lanes = std::max(operands[0].lanes(), operands[1].lanes());
    auto wide = [&](Num a) { return a.isVector() ? a : e.splat(a, lanes); };
    return lanes == 1
               ? Num()
               : emitPower(e, target, wide(operands[0]), wide(operands[1]));
  }
  if (!operands[0].isVector())
    return {};
  if (llvm::isa<mlir::math::SinOp, mlir::math::CosOp>(op))
    return emitSine(e, operands[0], llvm::isa<mlir::math::CosOp>(op));
  if (llvm::isa<mlir::math::ExpOp>(op))
    return emitExp(e, target, operands[0]);
  if (llvm::isa<mlir::math::Log1pOp>(op))
    return isFading(op.getOperand(0)) ? emitNearLog1p(e, operands[0])
                                      : emitLog1p(e, operands[0]);
  return {};
}

} // namespace torsor
