// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the scalar code of a block, one number at a time.
#include "ScalarMachine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace torsor::test {
namespace {

int64_t wrap(uint64_t value, unsigned width) {
  if (width == 1)
    return value & 1;
  if (width == 64)
    return int64_t(value);
  uint64_t sign = uint64_t(1) << (width - 1);
  value &= (uint64_t(1) << width) - 1;
  return int64_t((value ^ sign) - sign);
}

/// The quotient, wrapped: -2^63 / -1 has no other.
int64_t divide(int64_t a, int64_t b) {
  return b == -1 ? int64_t(uint64_t(0) - uint64_t(a)) : a / b;
}

int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = divide(a, b);
  return int64_t(uint64_t(quotient) * uint64_t(b)) != a && (a < 0) != (b < 0)
             ? quotient - 1
             : quotient;
}

unsigned widthOf(Value value) {
  return value.getType().getIntOrFloatBitWidth();
}

bool compareIntegers(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return uint64_t(a) < uint64_t(b);
  case P::ule:
    return uint64_t(a) <= uint64_t(b);
  case P::ugt:
    return uint64_t(a) > uint64_t(b);
  case P::uge:
    return uint64_t(a) >= uint64_t(b);
  }
  llvm_unreachable("every predicate is listed");
}

bool compareReals(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::OEQ:
    return a == b;
  case P::ONE:
    return !unordered && a != b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::UEQ:
    return unordered || a == b;
  case P::UNE:
    return a != b;
  case P::ULT:
    return !(a >= b);
  case P::ULE:
    return !(a > b);
  case P::UGT:
    return !(a <= b);
  case P::UGE:
    return !(a < b);
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  default:
    llvm_unreachable("not drawn");
  }
}

/// The greater, or NaN if either is (IEEE maximum).
double maximum(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
}

using Step = std::function<void(const Scalar *operands, Scalar *result)>;
using X = const Scalar *;
using U = uint64_t;

Step arithmeticStep(Operation &op) {
  unsigned width = widthOf(op.getResult(0));
  auto integer = [&](auto compute) -> Step {
    return [=](const Scalar *x, Scalar *r) {
      r->integer = wrap(uint64_t(compute(x)), width);
    };
  };
  return llvm::TypeSwitch<Operation *, Step>(&op)
      .Case([&](arith::AddIOp) {
        return integer([](X x) { return U(x[0].integer) + U(x[1].integer); });
      })
      .Case([&](arith::SubIOp) {
        return integer([](X x) { return U(x[0].integer) - U(x[1].integer); });
      })
      .Case([&](arith::MulIOp) {
        return integer([](X x) { return U(x[0].integer) * U(x[1].integer); });
      })
      .Case([&](arith::MulSIExtendedOp) -> Step {
        return [](X x, Scalar *r) {
          __int128 product = __int128(x[0].integer) * x[1].integer;
          r[0].integer = int64_t(product);
          r[1].integer = int64_t(product >> 64);
        };
      })
      .Case([&](arith::FloorDivSIOp) {
        return integer(
            [](X x) { return floorDiv(x[0].integer, x[1].integer); });
      })
      .Case([&](arith::CeilDivSIOp) {
        return integer([](X x) {
          int64_t q = floorDiv(x[0].integer, x[1].integer);
          return U(q) * U(x[1].integer) == U(x[0].integer) ? q : q + 1;
        });
      })
      .Case([&](arith::DivSIOp) {
        return integer([](X x) { return divide(x[0].integer, x[1].integer); });
      })
      .Case([&](arith::RemSIOp) {
        return integer([](X x) {
          return x[1].integer == -1 ? 0 : x[0].integer % x[1].integer;
        });
      })
      .Case([&](arith::DivUIOp) {
        return integer([](X x) { return U(x[0].integer) / U(x[1].integer); });
      })
      .Case([&](arith::RemUIOp) {
        return integer([](X x) { return U(x[0].integer) % U(x[1].integer); });
      })
      .Default([](Operation *) { return Step(); });
}

Step integerStep(Operation &op) {
  unsigned width = widthOf(op.getResult(0));
  bool isFirstBool =
      op.getNumOperands() && op.getOperand(0).getType().isInteger(1);
  auto integer = [&](auto compute) -> Step {
    return [=](const Scalar *x, Scalar *r) {
      r->integer = wrap(uint64_t(compute(x)), width);
    };
  };
  return llvm::TypeSwitch<Operation *, Step>(&op)
      .Case([&](arith::MaxSIOp) {
        return integer(
            [](X x) { return std::max(x[0].integer, x[1].integer); });
      })
      .Case([&](arith::MinSIOp) {
        return integer(
            [](X x) { return std::min(x[0].integer, x[1].integer); });
      })
      .Case([&](math::AbsIOp) {
        return integer([](X x) {
          return x[0].integer < 0 ? U(0) - U(x[0].integer) : U(x[0].integer);
        });
      })
      .Case([&](arith::AndIOp) {
        return integer([](X x) { return x[0].integer & x[1].integer; });
      })
      .Case([&](arith::OrIOp) {
        return integer([](X x) { return x[0].integer | x[1].integer; });
      })
      .Case([&](arith::XOrIOp) {
        return integer([](X x) { return x[0].integer ^ x[1].integer; });
      })
      .Case([&](arith::ShRSIOp) {
        return integer([](X x) { return x[0].integer >> x[1].integer; });
      })
      .Case([&](arith::ShLIOp) {
        return integer([](X x) { return U(x[0].integer) << x[1].integer; });
      })
      .Case([&](arith::ExtSIOp) {
        return integer(
            [=](X x) { return isFirstBool ? -x[0].integer : x[0].integer; });
      })
      .Case([&](arith::ExtUIOp ext) {
        unsigned from = widthOf(ext.getIn());
        return integer(
            [=](X x) { return U(x[0].integer) & ((U(1) << from) - 1); });
      })
      .Case([&](arith::TruncIOp) {
        return integer([](X x) { return x[0].integer; });
      })
      .Case([&](arith::FPToSIOp) {
        return integer([=](X x) -> int64_t { // Saturates; NaN gives 0.
          double edge = std::ldexp(1.0, width - 1);
          if (std::isnan(x[0].real))
            return 0;
          if (x[0].real >= edge)
            return int64_t((U(1) << (width - 1)) - 1);
          return int64_t(std::max(x[0].real, -edge));
        });
      })
      .Case([&](arith::CmpIOp cmp) {
        auto predicate = cmp.getPredicate();
        return integer([=](X x) {
          return compareIntegers(predicate, x[0].integer, x[1].integer);
        });
      })
      .Case([&](arith::CmpFOp cmp) {
        auto predicate = cmp.getPredicate();
        return integer(
            [=](X x) { return compareReals(predicate, x[0].real, x[1].real); });
      })
      .Default([](Operation *) { return Step(); });
}

Step realStep(Operation &op) {
  bool isSingle = op.getResult(0).getType().isF32();
  auto real = [&](auto compute) -> Step {
    return [=](const Scalar *x, Scalar *r) {
      double value = compute(x);
      r->real = isSingle ? double(float(value)) : value;
    };
  };
  return llvm::TypeSwitch<Operation *, Step>(&op)
      .Case([&](arith::AddFOp) {
        return real([](X x) { return x[0].real + x[1].real; });
      })
      .Case([&](arith::SubFOp) {
        return real([](X x) { return x[0].real - x[1].real; });
      })
      .Case([&](arith::MulFOp) {
        return real([](X x) { return x[0].real * x[1].real; });
      })
      .Case([&](arith::DivFOp) {
        return real([](X x) { return x[0].real / x[1].real; });
      })
      .Case([&](arith::NegFOp) { return real([](X x) { return -x[0].real; }); })
      .Case([&](math::AbsFOp) {
        return real([](X x) { return std::abs(x[0].real); });
      })
      .Case([&](math::FloorOp) {
        return real([](X x) { return std::floor(x[0].real); });
      })
      .Case([&](math::CeilOp) {
        return real([](X x) { return std::ceil(x[0].real); });
      })
      .Case([&](arith::MaximumFOp) {
        return real([](X x) { return maximum(x[0].real, x[1].real); });
      })
      .Case([&](arith::MinimumFOp) {
        return real([](X x) { return -maximum(-x[0].real, -x[1].real); });
      })
      .Case([&](arith::SIToFPOp from) {
        return Step([=](X x, Scalar *r) { // One rounding.
          r->real =
              isSingle ? double(float(x[0].integer)) : double(x[0].integer);
        });
      })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return real([](X x) { return x[0].real; }); })
      .Default([](Operation *) { return Step(); });
}

Step choiceStep(Operation &op) {
  unsigned width = widthOf(op.getResult(0));
  return llvm::TypeSwitch<Operation *, Step>(&op)
      .Case([&](arith::ConstantOp constant) -> Step {
        Scalar value;
        if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
          value.integer = width == 1 ? number.getValue().getZExtValue()
                                     : number.getValue().getSExtValue();
        if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
          value.real = number.getValueAsDouble();
        return [=](X, Scalar *r) { *r = value; };
      })
      .Case([&](arith::SelectOp) -> Step {
        return [](X x, Scalar *r) { *r = x[0].integer ? x[1] : x[2]; };
      })
      .Default([](Operation *) { return Step(); });
}

} // namespace

unsigned ScalarMachine::number(Value value) {
  auto [at, fresh] = numbers.try_emplace(value, cells.size());
  if (fresh)
    cells.emplace_back();
  return at->second;
}

ScalarMachine::ScalarMachine(Block &block, Leaf leaf) {
  for (BlockArgument argument : block.getArguments())
    number(argument);
  for (Operation &op : block) {
    if (op.getNumResults() == 0)
      continue;
    Instruction instruction{makeStep(op, leaf), {}, 0};
    for (Value operand : op.getOperands())
      instruction.operands.push_back(number(operand));
    instruction.result = number(op.getResult(0));
    for (Value more : op.getResults().drop_front())
      number(more); // Numbered in a row behind the first.
    code.push_back(std::move(instruction));
  }
}

void ScalarMachine::run() {
  Scalar operands[16];
  for (Instruction &instruction : code) {
    unsigned count = 0;
    for (unsigned operand : instruction.operands)
      operands[count++] = cells[operand];
    instruction.step(operands, &cells[instruction.result]);
  }
}

Scalar ScalarMachine::get(Value value) const {
  return cells[numbers.lookup(value)];
}

ScalarMachine::Step ScalarMachine::makeStep(Operation &op, const Leaf &leaf) {
  if (op.getResult(0).getType().isIntOrFloat())
    for (auto *step : {arithmeticStep, integerStep, realStep, choiceStep})
      if (Step made = step(op))
        return made;
  Operation *other = &op;
  return [leaf, other](const Scalar *x, Scalar *r) { *r = leaf(other, x); };
}

} // namespace torsor::test
