// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// STEP and MERGE of every scheme against the reference of the whole call.
#include "test/e2e/CacheUser.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>
#include <tuple>

using namespace torsor;
using namespace torsor::test;

namespace {

using SchemeParam = std::tuple<SchemeCase, torsor_dtype>;

Compiled compileCase(const SchemeCase &scheme, int64_t width,
                     torsor_dtype dtype) {
  KernelOptions options;
  options.head = options.value = width;
  options.dtype = dtype;
  std::string error;
  Compiled compiled = compileBoth(scheme.source(width), options, error);
  EXPECT_TRUE(compiled.kernel) << scheme.source(width) << "\n" << error;
  return compiled;
}

/// Queries are among the keys, so that a step can bring both.
std::vector<ShapeCase> stepShapes() {
  std::vector<ShapeCase> shapes = {
      {"first_token", 2, 1, {{1, 1}}},
      {"prompt", 4, 2, {{70, 70}}, Layout::Padded},
      {"speculation", 6, 2, {{5, 300}}, Layout::TokenMajor},
      {"ragged",
       4,
       2,
       {{1, 90}, {7, 7}, {0, 12}, {3, 41}},
       Layout::Dense,
       true},
      {"rows", 2, 2, {{1, 17}, {1, 600}, {20, 64}}, Layout::Padded},
      {"far_away", 2, 1, {{4, 45}}}};
  shapes.back().firstKey = 1000000;
  for (ShapeCase &shape : shapes) {
    shape.op = TORSOR_STEP;
    shape.threads = 2;
    shape.appended = 33;
  }
  return shapes;
}

class StepTest : public testing::TestWithParam<SchemeParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, StepTest,
    testing::Combine(testing::ValuesIn(schemeCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

// A step is, to the bit, an append and attention over the cache.
TEST_P(StepTest, AgreesWithTheReferenceAndWithTwoCalls) {
  auto [scheme, dtype] = GetParam();
  Compiled compiled = compileCase(scheme, 24, dtype);
  ASSERT_TRUE(compiled.kernel);
  uint64_t seed = 1;
  for (const ShapeCase &shape : stepShapes()) {
    Random random(seed++);
    Problem problem = makeCall(shape, 24, 24, random);
    scheme.fill(problem, random);
    RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
    EXPECT_EQ(differential(compiled, problem, run, scheme.magnitude(24)), "")
        << shape.name;
    Problem rounded = compiled.kernel->rounded(problem);
    RunResult step = compiled.kernel->run(rounded, run);
    run.op = TORSOR_ATTEND;
    RunResult apart = compiled.kernel->run(rounded, run);
    EXPECT_EQ(largestDifference(step.o, apart.o), 0) << shape.name;
    EXPECT_EQ(largestDifference(step.lse, apart.lse), 0) << shape.name;
  }
}

class MergeTest : public testing::TestWithParam<SchemeParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, MergeTest,
    testing::Combine(testing::ValuesIn(schemeCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

// The keys in parts, some of them empty, fresh and cached; the sink counts
// once, and not at all where the merged result is a part itself.
TEST_P(MergeTest, AgreesWithTheReferenceOfTheWhole) {
  auto [scheme, dtype] = GetParam();
  Compiled compiled = compileCase(scheme, 24, dtype);
  ASSERT_TRUE(compiled.kernel);
  Magnitude magnitude = scheme.magnitude(24);
  magnitude.results = 2;
  const char *names[] = {
      "one",          "no_keys",      "odd",      "prime",  "decode_batch",
      "padded_batch", "ragged_batch", "far_away", "cached", "cached_prefill"};
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapeCases()) {
    if (llvm::none_of(names, [&](const char *name) {
          return name == std::string(shape.name);
        }))
      continue;
    for (int64_t parts : {1, 2, 5})
      for (bool partial : {false, true}) {
        Random random(seed++);
        Problem problem = makeCall(shape, 24, 24, random);
        scheme.fill(problem, random);
        for (SequenceRun &run : problem.sequences)
          run.partial = partial;
        RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
        run.parts = parts;
        run.seed = seed;
        // What sums over tokens cannot be cut, and must say so.
        std::string error = differential(compiled, problem, run, magnitude);
        if (isUnsupported(error))
          continue;
        EXPECT_EQ(error, "") << shape.name << ", " << parts << " parts"
                             << (partial ? ", partial" : "");
      }
  }
}

TEST(Merge, SumsOverTokensSayWhyTheyAreNotCut) {
  const std::pair<const char *, const char *> cases[] = {
      {"scheme x { head 8 input y: f32 per token bias (sum l in j + 1 .. i: "
       "-abs(y[l])) mask causal }",
       "sums over the tokens between key and query, and a part of the keys "
       "does not know the others: give all keys in one call"},
      {"scheme x { head 8 input y: f32 per token in 0 .. 1 clock c = sum l <= "
       "j: y[l] bias -age(c) mask causal }",
       "sums over the tokens before each token (a running clock), and a part "
       "of the keys does not know the others: give all keys in one call, or "
       "declare the clock as given ('clock c: f64') and pass the sums"}};
  for (auto [source, why] : cases)
    for (int64_t queries : {1, 40}) {
      std::string error;
      Compiled compiled = compileBoth(source, {}, error);
      ASSERT_TRUE(compiled.kernel) << error;
      Random random(1);
      Problem problem = makeCall({"", 2, 1, {{queries, 40}}}, 8, 8, random);
      addPerToken(problem, "y", {}, false,
                  [&](int64_t, int64_t) { return random.uniform(0, 1); });
      RunOptions run;
      run.parts = 2;
      error = compiled.kernel->run(problem, run).error;
      EXPECT_EQ(error, std::string("unsupported: ") +
                           (queries == 1 ? "decode" : "prefill") +
                           ": sequence 0 is PARTIAL, but scheme 'x' " + why);
    }
}

// The mask and its inputs are behind the parts.
TEST(Merge, NeedsNoInputOfTheMask) {
  std::string error;
  Compiled compiled = compileBoth("scheme x { head 8 input prefix: i32 per "
                                  "sequence mask causal or j < prefix }",
                                  {}, error);
  ASSERT_TRUE(compiled.kernel) << error;
  CacheUser user(*compiled.kernel, {1, 1, 1, {TORSOR_CONTIGUOUS, 8}});
  std::vector<float> parts[2] = {std::vector<float>(8, 1),
                                 std::vector<float>(8, 3)};
  std::vector<float> lse(1), o(8);
  torsor_part given[2];
  for (int n : {0, 1})
    given[n] = {torsor_dense(parts[n].data(), TORSOR_F32, 1, 1, 1, 8),
                torsor_array(lse.data(), TORSOR_F32, 1, 1, 1)};
  torsor_call call = {};
  call.size = sizeof call;
  call.o = torsor_dense(o.data(), TORSOR_F32, 1, 1, 1, 8);
  call.parts = given;
  call.part_count = 2;
  ASSERT_EQ(torsor_run(user.instance, TORSOR_MERGE, &call, nullptr), TORSOR_OK)
      << torsor_error();
  EXPECT_EQ(o, std::vector<float>(8, 2));
}

} // namespace
