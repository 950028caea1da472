// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors of f64, for what keys bring: libm has them one by one.
#ifndef TORSOR_CODEGEN_CPU_WIDEMATH_H
#define TORSOR_CODEGEN_CPU_WIDEMATH_H

#include "codegen/cpu/Emitter.h"

namespace torsor {

/// A positive number as (1 + f) 2^k, 1 + f from sqrt(1/2) to sqrt(2).
struct WideParts {
  Num f, k;
};
WideParts emitWideParts(Emitter &e, Num x);

/// e^x to 2 units in the last place; 0, infinity and NaN as they should be.
Num emitWideExp(Emitter &e, Num x);
/// log(1 + x), likewise; NaN below -1.
Num emitWideLog1p(Emitter &e, Num x);
/// The sine of numbers below 2^45 in magnitude, or their cosine: to 2^-52, not
/// to the last place near 0. Others are left to libm.
Num emitWideSine(Emitter &e, Num x, bool isCosine);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_WIDEMATH_H
