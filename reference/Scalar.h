// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of numbers: what operations of arith and math mean.
#ifndef TORSOR_REFERENCE_SCALAR_H
#define TORSOR_REFERENCE_SCALAR_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace torsor::reference {

/// A number: an integer (a truth value is 0 or 1) or a real.
struct Number {
  int64_t i = 0;
  double f = 0;
};

/// A value: a number, or a vector of integers or of reals.
struct Cell : Number {
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

enum class ScalarCode {
  AddI,
  SubI,
  MulI,
  DivS,
  DivU,
  FloorDiv,
  CeilDiv,
  RemS,
  RemU,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRightS,
  ShiftRightU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  CompareI,
  ExtS,
  ExtU,
  Trunc,
  IndexCast,
  AddF,
  SubF,
  MulF,
  DivF,
  RemF,
  NegF,
  MinF,
  MaxF,
  MinNumF,
  MaxNumF,
  CompareF,
  Select,
  IntToReal,
  UIntToReal,
  RealToInt,
  RealToUInt,
  Same,
  AbsF,
  AbsI,
  Floor,
  Ceil,
  Round,
  RoundEven,
  Truncate,
  Exp,
  Exp2,
  ExpM1,
  Log,
  Log2,
  Log10,
  Log1P,
  Sqrt,
  RSqrt,
  Cbrt,
  Sin,
  Cos,
  Tan,
  ASin,
  ACos,
  ATan,
  ATan2,
  SinH,
  CosH,
  TanH,
  Erf,
  PowF,
  IPowI,
  FPowI,
  Fma,
  CopySign,
  LeadingZeros,
  TrailingZeros,
  PopCount
};

/// The code of "arith.addf", "math.exp", …; none: not an operation on numbers.
std::optional<ScalarCode> scalarCode(llvm::StringRef operation);

/// Computes one operation. `predicate` is that of a comparison, `bits` the
/// width of an integer result and `fromBits` of the first operand. Every
/// operation is total: a division by 0 gives 0, a conversion saturates and
/// gives 0 for a NaN, integers wrap.
Number compute(ScalarCode code, int64_t predicate, int bits, int fromBits,
               Number a, Number b, Number c);

} // namespace torsor::reference

#endif
