// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 2^x of vectors of f32.
#ifndef TORSOR_CODEGEN_CPU_EXP_H
#define TORSOR_CODEGEN_CPU_EXP_H

#include "codegen/Target.h"
#include "codegen/cpu/Emitter.h"

namespace torsor {

/// 2^x for x <= 0, relative error below 2e-7; 0 below -126.5, and of -inf. NaN
/// stays NaN.
Num emitExp2(Emitter &e, const Target &target, Num x);

/// The same of several vectors, step by step over all of them.
Nums emitExp2(Emitter &e, const Target &target, Nums x);

/// 2^x for |x| <= 1/2, relative error below 2e-7. NaN stays NaN.
Num emitExp2Rest(Emitter &e, Num x);

/// a * 2^n for whole numbers n from -150 to 150, or NaN.
Num emitScaled(Emitter &e, const Target &target, Num a, Num n);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_EXP_H
