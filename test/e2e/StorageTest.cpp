// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages and rings give to the bit what rows give.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

std::unique_ptr<Kernel> compile(const std::string &source, int64_t width,
                                torsor_dtype dtype) {
  KernelOptions options;
  options.head = options.value = width;
  options.dtype = dtype;
  std::string error;
  auto kernel = Kernel::compile(source, options, error);
  EXPECT_TRUE(kernel) << source << "\n" << error;
  return kernel;
}

void expectSame(const RunResult &one, const RunResult &other,
                const std::string &what) {
  ASSERT_EQ(one.status, TORSOR_OK) << what << ": " << one.error;
  ASSERT_EQ(other.status, TORSOR_OK) << what << ": " << other.error;
  ASSERT_FALSE(one.o.empty()) << what;
  auto bits = [](const std::vector<double> &values) {
    return std::string(reinterpret_cast<const char *>(values.data()),
                       values.size() * sizeof(double));
  };
  EXPECT_EQ(bits(one.o) == bits(other.o), true) << what;
  EXPECT_EQ(bits(one.lse) == bits(other.lse), true) << what;
}

using Param = std::tuple<SchemeCase, torsor_dtype>;
class StorageTest : public testing::TestWithParam<Param> {};
INSTANTIATE_TEST_SUITE_P(All, StorageTest,
                         testing::Combine(testing::ValuesIn(schemeCases()),
                                          testing::Values(TORSOR_F32,
                                                          TORSOR_BF16)),
                         [](const auto &info) { return nameOfParam(info); });

// Pages of any size, in no order, and a ring that has turned.
TEST_P(StorageTest, GivesWhatRowsGive) {
  auto [scheme, dtype] = GetParam();
  constexpr int64_t width = 24;
  auto kernel = compile(scheme.source(width), width, dtype);
  ASSERT_TRUE(kernel);
  uint64_t seed = 5;
  int compared = 0;
  for (const ShapeCase &shape : shapeCases()) {
    if (!shape.appended)
      continue;
    Random random(seed++);
    Problem problem = makeCall(shape, width, width, random);
    scheme.fill(problem, random);
    if (problem.keyIndices) // lie as rows do
      continue;
    RunOptions run = {shape.op, shape.layout, shape.threads, shape.appended};
    RunResult rows = kernel->run(problem, run);
    for (int64_t page : {1, 3, 16, 64}) {
      run.cache = {TORSOR_PAGED, page};
      expectSame(rows, kernel->run(problem, run),
                 std::string(shape.name) + ", pages of " +
                     std::to_string(page));
    }
    for (int64_t pinned : {0, 4}) {
      run.cache = {TORSOR_RING, 0, pinned, 3};
      expectSame(rows, kernel->run(problem, run),
                 std::string(shape.name) + ", a ring with " +
                     std::to_string(pinned) + " pinned");
    }
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

/// One query behind 150 keys that were appended one by one: `ring` gives what
/// rows give, one that holds a key too few is refused with `lost` in the text.
void expectRing(const std::string &mask, CacheForm ring, CacheForm tooShort,
                const char *lost) {
  constexpr int64_t width = 16, keys = 150;
  auto kernel = compile("torsor 1\nscheme x { action split(rope(16, base = "
                        "10_000)) mask " +
                            mask + " }\n",
                        width, TORSOR_F32);
  ASSERT_TRUE(kernel);
  Random random(3);
  ShapeCase shape = {"ring", 4, 2, {{1, keys}}, Layout::Dense};
  Problem problem = makeCall(shape, width, width, random);
  RunOptions run;
  run.appended = 1;
  RunResult rows = kernel->run(problem, run);
  run.cache = ring;
  expectSame(rows, kernel->run(problem, run), mask);
  run.cache = tooShort;
  RunResult refused = kernel->run(problem, run);
  EXPECT_EQ(refused.status, TORSOR_RANGE);
  EXPECT_NE(refused.error.find(lost), std::string::npos) << refused.error;
}

TEST(Ring, HoldsWhatTheWindowSees) {
  expectRing("last(20)", {TORSOR_RING, 20, 0}, {TORSOR_RING, 19, 0},
             "the ring has lost the keys of indices");
}

TEST(Ring, KeepsPinnedKeys) {
  expectRing("causal and (i - j < 20 or j < 4)", {TORSOR_RING, 24, 4},
             {TORSOR_RING, 24, 3}, "and the first ones");
}

/// What is appended at once may fill the pinned slots and those that turn,
/// once.
TEST(Ring, TakesNoMoreKeysAtOnceThanItHolds) {
  auto kernel = compile("torsor 1\nscheme x { head 16 mask causal and (i - j < "
                        "6 or j < 3) }\n",
                        16, TORSOR_F32);
  ASSERT_TRUE(kernel);
  for (int64_t keys : {12, 13}) {
    Random random(4);
    ShapeCase shape = {"ring", 2, 1, {{1, keys}}, Layout::Dense};
    Problem problem = makeCall(shape, 16, 16, random);
    RunOptions run;
    run.appended = keys;
    RunResult rows = kernel->run(problem, run);
    run.cache = {TORSOR_RING, 12, 3};
    RunResult ring = kernel->run(problem, run);
    if (keys == 12) {
      expectSame(rows, ring, "twelve");
      continue;
    }
    EXPECT_EQ(ring.status, TORSOR_RANGE);
    EXPECT_NE(ring.error.find("appends 10 keys behind the 3 pinned slots of "
                              "the ring, which has room for 9"),
              std::string::npos)
        << ring.error;
  }
}

} // namespace
