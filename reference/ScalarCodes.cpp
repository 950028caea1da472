// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of the operations of arith and math that the reference computes.
#include "reference/Scalar.h"

#include "llvm/ADT/StringMap.h"

namespace torsor::reference {

static const llvm::StringMap<ScalarCode> &table() {
  using enum ScalarCode;
  static const llvm::StringMap<ScalarCode> codes = {
      {"arith.addi", AddI},
      {"arith.subi", SubI},
      {"arith.muli", MulI},
      {"arith.divsi", DivS},
      {"arith.divui", DivU},
      {"arith.floordivsi", FloorDiv},
      {"arith.ceildivsi", CeilDiv},
      {"arith.remsi", RemS},
      {"arith.remui", RemU},
      {"arith.andi", And},
      {"arith.ori", Or},
      {"arith.xori", Xor},
      {"arith.shli", ShiftLeft},
      {"arith.shrsi", ShiftRightS},
      {"arith.shrui", ShiftRightU},
      {"arith.minsi", MinS},
      {"arith.maxsi", MaxS},
      {"arith.minui", MinU},
      {"arith.maxui", MaxU},
      {"arith.cmpi", CompareI},
      {"arith.extsi", ExtS},
      {"arith.extui", ExtU},
      {"arith.trunci", Trunc},
      {"arith.index_cast", IndexCast},
      {"arith.index_castui", IndexCast},
      {"arith.addf", AddF},
      {"arith.subf", SubF},
      {"arith.mulf", MulF},
      {"arith.divf", DivF},
      {"arith.remf", RemF},
      {"arith.negf", NegF},
      {"arith.minimumf", MinF},
      {"arith.maximumf", MaxF},
      {"arith.minnumf", MinNumF},
      {"arith.maxnumf", MaxNumF},
      {"arith.cmpf", CompareF},
      {"arith.select", Select},
      {"arith.sitofp", IntToReal},
      {"arith.uitofp", UIntToReal},
      {"arith.fptosi", RealToInt},
      {"arith.fptoui", RealToUInt},
      {"arith.extf", Same},
      {"math.absf", AbsF},
      {"math.absi", AbsI},
      {"math.floor", Floor},
      {"math.ceil", Ceil},
      {"math.round", Round},
      {"math.roundeven", RoundEven},
      {"math.trunc", Truncate},
      {"math.exp", Exp},
      {"math.exp2", Exp2},
      {"math.expm1", ExpM1},
      {"math.log", Log},
      {"math.log2", Log2},
      {"math.log10", Log10},
      {"math.log1p", Log1P},
      {"math.sqrt", Sqrt},
      {"math.rsqrt", RSqrt},
      {"math.cbrt", Cbrt},
      {"math.sin", Sin},
      {"math.cos", Cos},
      {"math.tan", Tan},
      {"math.asin", ASin},
      {"math.acos", ACos},
      {"math.atan", ATan},
      {"math.atan2", ATan2},
      {"math.sinh", SinH},
      {"math.cosh", CosH},
      {"math.tanh", TanH},
      {"math.erf", Erf},
      {"math.powf", PowF},
      {"math.ipowi", IPowI},
      {"math.fpowi", FPowI},
      {"math.fma", Fma},
      {"math.copysign", CopySign},
      {"math.ctlz", LeadingZeros},
      {"math.cttz", TrailingZeros},
      {"math.ctpop", PopCount}};
  return codes;
}

std::optional<ScalarCode> scalarCode(llvm::StringRef operation) {
  auto found = table().find(operation);
  if (found == table().end())
    return std::nullopt;
  return found->second;
}

} // namespace torsor::reference
