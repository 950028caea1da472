// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors of f32, shorter than the general approximations of MLIR.
#ifndef TORSOR_CODEGEN_CPU_VECTORMATH_H
#define TORSOR_CODEGEN_CPU_VECTORMATH_H

#include "codegen/Target.h"
#include "codegen/cpu/Emitter.h"

namespace torsor {

/// What the operation `op` makes of vectors of f32, to about one unit in the
/// last place; null for operations that are lowered elsewhere.
Num emitVectorMath(Emitter &e, const Target &target, mlir::Operation &op,
                   llvm::ArrayRef<Num> operands);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_VECTORMATH_H
