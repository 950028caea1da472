// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes x widths x types x shapes against the reference.
#include "test/e2e/Differential.h"

#include "test/e2e/Schemes.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <tuple>

using namespace torsor;
using namespace torsor::test;

namespace {

RunOptions optionsOf(const ShapeCase &shape) {
  return {shape.op, shape.layout, shape.threads, shape.appended};
}

/// All shapes of one compiled scheme.
void runShapes(
    const SchemeCase &scheme, int64_t head, int64_t value, torsor_dtype dtype,
    const std::string &target, const std::vector<ShapeCase> &shapes,
    void (*fillMore)(Problem &) = [](Problem &) {}) {
  std::string error, source = scheme.source(head);
  if (value != head)
    source.insert(source.find('{') + 1, " value " + std::to_string(value));
  KernelOptions options;
  options.head = head;
  options.value = value;
  options.dtype = dtype;
  options.target = target;
  Compiled compiled = compileBoth(source, options, error);
  ASSERT_TRUE(compiled.kernel) << source << "\n" << error;
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapes) {
    Random random(seed++);
    Problem problem = makeCall(shape, head, value, random);
    scheme.fill(problem, random);
    fillMore(problem);
    EXPECT_EQ(differential(compiled, problem, optionsOf(shape),
                           scheme.magnitude(head)),
              "")
        << source << "\n"
        << nameOf(dtype) << ", head " << head << ", value " << value
        << ", shape " << shape.name;
  }
}

std::vector<ShapeCase> shapesNamed(const std::vector<std::string> &names) {
  std::vector<ShapeCase> some;
  llvm::copy_if(shapeCases(), std::back_inserter(some),
                [&](const ShapeCase &shape) {
                  return llvm::is_contained(names, shape.name);
                });
  return some;
}

std::vector<ShapeCase> decodeShapes() {
  std::vector<ShapeCase> some;
  llvm::copy_if(
      shapeCases(), std::back_inserter(some),
      [](const ShapeCase &shape) { return shape.op == TORSOR_DECODE; });
  return some;
}

using SchemeParam = std::tuple<SchemeCase, torsor_dtype>;
class SchemeTest : public testing::TestWithParam<SchemeParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, SchemeTest,
    testing::Combine(testing::ValuesIn(schemeCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

// Every scheme at a width that vectors fill and at one that they do not.
TEST_P(SchemeTest, AgreesOnAllShapes) {
  auto [scheme, dtype] = GetParam();
  runShapes(scheme, 32, 32, dtype, "", shapeCases());
}

TEST_P(SchemeTest, AgreesAtAnOddWidth) {
  auto [scheme, dtype] = GetParam();
  std::vector<ShapeCase> some;
  for (const ShapeCase &shape : shapeCases())
    if (some.size() < 6 || shape.op == TORSOR_DECODE || shape.appended)
      some.push_back(shape);
  runShapes(scheme, 21, 13, dtype, "", some);
}

// What fades would grow. A turn does not, and its twin is run.
TEST(Positions, ThatRunBackwardsAreRefusedWhereSomethingFades) {
  struct {
    const char *action, *error;
  } cases[] = {
      {"split(rope(4, base = 100)) * decay(4, rate = 0.1)", "runs backwards"},
      {"jordan(decay(2, rate = 0.1), order = 2)", "runs backwards"},
      {"split(rope(4, base = 100))", ""}};
  for (const auto &[action, error] : cases)
    for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE}) {
      Compiled compiled = compileText(std::string("scheme x { action ") +
                                      action + " mask causal }");
      ASSERT_TRUE(compiled.kernel);
      Random random(1);
      Problem problem = makeCall({"", 2, 1, {{3, 9}}}, 4, 4, random);
      addPerToken(problem, "pos", {}, true,
                  [](int64_t, int64_t token) { return double(20 - token); });
      RunOptions run;
      run.op = op;
      std::string got = compiled.kernel->run(problem, run).error;
      EXPECT_EQ(got.empty(), !*error) << action << ": " << got;
      EXPECT_NE(got.find(error), std::string::npos) << got;
    }
}

// With each document, which sees no other, but not within one.
TEST(Positions, MayBeginAnewWhereNothingIsSeen) {
  for (auto [size, mask, error] :
       {std::tuple(3, "causal and doc[i] == doc[j]", ""),
        std::tuple(4, "causal and doc[i] == doc[j]", "runs backwards"),
        std::tuple(3, "causal and (doc[i] == doc[j] or j == 0)",
                   "runs backwards")})
    for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE, TORSOR_ATTEND}) {
      Compiled compiled = compileText(
          std::string("scheme x { input doc: i32 per token action decay(4, "
                      "rate = 0.1) mask ") +
          mask + " }");
      ASSERT_TRUE(compiled.kernel);
      Random random(1);
      Problem problem = makeCall({"", 2, 1, {{9, 9}}}, 4, 4, random);
      addPerToken(problem, "doc", {}, true, [size = size](int64_t, int64_t n) {
        return double(n / size);
      });
      addPerToken(problem, "pos", {}, true,
                  [](int64_t, int64_t token) { return double(token % 3); });
      RunOptions run;
      run.op = op;
      run.appended = op == TORSOR_ATTEND ? 3 : 0;
      std::string got = compiled.kernel->run(problem, run).error;
      EXPECT_EQ(got.empty(), !*error) << mask << ": " << got;
      EXPECT_NE(got.find(error), std::string::npos) << got;
    }
}

class RawKeyTest : public testing::TestWithParam<SchemeParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, RawKeyTest,
    testing::Combine(testing::ValuesIn(rawKeyCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

// Splits one after the other on one thread, of several heads and sequences;
// widths that vectors fill, or do not, on both levels.
TEST_P(RawKeyTest, Agrees) {
  auto [scheme, dtype] = GetParam();
  std::vector<ShapeCase> decodes = decodeShapes();
  decodes.push_back({"decode_long",
                     8,
                     2,
                     {{1, 1500}, {2, 700}},
                     Layout::Dense,
                     false,
                     5,
                     TORSOR_DECODE});
  runShapes(scheme, 96, 96, dtype, "", decodes);
  runShapes(scheme, 72, 32, dtype, "", decodes);
  if (dtype == TORSOR_F32)
    runShapes(scheme, 96, 96, dtype, "x86-64-v3", decodes);
}

/// Whether a call has positions already.
bool hasPositions(const Problem &problem) {
  return llvm::any_of(problem.arguments, [](const NamedArray &array) {
    return array.name == "pos";
  });
}

void giveGaps(Problem &problem) {
  if (!hasPositions(problem))
    addPositionsWithGaps(problem);
}

/// Steps of three, with a jump that is no step.
void giveSteps(Problem &problem) {
  if (!hasPositions(problem))
    addPerToken(problem, "pos", {}, true, [](int64_t row, int64_t token) {
      return double(3 * token + (token < 210 ? 0 : 1000 + row));
    });
}

std::string nameOfScheme(const testing::TestParamInfo<SchemeCase> &info) {
  return info.param.name;
}

class AtPositions : public testing::TestWithParam<SchemeCase> {};
INSTANTIATE_TEST_SUITE_P(All, AtPositions, testing::ValuesIn(schemeCases()),
                         nameOfScheme);

// What holds of indices alone must not be taken for what holds of positions.
TEST_P(AtPositions, Agrees) {
  runShapes(GetParam(), 32, 32, TORSOR_F32, "",
            shapesNamed({"prime", "tile_and_one", "few_ragged", "decode_batch",
                         "ragged_batch", "cached"}),
            giveGaps);
}

class InSteps : public testing::TestWithParam<SchemeCase> {};
INSTANTIATE_TEST_SUITE_P(All, InSteps, testing::ValuesIn(rawKeyCases()),
                         nameOfScheme);

// What is tabulated by steps must know their length, and where they break off.
TEST_P(InSteps, Agrees) {
  runShapes(GetParam(), 96, 96, TORSOR_F32, "", decodeShapes(), giveSteps);
  runShapes(GetParam(), 96, 96, TORSOR_F32, "", decodeShapes(), giveGaps);
}

using WidthParam = std::tuple<int64_t, torsor_dtype>;
class WidthTest : public testing::TestWithParam<WidthParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, WidthTest,
    testing::Combine(testing::Values<int64_t>(1, 2, 3, 4, 8, 15, 16, 17, 40, 64,
                                              80, 96, 128, 192, 256, 576, 1024),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) {
      return "d" + std::to_string(std::get<0>(info.param)) + "_" +
             nameOf(std::get<1>(info.param));
    });

// Widths 1 to 1024, the value's a different one.
TEST_P(WidthTest, RotationAgrees) {
  auto [width, dtype] = GetParam();
  std::vector<ShapeCase> some =
      shapesNamed({"prime", "odd", "decode_batch", "cached"});
  for (const SchemeCase &scheme : schemeCases())
    if (std::string(scheme.name) == "rope_split")
      runShapes(scheme, width, std::min<int64_t>(1024, width / 2 + 1), dtype,
                "", some);
}

// Every level that this machine can run, and all levels in one object.
TEST(Targets, Agree) {
  std::vector<ShapeCase> some = shapeCases();
  some.resize(8);
  for (const char *target : {"x86-64-v3", "x86-64"})
    for (const SchemeCase &scheme : schemeCases())
      if (std::string(scheme.name) == "rope_split" ||
          std::string(scheme.name) == "cap_and_sink" ||
          std::string(scheme.name) == "packed")
        runShapes(scheme, 64, 64, TORSOR_F32, target, some);
}

/// Results, to the bit, of one call made in different ways.
std::vector<double> bits(const Kernel &kernel, const Problem &problem,
                         RunOptions options) {
  RunResult result = kernel.run(problem, options);
  EXPECT_EQ(result.error, "");
  result.o.insert(result.o.end(), result.lse.begin(), result.lse.end());
  return result.o;
}

// The second sequence and those behind it are few queries, whose blocks pack
// keys themselves; the first one's keys are packed before.
TEST(Determinism, ThreadsAndCompanyChangeNothing) {
  std::string error;
  KernelOptions options;
  options.head = options.value = 32;
  Compiled compiled = compileBoth(
      "scheme x { action split(rope(32, base = 10_000)) mask last(100) }",
      options, error);
  ASSERT_TRUE(compiled.kernel) << error;
  Random random(3);
  ShapeCase shape{"", 4, 2, {{150, 300}, {1, 700}, {20, 20}, {60, 690}}};
  Problem batch = makeCall(shape, 32, 32, random);
  std::vector<double> one = bits(*compiled.kernel, batch, {});
  for (int64_t threads : {2, 3, 7}) {
    RunOptions run;
    run.threads = threads;
    EXPECT_EQ(largestDifference(one, bits(*compiled.kernel, batch, run)), 0)
        << threads << " threads";
  }
  for (size_t n = 0; n < batch.sequences.size(); ++n) {
    Problem alone = batch;
    alone.sequences = {batch.sequences[n]};
    std::vector<double> got = bits(*compiled.kernel, alone, {});
    int64_t tokens = batch.q.shape[2];
    const SequenceRun &run = batch.sequences[n];
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t t = 0; t < run.queryLength; ++t)
        for (int64_t c = 0; c < 32; ++c) {
          int64_t at = ((run.queryRow * 4 + h) * tokens + t) * 32 + c;
          ASSERT_EQ(got[at], one[at]) << "sequence " << n;
        }
  }
}

} // namespace
