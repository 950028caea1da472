// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates operations of arith and math on numbers.
#include "reference/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>
#include <limits>

namespace torsor::reference {

namespace {

/// x as a signed integer of so many bits; a truth value stays 0 or 1.
int64_t wrap(uint64_t x, int bits) {
  if (bits == 1)
    return x & 1;
  return bits >= 64 ? int64_t(x) : int64_t(x << (64 - bits)) >> (64 - bits);
}

uint64_t zeroExtended(int64_t x, int bits) {
  return bits >= 64 ? uint64_t(x) : uint64_t(x) & ((uint64_t(1) << bits) - 1);
}

int64_t saturated(double x) {
  if (std::isnan(x))
    return 0;
  if (x >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  return x < -0x1p63 ? std::numeric_limits<int64_t>::min() : int64_t(x);
}

int64_t floorDivided(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return int64_t(-uint64_t(a));
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) // as math.ipowi says: 1, -1 keep their value, others give 0
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = uint64_t(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return int64_t(result);
}

bool compareIntegers(int64_t predicate, Number a, Number b, int bits) {
  using mlir::arith::CmpIPredicate;
  uint64_t x = zeroExtended(a.i, bits), y = zeroExtended(b.i, bits);
  switch (CmpIPredicate(predicate)) {
  case CmpIPredicate::eq:
    return a.i == b.i;
  case CmpIPredicate::ne:
    return a.i != b.i;
  case CmpIPredicate::slt:
    return a.i < b.i;
  case CmpIPredicate::sle:
    return a.i <= b.i;
  case CmpIPredicate::sgt:
    return a.i > b.i;
  case CmpIPredicate::sge:
    return a.i >= b.i;
  case CmpIPredicate::ult:
    return x < y;
  case CmpIPredicate::ule:
    return x <= y;
  case CmpIPredicate::ugt:
    return x > y;
  case CmpIPredicate::uge:
    return x >= y;
  }
  return false;
}

bool compareReals(int64_t predicate, double a, double b) {
  using mlir::arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (CmpFPredicate(predicate)) {
  case CmpFPredicate::AlwaysFalse:
    return false;
  case CmpFPredicate::OEQ:
    return a == b;
  case CmpFPredicate::OGT:
    return a > b;
  case CmpFPredicate::OGE:
    return a >= b;
  case CmpFPredicate::OLT:
    return a < b;
  case CmpFPredicate::OLE:
    return a <= b;
  case CmpFPredicate::ONE:
    return !unordered && a != b;
  case CmpFPredicate::ORD:
    return !unordered;
  case CmpFPredicate::UEQ:
    return unordered || a == b;
  case CmpFPredicate::UGT:
    return unordered || a > b;
  case CmpFPredicate::UGE:
    return unordered || a >= b;
  case CmpFPredicate::ULT:
    return unordered || a < b;
  case CmpFPredicate::ULE:
    return unordered || a <= b;
  case CmpFPredicate::UNE:
    return unordered || a != b;
  case CmpFPredicate::UNO:
    return unordered;
  case CmpFPredicate::AlwaysTrue:
    return true;
  }
  return false;
}

double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
}
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
}

/// The operations that give a real.
double computeReal(ScalarCode code, int fromBits, Number a, Number b,
                   Number c) {
  using enum ScalarCode;
  switch (code) {
  case AddF:
    return a.f + b.f;
  case SubF:
    return a.f - b.f;
  case MulF:
    return a.f * b.f;
  case DivF:
    return a.f / b.f;
  case RemF:
    return std::fmod(a.f, b.f);
  case NegF:
    return -a.f;
  case MinF:
    return minimum(a.f, b.f);
  case MaxF:
    return maximum(a.f, b.f);
  case MinNumF:
    return std::fmin(a.f, b.f);
  case MaxNumF:
    return std::fmax(a.f, b.f);
  case IntToReal:
    return fromBits == 1 ? -double(a.i) : double(a.i);
  case UIntToReal:
    return double(zeroExtended(a.i, fromBits));
  case Same:
    return a.f;
  case AbsF:
    return std::fabs(a.f);
  case Floor:
    return std::floor(a.f);
  case Ceil:
    return std::ceil(a.f);
  case Round:
    return std::round(a.f);
  case RoundEven:
    return std::nearbyint(a.f);
  case Truncate:
    return std::trunc(a.f);
  case Exp:
    return std::exp(a.f);
  case Exp2:
    return std::exp2(a.f);
  case ExpM1:
    return std::expm1(a.f);
  case Log:
    return std::log(a.f);
  case Log2:
    return std::log2(a.f);
  case Log10:
    return std::log10(a.f);
  case Log1P:
    return std::log1p(a.f);
  case Sqrt:
    return std::sqrt(a.f);
  case RSqrt:
    return 1 / std::sqrt(a.f);
  case Cbrt:
    return std::cbrt(a.f);
  case Sin:
    return std::sin(a.f);
  case Cos:
    return std::cos(a.f);
  case Tan:
    return std::tan(a.f);
  case ASin:
    return std::asin(a.f);
  case ACos:
    return std::acos(a.f);
  case ATan:
    return std::atan(a.f);
  case ATan2:
    return std::atan2(a.f, b.f);
  case SinH:
    return std::sinh(a.f);
  case CosH:
    return std::cosh(a.f);
  case TanH:
    return std::tanh(a.f);
  case Erf:
    return std::erf(a.f);
  case PowF:
    return std::pow(a.f, b.f);
  case FPowI:
    return std::pow(a.f, double(b.i));
  case Fma:
    return std::fma(a.f, b.f, c.f);
  case CopySign:
    return std::copysign(a.f, b.f);
  default:
    return 0;
  }
}

int64_t shifted(ScalarCode code, Number a, Number b, int bits) {
  uint64_t by = uint64_t(b.i);
  if (by >= uint64_t(bits))
    return code == ScalarCode::ShiftRightS && a.i < 0 ? -1 : 0;
  if (code == ScalarCode::ShiftLeft)
    return int64_t(uint64_t(a.i) << by);
  return code == ScalarCode::ShiftRightS
             ? a.i >> by
             : int64_t(zeroExtended(a.i, bits) >> by);
}

/// The operations that give an integer, before it is wrapped.
int64_t computeInteger(ScalarCode code, int64_t predicate, int bits,
                       int fromBits, Number a, Number b) {
  using enum ScalarCode;
  uint64_t x = zeroExtended(a.i, fromBits), y = zeroExtended(b.i, fromBits);
  switch (code) {
  case AddI:
    return int64_t(uint64_t(a.i) + uint64_t(b.i));
  case SubI:
    return int64_t(uint64_t(a.i) - uint64_t(b.i));
  case MulI:
    return int64_t(uint64_t(a.i) * uint64_t(b.i));
  case DivS:
    return b.i == 0 ? 0 : b.i == -1 ? int64_t(-uint64_t(a.i)) : a.i / b.i;
  case DivU:
    return y ? int64_t(x / y) : 0;
  case FloorDiv:
    return floorDivided(a.i, b.i);
  case CeilDiv:
    return int64_t(-uint64_t(floorDivided(int64_t(-uint64_t(a.i)), b.i)));
  case RemS:
    return b.i == 0 || b.i == -1 ? 0 : a.i % b.i;
  case RemU:
    return y ? int64_t(x % y) : 0;
  case And:
    return a.i & b.i;
  case Or:
    return a.i | b.i;
  case Xor:
    return a.i ^ b.i;
  case ShiftLeft:
  case ShiftRightS:
  case ShiftRightU:
    return shifted(code, a, b, bits);
  case MinS:
    return std::min(a.i, b.i);
  case MaxS:
    return std::max(a.i, b.i);
  case MinU:
    return int64_t(std::min(x, y));
  case MaxU:
    return int64_t(std::max(x, y));
  case CompareI:
    return compareIntegers(predicate, a, b, fromBits);
  case CompareF:
    return compareReals(predicate, a.f, b.f);
  case ExtS:
    return fromBits == 1 ? -a.i : a.i;
  case ExtU:
    return int64_t(x);
  case Trunc:
  case IndexCast:
  case Same:
    return a.i;
  case RealToInt:
  case RealToUInt:
    return saturated(a.f);
  case AbsI:
    return a.i < 0 ? int64_t(-uint64_t(a.i)) : a.i;
  case IPowI:
    return power(a.i, b.i);
  case LeadingZeros:
    return std::countl_zero(x) - (64 - fromBits);
  case TrailingZeros:
    return x ? std::countr_zero(x) : fromBits;
  case PopCount:
    return std::popcount(x);
  default:
    return 0;
  }
}

bool givesInteger(ScalarCode code) {
  using enum ScalarCode;
  return code <= IndexCast || code == CompareF || code == RealToInt ||
         code == RealToUInt || code == AbsI || code == IPowI ||
         code >= LeadingZeros;
}

} // namespace

Number compute(ScalarCode code, int64_t predicate, int bits, int fromBits,
               Number a, Number b, Number c) {
  if (code == ScalarCode::Select)
    return a.i ? b : c;
  if (!givesInteger(code))
    return {0, computeReal(code, fromBits, a, b, c)};
  return {wrap(uint64_t(computeInteger(code, predicate, bits, fromBits, a, b)),
               bits),
          0};
}

} // namespace torsor::reference
