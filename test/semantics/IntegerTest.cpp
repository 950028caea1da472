// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers without a bound.
#include "frontend/Integer.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace torsor;

namespace {

Integer big(const char *digits) {
  auto value = Integer::parse(digits);
  EXPECT_TRUE(value.has_value());
  return *value;
}

TEST(Integer, ReadsAndPrints) {
  EXPECT_EQ(big("0").toString(), "0");
  EXPECT_EQ(big("500_000").toString(), "500000");
  const char *far = "123456789012345678901234567890123456789";
  EXPECT_EQ(big(far).toString(), far);
  EXPECT_EQ((-big(far)).toString(), std::string("-") + far);
}

TEST(Integer, CarriesAcrossWords) {
  Integer most(INT64_MAX), least(INT64_MIN);
  EXPECT_EQ(most.plus(Integer(1))->toString(), "9223372036854775808");
  EXPECT_EQ(least.minus(Integer(1))->toString(), "-9223372036854775809");
  EXPECT_EQ((-least).toString(), "9223372036854775808");
  EXPECT_EQ(most.times(most)->toString(),
            "85070591730234615847396907784232501249");
  EXPECT_FALSE(most.plus(Integer(1))->toInt64().has_value());
  EXPECT_EQ(most.plus(Integer(1))->minus(Integer(1))->toInt64(), INT64_MAX);
}

TEST(Integer, DividesToTheFloor) {
  for (int64_t a : {-9, -8, -1, 0, 1, 7, 8})
    for (int64_t b : {-4, -3, 3, 4}) {
      int64_t quotient = int64_t(std::floor(double(a) / double(b)));
      EXPECT_EQ(Integer(a).floorDiv(Integer(b)).toInt64(), quotient)
          << a << " div " << b;
      EXPECT_EQ(Integer(a).floorMod(Integer(b)).toInt64(), a - b * quotient)
          << a << " mod " << b;
    }
  EXPECT_EQ(Integer(INT64_MIN).floorDiv(Integer(-1)).toString(),
            "9223372036854775808");
}

TEST(Integer, Powers) {
  EXPECT_EQ(Integer(2).power(Integer(100))->toString(),
            "1267650600228229401496703205376");
  EXPECT_EQ(Integer(-3).power(Integer(3))->toInt64(), -27);
  EXPECT_EQ(Integer(0).power(Integer(0))->toInt64(), 1);
  EXPECT_EQ(Integer(-1).power(big("100000000000000000001"))->toInt64(), -1);
  EXPECT_EQ(Integer(1).power(big("100000000000000000000"))->toInt64(), 1);
  EXPECT_FALSE(Integer(2).power(Integer(1 << 20)).has_value());
  EXPECT_EQ(Integer(1 << 20).log2(), 20u);
  EXPECT_EQ(Integer((1 << 20) - 1).log2(), 19u);
}

TEST(Integer, RoundsToTheNearestReal) {
  EXPECT_EQ(big("9007199254740993").toReal(), 9007199254740992.0);
  EXPECT_EQ(big("9007199254740995").toReal(), 9007199254740996.0);
  EXPECT_TRUE(std::isinf(Integer(2).power(Integer(4000))->toReal()));
  EXPECT_EQ(Integer::fromReal(-1e20).toString(), "-100000000000000000000");
  EXPECT_EQ(Integer::fromReal(3.0).toInt64(), 3);
}

TEST(Integer, Compares) {
  EXPECT_LT(Integer(-5), Integer(3));
  EXPECT_LT(-big("100000000000000000000"), Integer(INT64_MIN));
  EXPECT_EQ(big("7"), Integer(7));
}

} // namespace
