// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times that are linear in a clock.
#include "runtime/jit/LinearTime.h"

#include "passes/ActionForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace torsor;

std::optional<LinearTime> torsor::readLinear(mlir::Value value, int depth) {
  if (std::optional<double> constant = constantReal(value))
    return LinearTime{.offset = *constant};
  mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || !depth)
    return std::nullopt;
  if (auto time = llvm::dyn_cast<TimeOp>(op))
    return LinearTime{time.getClock(), int64_t(time.getMember().value_or(0)), 1,
                      0};
  auto operand = [&](unsigned n) {
    return readLinear(op->getOperand(n), depth - 1);
  };
  if (llvm::isa<mlir::arith::SIToFPOp>(op))
    return operand(0);
  bool isSum = llvm::isa<mlir::arith::AddIOp, mlir::arith::AddFOp>(op);
  bool isDifference = llvm::isa<mlir::arith::SubIOp, mlir::arith::SubFOp>(op);
  bool isProduct = llvm::isa<mlir::arith::MulIOp, mlir::arith::MulFOp>(op);
  if (!isSum && !isDifference && !isProduct)
    return std::nullopt;
  auto a = operand(0), b = operand(1);
  if (!a || !b || (a->slope != 0 && b->slope != 0))
    return std::nullopt;
  LinearTime result = a->slope != 0 ? *a : *b;
  if (isProduct) {
    double factor = a->slope != 0 ? b->offset : a->offset;
    result.slope *= factor, result.offset *= factor;
    return result;
  }
  result.slope = isSum ? a->slope + b->slope : a->slope - b->slope;
  result.offset = isSum ? a->offset + b->offset : a->offset - b->offset;
  return result;
}
