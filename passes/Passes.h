// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of the compiler: from the scheme level to the kernel level.
#ifndef TORSOR_PASSES_PASSES_H
#define TORSOR_PASSES_PASSES_H

#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace torsor {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// Registers every pass, and the pipeline `torsor-kernels`.
void registerTorsorPasses();

} // namespace torsor

#endif // TORSOR_PASSES_PASSES_H
