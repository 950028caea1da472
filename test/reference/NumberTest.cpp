// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of numbers: total, wrapping, saturating.
#include "reference/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace torsor::reference;

namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t most = std::numeric_limits<int64_t>::max();

int64_t integers(ScalarCode code, int64_t a, int64_t b, int bits = 64) {
  return compute(code, 0, bits, bits, {a, 0}, {b, 0}, {}).i;
}
int64_t toInteger(double x) {
  return compute(ScalarCode::RealToInt, 0, 64, 64, {0, x}, {}, {}).i;
}

TEST(Number, DivisionFloors) {
  EXPECT_EQ(integers(ScalarCode::FloorDiv, -1, 4), -1);
  EXPECT_EQ(integers(ScalarCode::FloorDiv, 7, -2), -4);
  EXPECT_EQ(integers(ScalarCode::FloorDiv, 8, 4), 2);
  EXPECT_EQ(integers(ScalarCode::CeilDiv, 7, 2), 4);
  EXPECT_EQ(integers(ScalarCode::CeilDiv, -7, 2), -3);
  EXPECT_EQ(integers(ScalarCode::RemS, -1, 4), -1);
}

TEST(Number, DivisionIsTotal) {
  for (ScalarCode code :
       {ScalarCode::DivS, ScalarCode::FloorDiv, ScalarCode::CeilDiv,
        ScalarCode::RemS, ScalarCode::RemU, ScalarCode::DivU})
    EXPECT_EQ(integers(code, 5, 0), 0);
  EXPECT_EQ(integers(ScalarCode::DivS, least, -1), least);
  EXPECT_EQ(integers(ScalarCode::FloorDiv, least, -1), least);
  EXPECT_EQ(integers(ScalarCode::RemS, least, -1), 0);
}

TEST(Number, IntegersWrap) {
  EXPECT_EQ(integers(ScalarCode::AddI, most, 1), least);
  EXPECT_EQ(integers(ScalarCode::MulI, most, 2), -2);
  EXPECT_EQ(integers(ScalarCode::AddI, 127, 1, 8), -128);
  EXPECT_EQ(integers(ScalarCode::IPowI, 3, 40), int64_t(12157665459056928801u));
  EXPECT_EQ(integers(ScalarCode::IPowI, 2, 64), 0);
  EXPECT_EQ(integers(ScalarCode::IPowI, -1, -3), -1);
}

TEST(Number, ConversionsSaturate) {
  EXPECT_EQ(toInteger(1e300), most);
  EXPECT_EQ(toInteger(-1e300), least);
  EXPECT_EQ(toInteger(std::nan("")), 0);
  EXPECT_EQ(toInteger(-2.75), -2);
}

TEST(Number, MinimaAndMaximaKeepNan) {
  double nan = std::nan("");
  auto real = [](ScalarCode code, double a, double b) {
    return compute(code, 0, 64, 64, {0, a}, {0, b}, {}).f;
  };
  EXPECT_TRUE(std::isnan(real(ScalarCode::MaxF, nan, 1)));
  EXPECT_TRUE(std::isnan(real(ScalarCode::MinF, 1, nan)));
  EXPECT_EQ(real(ScalarCode::MaxNumF, nan, 1), 1);
}

TEST(Number, TruthValuesExtend) {
  auto extend = [](ScalarCode code) {
    return compute(code, 0, 64, 1, {1, 0}, {}, {}).i;
  };
  EXPECT_EQ(extend(ScalarCode::ExtU), 1);
  EXPECT_EQ(extend(ScalarCode::ExtS), -1);
  EXPECT_EQ(compute(ScalarCode::LeadingZeros, 0, 64, 64, {1, 0}, {}, {}).i, 63);
}

TEST(Number, ComparisonsOfNan) {
  using mlir::arith::CmpFPredicate;
  auto compare = [](CmpFPredicate predicate) {
    return compute(ScalarCode::CompareF, int64_t(predicate), 1, 64,
                   {0, std::nan("")}, {0, 1}, {})
        .i;
  };
  EXPECT_EQ(compare(CmpFPredicate::OLT), 0);
  EXPECT_EQ(compare(CmpFPredicate::ULT), 1);
  EXPECT_EQ(compare(CmpFPredicate::UNO), 1);
  EXPECT_EQ(compare(CmpFPredicate::ONE), 0);
  EXPECT_EQ(compare(CmpFPredicate::UNE), 1);
}

TEST(Number, KnowsItsOperations) {
  EXPECT_TRUE(scalarCode("arith.addf"));
  EXPECT_TRUE(scalarCode("math.log1p"));
  EXPECT_FALSE(scalarCode("arith.mulsi_extended"));
}

} // namespace
