// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws masks at random.
#include "RandomMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;

namespace torsor::test {

uint64_t getSeed() {
  static const uint64_t seed = [] {
    const char *given = std::getenv("TORSOR_MASK_SEED");
    uint64_t value = given ? std::strtoull(given, nullptr, 10)
                           : uint64_t(std::random_device()());
    std::printf("TORSOR_MASK_SEED=%llu\n", (unsigned long long)value);
    return value;
  }();
  return seed;
}

unsigned getCount(unsigned usual) {
  const char *given = std::getenv("TORSOR_MASK_COUNT");
  return given ? unsigned(std::strtoul(given, nullptr, 10)) : usual;
}

Value RandomMask::pick(const std::vector<Value> &pool) {
  // The younger half is drawn more often, so that code grows deep.
  size_t n = pool.size();
  return pool[below(2) ? below(n) : n - 1 - below((n + 1) / 2)];
}

Value RandomMask::number(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

int64_t RandomMask::smallNumber() {
  switch (below(24)) {
  case 0:
    return int64_t(random()); // Anything.
  case 1:
    return int64_t(1) << below(63);
  default:
    return int64_t(below(2 * size)) - size / 2;
  }
}

Value RandomMask::drawInteger() {
  Value x = pick(integers), y = pick(integers);
  // Divisors are not 0, seldom negative.
  int64_t divisor = 1 + below(size);
  if (below(8) == 0)
    divisor = -divisor;
  switch (below(16)) {
  case 0:
  case 1:
    return arith::AddIOp::create(b, loc, x, y);
  case 2:
  case 3:
  case 4:
    return arith::SubIOp::create(b, loc, x, y);
  case 5:
    return arith::AddIOp::create(b, loc, x, number(smallNumber()));
  case 6:
    return arith::MulIOp::create(b, loc, x,
                                 below(6) ? number(smallNumber()) : y);
  case 7:
  case 8:
    return arith::FloorDivSIOp::create(b, loc, x, number(divisor));
  case 9: { // x mod c
    Value by = number(divisor);
    Value quotient = arith::FloorDivSIOp::create(b, loc, x, by);
    return arith::SubIOp::create(b, loc, x,
                                 arith::MulIOp::create(b, loc, quotient, by));
  }
  case 10:
    switch (below(4)) {
    case 0:
      return arith::DivSIOp::create(b, loc, x, number(divisor));
    case 1:
      return arith::CeilDivSIOp::create(b, loc, x, number(divisor));
    case 2:
      return arith::RemSIOp::create(b, loc, x, number(divisor));
    default:
      return arith::ShRSIOp::create(b, loc, x, number(below(5)));
    }
  case 11:
    return arith::MaxSIOp::create(b, loc, x, y);
  case 12:
    return arith::MinSIOp::create(b, loc, x, y);
  case 13:
    return math::AbsIOp::create(b, loc, x);
  case 14:
    return arith::SelectOp::create(b, loc, pick(truths), x, y);
  default:
    switch (below(reals.empty() ? 4 : 5)) {
    case 4:
      return arith::FPToSIOp::create(b, loc, b.getI64Type(), pick(reals));
    case 0:
      return arith::ExtUIOp::create(b, loc, b.getI64Type(), pick(truths));
    case 1: { // A divisor that is kept above 0.
      Value by = arith::MaxSIOp::create(b, loc, y, number(1 + below(3)));
      return arith::FloorDivSIOp::create(b, loc, x, by);
    }
    case 2: {
      Value narrow = arith::TruncIOp::create(b, loc, b.getI32Type(), x);
      return arith::ExtSIOp::create(b, loc, b.getI64Type(), narrow);
    }
    default:
      return number(smallNumber());
    }
  }
}

Value RandomMask::drawReal() {
  Value x = pick(reals), y = pick(reals);
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  switch (below(12)) {
  case 0:
    return arith::AddFOp::create(b, loc, x, y);
  case 1:
  case 2:
    return arith::SubFOp::create(b, loc, x, y);
  case 3:
    return arith::MulFOp::create(b, loc, x,
                                 below(2) ? real(below(9) * 0.5 - 2) : y);
  case 4:
    return arith::DivFOp::create(b, loc, x, real(below(9) * 0.5 - 2.25));
  case 5:
    return arith::MaximumFOp::create(b, loc, x, y);
  case 6:
    return arith::MinimumFOp::create(b, loc, x, y);
  case 7:
    return math::AbsFOp::create(b, loc, x);
  case 8:
    return arith::SelectOp::create(b, loc, pick(truths), x, y);
  case 9:
    return math::FloorOp::create(b, loc, x);
  case 10:
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), pick(integers));
  default:
    return real(below(16) * 0.25 - 2);
  }
}

Value RandomMask::drawComparison() {
  if (!reals.empty() && below(4) == 0) {
    using P = arith::CmpFPredicate;
    P predicates[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ,
                      P::ONE, P::ULT, P::UGE, P::UEQ, P::UNE};
    return arith::CmpFOp::create(b, loc, predicates[below(10)], pick(reals),
                                 pick(reals));
  }
  using P = arith::CmpIPredicate;
  P predicates[] = {P::sle, P::slt, P::sge, P::sgt, P::eq,
                    P::ne,  P::sle, P::slt, P::ult, P::uge};
  Value x = pick(integers);
  Value y = below(2) ? pick(integers) : number(smallNumber());
  Value first = arith::CmpIOp::create(b, loc, predicates[below(10)], x, y);
  if (below(3))
    return first;
  // 0 <= x < c
  Value least = arith::CmpIOp::create(b, loc, P::sge, x, number(smallNumber()));
  return arith::AndIOp::create(b, loc, least, first);
}

Value RandomMask::drawTruth() {
  Value x = pick(truths), y = pick(truths);
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  switch (below(10)) {
  case 0:
  case 1:
  case 2:
    return arith::AndIOp::create(b, loc, x, y);
  case 3:
  case 4:
    return arith::OrIOp::create(b, loc, x, y);
  case 5:
    return arith::XOrIOp::create(b, loc, x, yes);
  case 6:
    return arith::SelectOp::create(b, loc, pick(truths), x, y);
  case 7:
    return arith::CmpIOp::create(
        b, loc, below(2) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
        x, y);
  case 8:
    return arith::XOrIOp::create(b, loc, x, y);
  default:
    return drawComparison();
  }
}

Value RandomMask::draw(unsigned steps) {
  truths.push_back(drawComparison());
  for (unsigned n = 0; n < steps; ++n) {
    unsigned kind = below(reals.empty() ? 8 : 10);
    if (kind < 4)
      integers.push_back(drawInteger());
    else if (kind < 6)
      truths.push_back(drawComparison());
    else if (kind < 8)
      truths.push_back(drawTruth());
    else
      reals.push_back(drawReal());
  }
  return drawTruth();
}

} // namespace torsor::test
