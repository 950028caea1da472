// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of vectors, shorter than the general approximations of MLIR.
#ifndef TORSOR_CODEGEN_CPU_VECTORMATH_H
#define TORSOR_CODEGEN_CPU_VECTORMATH_H

#include "codegen/Target.h"
#include "codegen/cpu/Emitter.h"

namespace torsor {

/// What the operation `op` makes of vectors of f32, to about one unit in the
/// last place, or of f64 (WideMath.h); null for operations that are lowered
/// elsewhere.
Num emitVectorMath(Emitter &e, const Target &target, mlir::Operation &op,
                   llvm::ArrayRef<Num> operands);

/// A function of vectors of equal length, computed one lane after the other.
Num emitLaneByLane(
    Emitter &e, llvm::ArrayRef<Num> vectors,
    llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)> function);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_VECTORMATH_H
