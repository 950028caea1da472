// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel whose mask the tests write, and values of its slots.
#ifndef TORSOR_TEST_MASKS_PAIRKERNEL_H
#define TORSOR_TEST_MASKS_PAIRKERNEL_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

#include "RandomMask.h"
#include "ScalarMachine.h"

namespace torsor::test {

/// Loads the dialects that a kernel stands in.
void loadKernelDialects(mlir::MLIRContext &context);

/// A module with one `torsor.attention` whose mask sees everything. Row slots:
/// a position, a document, a head, a real, a flag; column slots: a position, a
/// document, a real, a flag.
mlir::OwningOpRef<mlir::ModuleOp> makeKernel(mlir::MLIRContext &context);
AttentionOp getAttention(mlir::ModuleOp module);

/// Writes a random mask; `reals`: with real numbers, too.
void drawMask(AttentionOp op, std::mt19937_64 &random, bool reals);

/// Tables of pairs: any function of the indices will do.
Scalar lookUp(mlir::Operation *op, const Scalar *operands);

/// A document, from few or from all of them.
int64_t drawDocument(std::mt19937_64 &random, unsigned kind);
double drawReal(std::mt19937_64 &random);

std::string print(mlir::Operation *op);

} // namespace torsor::test

#endif
