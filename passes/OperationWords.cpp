// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/OperationWords.h"

#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

std::string torsor::describeOperation(Operation *op) {
  llvm::StringRef words =
      llvm::TypeSwitch<Operation *, llvm::StringRef>(op)
          .Case<arith::AddIOp, arith::AddFOp>([](auto) { return "a sum"; })
          .Case<arith::SubIOp, arith::SubFOp>(
              [](auto) { return "a difference"; })
          .Case<arith::MulIOp, arith::MulFOp>([](auto) { return "a product"; })
          .Case<arith::DivFOp>([](auto) { return "a quotient"; })
          .Case<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
                arith::DivUIOp>([](auto) { return "'div'"; })
          .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "'mod'"; })
          .Case<arith::MaxSIOp, arith::MaximumFOp, arith::MaxNumFOp>(
              [](auto) { return "'max'"; })
          .Case<arith::MinSIOp, arith::MinimumFOp, arith::MinNumFOp>(
              [](auto) { return "'min'"; })
          .Case<math::AbsIOp, math::AbsFOp>([](auto) { return "'abs'"; })
          .Case<arith::AndIOp>([](auto) { return "'and'"; })
          .Case<arith::OrIOp>([](auto) { return "'or'"; })
          .Case<arith::XOrIOp>([](auto) { return "'not'"; })
          .Case<arith::CmpIOp, arith::CmpFOp>(
              [](auto) { return "a comparison"; })
          .Case<arith::SelectOp>([](auto) { return "'if'"; })
          .Case<arith::SIToFPOp>(
              [](auto) { return "an integer that becomes a real"; })
          .Case<arith::FPToSIOp>(
              [](auto) { return "a real that becomes an integer"; })
          .Case<LookupOp, FetchOp>(
              [](auto) { return "an entry of a param or input"; })
          .Default([](auto) { return ""; });
  if (!words.empty())
    return words.str();
  return "'" + op->getName().stripDialect().str() + "'";
}
