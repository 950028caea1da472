// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code of `bind` that inverts a square table by Gauss and Jordan, with the
// largest element of each column as its pivot.
#include "passes/FillInverse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace torsor {
namespace {

/// Code on a matrix of n rows and 2 n columns.
class Eliminator {
public:
  Eliminator(OpBuilder &b, Location loc, Value matrix, int64_t n)
      : b(b), loc(loc), matrix(matrix), zero(index(0)), one(index(1)),
        size(index(n)), width(index(2 * n)) {}

  void emitUnit();
  void emitColumn(Value column);
  void loop(Value from, Value to, function_ref<void(Value)> body);

  Value index(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIndexAttr(value));
  }
  Value real(double value) {
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
  }
  Value load(Value row, Value column) {
    return memref::LoadOp::create(b, loc, matrix, ValueRange{row, column});
  }
  void store(Value value, Value row, Value column) {
    memref::StoreOp::create(b, loc, value, matrix, ValueRange{row, column});
  }

  OpBuilder &b;
  Location loc;
  Value matrix, zero, one, size, width;

private:
  Value pivotRow(Value column);
};

void Eliminator::loop(Value from, Value to, function_ref<void(Value)> body) {
  auto made = scf::ForOp::create(b, loc, from, to, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

/// The unit matrix in the right half.
void Eliminator::emitUnit() {
  loop(zero, size, [&](Value row) {
    loop(zero, size, [&](Value column) {
      Value same =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, row, column);
      Value element = arith::SelectOp::create(b, loc, same, real(1), real(0));
      store(element, row, arith::AddIOp::create(b, loc, column, size));
    });
  });
}

Value Eliminator::pivotRow(Value column) {
  auto made = scf::ForOp::create(b, loc, column, size, one,
                                 ValueRange{real(-1), column});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  Value row = made.getInductionVar(), best = made.getRegionIterArg(0),
        at = made.getRegionIterArg(1);
  Value element = load(row, column);
  Value negative = arith::NegFOp::create(b, loc, element);
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                      element, negative);
  Value large = arith::SelectOp::create(b, loc, below, negative, element);
  Value better =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, large, best);
  Value nextBest = arith::SelectOp::create(b, loc, better, large, best);
  Value nextAt = arith::SelectOp::create(b, loc, better, row, at);
  scf::YieldOp::create(b, loc, ValueRange{nextBest, nextAt});
  return made.getResult(1);
}

/// Makes the column that of the unit matrix. Columns before it are already, so
/// that the pivot's row is 0 there.
void Eliminator::emitColumn(Value column) {
  Value pivot = pivotRow(column);
  loop(column, width, [&](Value k) {
    Value a = load(column, k), c = load(pivot, k);
    store(c, column, k);
    // The same row where no swap is needed: the second store wins.
    Value same =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, pivot, column);
    store(arith::SelectOp::create(b, loc, same, c, a), pivot, k);
  });
  Value factor = arith::DivFOp::create(b, loc, real(1), load(column, column));
  loop(column, width, [&](Value k) {
    store(arith::MulFOp::create(b, loc, load(column, k), factor), column, k);
  });
  loop(zero, size, [&](Value row) {
    Value same =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, row, column);
    Value times =
        arith::SelectOp::create(b, loc, same, real(0), load(row, column));
    loop(column, width, [&](Value k) {
      Value taken = arith::MulFOp::create(b, loc, times, load(column, k));
      store(arith::SubFOp::create(b, loc, load(row, k), taken), row, k);
    });
  });
}

} // namespace

void emitInversion(OpBuilder &b, Location loc, Value matrix, int64_t n) {
  Eliminator code(b, loc, matrix, n);
  code.emitUnit();
  code.loop(code.zero, code.size,
            [&](Value column) { code.emitColumn(column); });
}

void emitTransposedInverse(OpBuilder &b, Location loc, Value matrix, Value out,
                           int64_t n) {
  Eliminator code(b, loc, matrix, n);
  Type element = cast<MemRefType>(out.getType()).getElementType();
  code.loop(code.zero, code.size, [&](Value row) {
    code.loop(code.zero, code.size, [&](Value column) {
      Value right = arith::AddIOp::create(b, loc, row, code.size);
      Value value =
          arith::TruncFOp::create(b, loc, element, code.load(column, right));
      memref::StoreOp::create(b, loc, value, out, ValueRange{row, column});
    });
  });
}

} // namespace torsor
