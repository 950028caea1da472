// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every case of oracle.json that a scheme can express, from its text to the
// reference's numbers; and why the others do not run.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace torsor;
using namespace torsor::test;

namespace {

const std::map<std::string, const char *> others = {
    {"rope.turn_fraction.pair1.d128.b1e4",
     "fixed-point phases belong to compiled kernels"},
    {"decay.factoring_limits", "ranges of f32 and f16, no scheme"},
    {"decay.scalar", "asks for a growing score, which the language refuses"},
    {"nonnormal.transient", "a generator that no block of the language has"},
    {"noncommuting.so3", "a product that the language refuses"},
    {"qknorm.affine_after_rope",
     "a weighted norm behind the rotation, which the language refuses"},
};

class OracleTest : public testing::TestWithParam<OracleEntry> {};
INSTANTIATE_TEST_SUITE_P(Cases, OracleTest, testing::ValuesIn(allCases()),
                         testName);

// The file suggests a tolerance per case for an evaluation in f64. Where a
// number is read through acos, whose slope is unbounded at 1, the case says
// what that costs.
TEST_P(OracleTest, Agrees) {
  const json &entry = oracleCase(GetParam().id);
  Comparison c = GetParam().run(entry);
  ASSERT_EQ(c.got.size(), c.want.size());
  ASSERT_FALSE(c.want.empty());
  double relative = entry["rtol"], absolute = entry["atol"];
  if (c.absolute)
    absolute = c.absolute;
  for (size_t n = 0; n < c.want.size(); ++n)
    EXPECT_LE(std::fabs(c.got[n] - c.want[n]),
              absolute + relative * std::fabs(c.want[n]))
        << GetParam().id << " element " << n << ": got " << c.got[n]
        << ", expected " << c.want[n];
}

TEST(Oracle, EveryCaseIsAccountedFor) {
  std::set<std::string> run;
  for (const OracleEntry &entry : allCases())
    EXPECT_TRUE(run.insert(entry.id).second) << entry.id << " stands twice";
  for (const std::string &id : oracleIds())
    if (!run.count(id) && !others.count(id))
      ADD_FAILURE() << id << " neither runs nor says why not";
  std::printf("%zu of %zu cases run\n", run.size(), oracleIds().size());
  for (const auto &[id, reason] : others)
    std::printf("  not %s: %s\n", id.c_str(), reason);
}

} // namespace
