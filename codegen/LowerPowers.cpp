// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Powers of integers: loops of squarings.
#include "codegen/Lower.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace torsor {

static Value makeNumber(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr number = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, Attribute(number));
  return arith::ConstantOp::create(b, number);
}

/// Is any bit of any lane set?
static Value anySet(ImplicitLocOpBuilder &b, Value bits) {
  if (isa<VectorType>(bits.getType()))
    bits = vector::ReductionOp::create(b, vector::CombiningKind::OR, bits);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits,
                               makeNumber(b, bits.getType(), 0));
}

static bool isMinusOne(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant.isAllOnes();
}

/// Wraps, and takes as many steps as some lane's exponent has bits. As
/// math.ipowi says, what has no inverse is 0 to a power below 0.
static Value makePower(ImplicitLocOpBuilder &b, Value base, Value exponent) {
  Type type = base.getType();
  Value zero = makeNumber(b, type, 0), one = makeNumber(b, type, 1);
  auto is = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, how, x, y);
  };
  auto isOdd = [&](Value x) {
    Value last = arith::AndIOp::create(b, x, one);
    return is(arith::CmpIPredicate::ne, last, zero);
  };
  if (isMinusOne(base))
    return arith::SelectOp::create(b, isOdd(exponent), base, one);
  // Of the result, the next square and the bits that are left.
  auto loop = scf::WhileOp::create(
      b, TypeRange{type, type, type}, ValueRange{one, base, exponent},
      [&](OpBuilder &at, Location loc, ValueRange state) {
        ImplicitLocOpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(at.getInsertionBlock());
        scf::ConditionOp::create(b, anySet(b, state[2]), state);
      },
      [&](OpBuilder &at, Location loc, ValueRange state) {
        ImplicitLocOpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(at.getInsertionBlock());
        Value more = arith::MulIOp::create(b, state[0], state[1]);
        Value result =
            arith::SelectOp::create(b, isOdd(state[2]), more, state[0]);
        Value square = arith::MulIOp::create(b, state[1], state[1]);
        Value left = arith::ShRUIOp::create(b, state[2], one);
        scf::YieldOp::create(b, ValueRange{result, square, left});
      });
  // Of 1 and -1 the loop is right for every exponent.
  Value isUnit = arith::OrIOp::create(
      b, is(arith::CmpIPredicate::eq, base, one),
      is(arith::CmpIPredicate::eq, base, makeNumber(b, type, -1)));
  Value isWhole = is(arith::CmpIPredicate::sge, exponent, zero);
  return arith::SelectOp::create(b, arith::OrIOp::create(b, isUnit, isWhole),
                                 loop.getResult(0), zero);
}

void lowerPowers(ModuleOp module) {
  SmallVector<math::IPowIOp> powers;
  module.walk([&](math::IPowIOp op) { powers.push_back(op); });
  for (math::IPowIOp op : powers) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    op.replaceAllUsesWith(makePower(b, op.getLhs(), op.getRhs()));
    op.erase();
  }
}

} // namespace torsor
