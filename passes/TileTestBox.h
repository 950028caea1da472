// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar code evaluated over a box of pairs, in interval arithmetic that is
// emitted as code.
#ifndef TORSOR_PASSES_TILETESTBOX_H
#define TORSOR_PASSES_TILETESTBOX_H

#include "passes/IntervalAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

namespace torsor {

/// What a value can be over the box; every member is code of the tile region.
struct BoxValue {
  /// Of a number: its least and greatest value. Integers as i64, whatever their
  /// width; reals in their own type.
  mlir::Value low, high;
  /// Of a truth value: is it true somewhere, for all that is known, and is it
  /// true everywhere?
  mlir::Value mayHold, mustHold;
  /// Of a real: it may be anything, NaN too, and `low` and `high` say nothing.
  mlir::Value any;
};

/// Emits the operations of a region once more, over a box.
class BoxCode {
public:
  /// Code goes to `builder`. `ranges` must have run over the region.
  BoxCode(mlir::OpBuilder &builder, const IntervalAnalysis &ranges)
      : b(builder), ranges(ranges) {}

  void set(mlir::Value value, BoxValue box) { boxes[value] = box; }
  /// The box of a value of a known range.
  BoxValue ofRange(mlir::Type type, IntRange range, mlir::Location loc);
  BoxValue get(mlir::Value value);

  /// Emits `op` over the box. False if all that is known of its result is the
  /// range of its type.
  bool emit(mlir::Operation &op);

  mlir::Value constant(int64_t value);
  mlir::Value truth(bool value);
  mlir::Value land(mlir::Value a, mlir::Value b);
  mlir::Value lor(mlir::Value a, mlir::Value b);
  mlir::Value lnot(mlir::Value a);

private:
  using Predicate = mlir::arith::CmpIPredicate;
  using Box = std::optional<BoxValue>;

  template <typename Op, typename... Args> mlir::Value make(Args... args) {
    return b.createOrFold<Op>(loc, args...);
  }
  mlir::Value compare(Predicate predicate, mlir::Value x, mlir::Value y) {
    return make<mlir::arith::CmpIOp>(predicate, x, y);
  }
  mlir::Value choose(mlir::Value c, mlir::Value x, mlir::Value y);

  Box emitTruth(mlir::Operation &op);
  BoxValue isEqual(const BoxValue &x, const BoxValue &y);
  BoxValue negate(const BoxValue &x);
  Box compareIntegers(mlir::arith::CmpIOp op);

  Box emitInteger(mlir::Operation &op);
  Box emitSum(mlir::Operation &op, bool minus);
  Box emitProduct(mlir::Operation &op, mlir::Value lhs, mlir::Value rhs);
  Box emitDivision(mlir::Operation &op);
  Box emitModulus(mlir::Operation &op);
  Box emitAbsolute(mlir::Operation &op);
  Box emitCast(mlir::Operation &op);
  Box emitFromReal(mlir::Operation &op);
  /// The full range of the type if `wraps` holds.
  BoxValue guard(mlir::Operation &op, BoxValue box, mlir::Value wraps);
  bool mayWrap(mlir::Operation &op);

  Box emitReal(mlir::Operation &op);
  Box emitRealProduct(mlir::Operation &op);
  Box emitRealCast(mlir::Operation &op);
  Box compareReals(mlir::arith::CmpFOp op);
  mlir::Value isInfinite(const BoxValue &box);

  Box emitSelect(mlir::arith::SelectOp op);
  Box emitLookup(mlir::Operation &op);

  /// The constant of `value`, if it is one.
  static std::optional<int64_t> getConstant(mlir::Value value);

  mlir::OpBuilder &b;
  const IntervalAnalysis &ranges;
  mlir::Location loc = b.getUnknownLoc();
  llvm::DenseMap<mlir::Value, BoxValue> boxes;
};

} // namespace torsor

#endif
