// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one torsor.scheme: arithmetic and functions on scalars. Every value
// is total: divisors of ints are proved not to be 0, and the rest is IEEE.
#include "frontend/SchemeEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace torsor;
using namespace mlir;

Value SchemeEmitter::makeArithmetic(const Node *node, Location loc) {
  auto operand = [&](size_t n) { return node->operands[n]; };
  bool ints = node->type == NumberType::Int;
  auto at = [&] {
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  };
  auto binary = [&](auto whole, auto fraction) -> Value {
    Value a = getAs(operand(0), node->type), b = getAs(operand(1), node->type);
    at();
    if (ints)
      return decltype(whole)::create(builder, loc, a, b);
    return decltype(fraction)::create(builder, loc, a, b);
  };
  switch (node->op) {
  case NodeOp::Add:
    return binary(arith::AddIOp(), arith::AddFOp());
  case NodeOp::Sub:
    return binary(arith::SubIOp(), arith::SubFOp());
  case NodeOp::Mul:
    return binary(arith::MulIOp(), arith::MulFOp());
  case NodeOp::Div:
    return binary(arith::DivSIOp(), arith::DivFOp());
  case NodeOp::FloorDiv:
    return binary(arith::FloorDivSIOp(), arith::DivFOp());
  case NodeOp::Mod:
    return makeModulo(node, loc);
  case NodeOp::Power:
    return makePower(node, loc);
  case NodeOp::ToReal:
    return getReal(operand(0));
  case NodeOp::Negate: {
    Value a = get(operand(0));
    at();
    if (ints)
      return arith::SubIOp::create(builder, loc, integer(0, loc), a);
    return arith::NegFOp::create(builder, loc, a);
  }
  case NodeOp::Not:
  case NodeOp::And:
  case NodeOp::Or:
  case NodeOp::Select:
    return makeLogic(node, loc);
  case NodeOp::Less:
  case NodeOp::LessEqual:
  case NodeOp::Greater:
  case NodeOp::GreaterEqual:
  case NodeOp::Equal:
  case NodeOp::NotEqual:
    return makeComparison(node, loc);
  case NodeOp::In:
    return makeMembership(node, loc);
  case NodeOp::Min:
  case NodeOp::Max:
  case NodeOp::Clamp:
    return makeExtremum(node, loc);
  case NodeOp::Floor:
  case NodeOp::Ceil:
    return makeRounding(node, loc);
  default:
    return makeFunction(node, loc);
  }
}

/// a - floor(a / b) b, which has the sign of b.
Value SchemeEmitter::makeModulo(const Node *node, Location loc) {
  Value a = get(node->operands[0]), b = get(node->operands[1]);
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  Value whole = arith::FloorDivSIOp::create(builder, loc, a, b);
  whole = arith::MulIOp::create(builder, loc, whole, b);
  return arith::SubIOp::create(builder, loc, a, whole);
}

Value SchemeEmitter::makeLogic(const Node *node, Location loc) {
  Value condition = get(node->operands[0]), a, b;
  if (node->op == NodeOp::Select) {
    a = getAs(node->operands[1], node->type);
    b = getAs(node->operands[2], node->type);
  } else if (node->op != NodeOp::Not) {
    b = get(node->operands[1]);
  }
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  switch (node->op) {
  case NodeOp::Select:
    return arith::SelectOp::create(builder, loc, condition, a, b);
  case NodeOp::And:
    return arith::AndIOp::create(builder, loc, condition, b);
  case NodeOp::Or:
    return arith::OrIOp::create(builder, loc, condition, b);
  default:
    return arith::XOrIOp::create(
        builder, loc, condition,
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  }
}

/// x ^ n by squaring, for small n.
Value SchemeEmitter::makePowerOf(Value base, uint64_t exponent, Location loc) {
  bool ints = base.getType().isInteger(64);
  auto times = [&](Value a, Value b) -> Value {
    if (ints)
      return arith::MulIOp::create(builder, loc, a, b);
    return arith::MulFOp::create(builder, loc, a, b);
  };
  Value result, square = base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1)
      result = result ? times(result, square) : square;
    if (exponent > 1)
      square = times(square, square);
  }
  if (result)
    return result;
  return ints ? integer(1, loc) : real(1, loc);
}

Value SchemeEmitter::makePower(const Node *node, Location loc) {
  const Node *base = node->operands[0], *exponent = node->operands[1];
  bool ints = node->type == NumberType::Int;
  auto at = [&] {
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  };
  std::optional<int64_t> whole;
  if (exponent->op == NodeOp::IntConstant)
    whole = exponent->integer.toInt64();
  else if (exponent->op == NodeOp::RealConstant &&
           exponent->real == std::trunc(exponent->real) &&
           std::abs(exponent->real) <= 64)
    whole = int64_t(exponent->real);
  if (whole && (ints || std::abs(*whole) <= 64)) {
    Value a = getAs(base, node->type);
    at();
    Value power = makePowerOf(a, uint64_t(std::abs(*whole)), loc);
    if (*whole >= 0)
      return power;
    return arith::DivFOp::create(builder, loc, real(1, loc), power);
  }
  if (ints && base->op == NodeOp::IntConstant && base->integer == Integer(2)) {
    // 1 << b, which is 0 from 64 bits on.
    Value b = get(exponent);
    at();
    Value power = arith::ShLIOp::create(builder, loc, integer(1, loc), b);
    if (exponent->op == NodeOp::ILog2)
      return power; // at most 62
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       b, integer(64, loc));
    return arith::SelectOp::create(builder, loc, fits, power, integer(0, loc));
  }
  if (ints) {
    Value a = get(base), b = get(exponent);
    at();
    return math::IPowIOp::create(builder, loc, a, b);
  }
  Value b = getReal(exponent);
  if (base->isConstant() && base->asReal() == 2) {
    at();
    return math::Exp2Op::create(builder, loc, b);
  }
  Value a = getReal(base);
  at();
  if (exponent->op == NodeOp::RealConstant && exponent->real == 0.5)
    return math::SqrtOp::create(builder, loc, a);
  return math::PowFOp::create(builder, loc, a, b);
}

Value SchemeEmitter::makeComparison(const Node *node, Location loc) {
  const Node *x = node->operands[0], *y = node->operands[1];
  bool reals = x->type == NumberType::Real || y->type == NumberType::Real;
  NumberType type = reals ? NumberType::Real : x->type;
  Value a = getAs(x, type), b = getAs(y, type);
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  size_t n = size_t(node->op) - size_t(NodeOp::Less);
  if (!reals) {
    using P = arith::CmpIPredicate;
    static constexpr P signs[] = {P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne};
    return arith::CmpIOp::create(builder, loc, signs[n], a, b);
  }
  using P = arith::CmpFPredicate;
  static constexpr P signs[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ, P::UNE};
  return arith::CmpFOp::create(builder, loc, signs[n], a, b);
}

Value SchemeEmitter::makeMembership(const Node *node, Location loc) {
  Value x = get(node->operands[0]), found;
  for (const Node *element : node->operands[1]->operands) {
    Value y = get(element);
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
    Value same =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, x, y);
    found =
        found ? Value(arith::OrIOp::create(builder, loc, found, same)) : same;
  }
  if (found)
    return found;
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
}

Value SchemeEmitter::makeExtremum(const Node *node, Location loc) {
  llvm::SmallVector<Value, 3> args;
  for (const Node *operand : node->operands)
    args.push_back(getAs(operand, node->type));
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  bool ints = node->type == NumberType::Int;
  auto pick = [&](bool least, Value a, Value b) -> Value {
    if (ints)
      return least ? Value(arith::MinSIOp::create(builder, loc, a, b))
                   : Value(arith::MaxSIOp::create(builder, loc, a, b));
    return least ? Value(arith::MinimumFOp::create(builder, loc, a, b))
                 : Value(arith::MaximumFOp::create(builder, loc, a, b));
  };
  if (node->op == NodeOp::Clamp)
    return pick(false, args[1], pick(true, args[0], args[2]));
  return pick(node->op == NodeOp::Min, args[0], args[1]);
}

/// The conversion saturates, and gives 0 for a NaN; back ends see to that.
Value SchemeEmitter::makeRounding(const Node *node, Location loc) {
  Value x = getReal(node->operands[0]);
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  Value rounded = node->op == NodeOp::Floor
                      ? Value(math::FloorOp::create(builder, loc, x))
                      : Value(math::CeilOp::create(builder, loc, x));
  return arith::FPToSIOp::create(builder, loc, builder.getI64Type(), rounded);
}

Value SchemeEmitter::makeFunction(const Node *node, Location loc) {
  const Node *operand = node->operands[0];
  if (node->op == NodeOp::Abs && node->type == NumberType::Int) {
    Value x = get(operand);
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
    return math::AbsIOp::create(builder, loc, x);
  }
  if (node->op == NodeOp::ILog2) {
    // The position of the highest bit.
    Value x = get(operand);
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
    Value zeros = math::CountLeadingZerosOp::create(builder, loc, x);
    return arith::SubIOp::create(builder, loc, integer(63, loc), zeros);
  }
  Value x = getReal(operand);
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  switch (node->op) {
  case NodeOp::Abs:
    return math::AbsFOp::create(builder, loc, x);
  case NodeOp::Exp:
    return math::ExpOp::create(builder, loc, x);
  case NodeOp::Exp2:
    return math::Exp2Op::create(builder, loc, x);
  case NodeOp::Log:
    return math::LogOp::create(builder, loc, x);
  case NodeOp::Log2:
    return math::Log2Op::create(builder, loc, x);
  case NodeOp::Log1p:
    return math::Log1pOp::create(builder, loc, x);
  case NodeOp::Sqrt:
    return math::SqrtOp::create(builder, loc, x);
  case NodeOp::Sin:
    return math::SinOp::create(builder, loc, x);
  case NodeOp::Cos:
    return math::CosOp::create(builder, loc, x);
  case NodeOp::Tanh:
    return math::TanhOp::create(builder, loc, x);
  case NodeOp::Sigmoid: {
    // 1 / (1 + exp(-x)): 0 where exp overflows.
    Value minus = arith::NegFOp::create(builder, loc, x);
    Value e = math::ExpOp::create(builder, loc, minus);
    Value one = real(1, loc);
    return arith::DivFOp::create(builder, loc, one,
                                 arith::AddFOp::create(builder, loc, one, e));
  }
  default: {
    // softplus: max(x, 0) + log1p(exp(-|x|)), which overflows nowhere.
    Value size = math::AbsFOp::create(builder, loc, x);
    Value e = math::ExpOp::create(builder, loc,
                                  arith::NegFOp::create(builder, loc, size));
    Value top = arith::MaximumFOp::create(builder, loc, x, real(0, loc));
    return arith::AddFOp::create(builder, loc, top,
                                 math::Log1pOp::create(builder, loc, e));
  }
  }
}
