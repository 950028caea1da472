// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over paths, and linear readouts.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <tuple>

using namespace torsor;
using namespace torsor::test;

namespace {

/// All shapes but the longest: the reference walks every path of every pair.
/// Two tiles of keys are among them, and several splits of a decode.
std::vector<ShapeCase> anyShapes() {
  std::vector<ShapeCase> shapes;
  for (const ShapeCase &shape : shapeCases()) {
    int64_t most = 0;
    for (auto [queries, keys] : shape.lengths)
      most = std::max(most, queries * keys * keys);
    if (most > 100 * 300 * 300)
      continue;
    shapes.push_back(shape);
  }
  return shapes;
}

using PathParam = std::tuple<SchemeCase, torsor_dtype, int64_t>;
class PathTest : public testing::TestWithParam<PathParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, PathTest,
    testing::Combine(testing::ValuesIn(pathCases()),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16),
                     testing::Values<int64_t>(21)),
    [](const auto &info) {
      return nameOfParam(info) + "_" + std::to_string(std::get<2>(info.param));
    });

TEST_P(PathTest, AgreesOnAllShapes) {
  auto [scheme, dtype, width] = GetParam();
  Compiled compiled = compileText(scheme.source(width), dtype, width);
  ASSERT_TRUE(compiled.kernel);
  uint64_t seed = 1;
  for (const ShapeCase &shape : anyShapes()) {
    Random random(seed++);
    Problem problem = makeCall(shape, width, width, random);
    scheme.fill(problem, random);
    RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
    EXPECT_EQ(differential(compiled, problem, run, scheme.magnitude(width)), "")
        << shape.name;
  }
}

/// Keys and queries of one sequence at given indices.
Problem placedKeys(const SchemeCase &scheme, std::vector<int64_t> indices,
                   int64_t queries) {
  Random random(5);
  int64_t keys = int64_t(indices.size());
  Problem problem = makeCall({"", 2, 1, {{queries, keys}}}, 21, 21, random);
  scheme.fill(problem, random);
  problem.keyIndices = HostArray::of({1, keys}, indices);
  problem.queryIndices =
      HostArray::of({1, queries}, std::vector<int64_t>(indices.end() - queries,
                                                       indices.end()));
  SequenceRun &run = problem.sequences[0];
  run.placed = true;
  run.total = *std::max_element(indices.begin(), indices.end()) + 1;
  return problem;
}

// The kernel walks the keys as they lie.
TEST(Paths, NeedKeysInTheOrderOfTheirIndices) {
  for (const SchemeCase &scheme : pathCases()) {
    Compiled compiled = compileText(scheme.source(21), TORSOR_F32, 21);
    ASSERT_TRUE(compiled.kernel);
    for (int64_t queries : {1, 3})
      for (int64_t appended : {0, 4}) {
        RunOptions run{TORSOR_ATTEND, Layout::Dense, 1, appended};
        Problem rising =
            placedKeys(scheme, {0, 2, -1, 3, 7, 8, 11, 12}, queries);
        EXPECT_EQ(differential(compiled, rising, run, scheme.magnitude(21)), "")
            << scheme.name << " " << queries << " " << appended;
        for (std::vector<int64_t> indices :
             {std::vector<int64_t>{0, 3, 2, 4, 7, 8, 11, 12},
              std::vector<int64_t>{0, 2, 3, 3, 7, 8, 11, 12}}) {
          RunResult result =
              compiled.kernel->run(placedKeys(scheme, indices, queries), run);
          EXPECT_EQ(result.status, TORSOR_UNSUPPORTED);
          EXPECT_NE(result.error.find("keys in the order of their indices"),
                    std::string::npos)
              << scheme.name << ": " << result.error;
        }
      }
  }
}

/// A linear readout whose weights are at most `weight`, and change by at most
/// `slope` times what the score does.
struct LinearCase {
  const char *name;
  const char *body;
  double weight, slope;
};

const LinearCase linearCases[] = {
    {"plain", "mask causal readout linear", 32, 1},
    {"rotated",
     "action split(rope(32, base = 10_000)) mask last(50) readout linear / (1 "
     "+ "
     "abs(total))",
     32, 1},
    {"sigmoid",
     "logit sigmoid(score / sqrt(D)) mask causal readout linear / max(1, "
     "total)",
     1, 1},
    {"relu", "logit max(0, score / sqrt(D)) mask all readout linear", 32, 1},
    {"power",
     "logit (score / sqrt(D)) ^ 2 mask causal readout linear / (total + 1)", 36,
     12},
};

using LinearParam = std::tuple<LinearCase, torsor_dtype>;
class LinearTest : public testing::TestWithParam<LinearParam> {};
INSTANTIATE_TEST_SUITE_P(
    All, LinearTest,
    testing::Combine(testing::ValuesIn(linearCases),
                     testing::Values(TORSOR_F32, TORSOR_BF16, TORSOR_F16)),
    [](const auto &info) { return nameOfParam(info); });

TEST_P(LinearTest, AgreesOnAllShapesAndInParts) {
  auto [one, dtype] = GetParam();
  std::string source = std::string("scheme x { head 32 ") + one.body + " }";
  Compiled compiled = compileText(source, dtype, 32);
  ASSERT_TRUE(compiled.kernel);
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapeCases()) {
    Random random(seed++);
    Problem problem = makeCall(shape, 32, 32, random);
    RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
    Magnitude magnitude;
    magnitude.weight = one.weight, magnitude.slope = one.slope;
    EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
        << shape.name;
    if (shape.appended || shape.op != TORSOR_ATTEND)
      continue;
    run.parts = 3;
    magnitude.results = 2;
    EXPECT_EQ(differential(compiled, problem, run, magnitude), "")
        << shape.name << " in parts";
  }
}

// Every level of the machine, for terms that have code of their own.
std::vector<SchemeCase> allCases() {
  std::vector<SchemeCase> cases = termCases(), more = pathCases();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

class TermTargets : public testing::TestWithParam<SchemeCase> {};
INSTANTIATE_TEST_SUITE_P(All, TermTargets, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

// An object for all machines holds them as well; a width of whole vectors.
TEST_P(TermTargets, Agree) {
  SchemeCase scheme = GetParam();
  constexpr int64_t width = 32;
  Compiled compiled =
      compileText(scheme.source(width), TORSOR_F32, width, "x86-64");
  ASSERT_TRUE(compiled.kernel);
  std::vector<ShapeCase> some = anyShapes();
  some.resize(3);
  uint64_t seed = 1;
  for (const ShapeCase &shape : some) {
    Random random(seed++);
    Problem problem = makeCall(shape, width, width, random);
    scheme.fill(problem, random);
    RunOptions run{shape.op, shape.layout, shape.threads, shape.appended};
    EXPECT_EQ(differential(compiled, problem, run, scheme.magnitude(width)), "")
        << shape.name;
  }
}

/// Numbers of all sizes between `low` and `high`, as f32.
std::vector<double> numbersBetween(double low, double high, Random &random) {
  std::vector<double> numbers = {low, high, 0};
  for (int n = 0; n < 2000; ++n) {
    double size = std::pow(10, random.uniform(-30, 30));
    double number = n % 4 == 0   ? random.uniform(-1, 1)
                    : n % 4 == 1 ? random.uniform(-50, 50)
                    : n % 4 == 2 ? size
                                 : -size;
    if (number >= low && number <= high)
      numbers.push_back(number);
  }
  for (double &number : numbers)
    number = float(number);
  return numbers;
}

// A row that sees one key alone has its logit as LSE.
TEST(Functions, OfPairsAreExactToAFewUnits) {
  struct {
    const char *text; // up to its argument, whose parentheses are closed
    double (*f)(double);
    double low, high;
    const char *end = ")";
  } functions[] = {
      {"exp(", [](double x) { return std::exp(x); }, -85, 88},
      {"log1p(max(-0.9999999, ", [](double x) { return std::log1p(x); },
       -0.9999999, 3e38, "))"},
      {"softplus(",
       [](double x) {
         return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
       },
       -80, 1e30},
      {"sigmoid(", [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 1e30},
      {"floor(", [](double x) { return std::floor(x); }, -2e9, 2e9},
      {"sin(", [](double x) { return std::sin(x); }, -1e4, 1e4},
      {"cos(", [](double x) { return std::cos(x); }, -1e4, 1e4},
      {"max(0, ", [](double x) { return std::pow(x, 1.75); }, 0, 1e21,
       ") ^ 1.75"},
      {"(", [](double x) { return std::pow(x, 3); }, -1e9, 1e9, ") ^ 3"},
      {"(1 + abs(", [](double x) { return std::pow(1 + std::fabs(x), -0.375); },
       -1e30, 1e30, ")) ^ -0.375"},
      {"1.5 ^ (", [](double x) { return std::pow(1.5, x); }, -200, 200},
  };
  for (const auto &function : functions)
    for (const char *target : {"", "x86-64-v3"}) {
      Random random(7);
      std::vector<double> numbers =
          numbersBetween(function.low, function.high, random);
      int64_t count = int64_t(numbers.size());
      Compiled compiled = compileText(
          std::string("scheme x { head 1 input a, one: f32 per token logit ") +
              function.text + "a[i] * one[j]" + function.end + " mask i == j }",
          TORSOR_F32, 1, target);
      ASSERT_TRUE(compiled.kernel);
      Problem problem = makeCall({"", 1, 1, {{count, count}}}, 1, 1, random);
      addPerToken(problem, "a", {}, false, [&](int64_t, int64_t token) {
        return numbers[size_t(token)];
      });
      addPerToken(problem, "one", {}, false,
                  [](int64_t, int64_t) { return 1; });
      RunResult result = compiled.kernel->run(problem, {});
      ASSERT_EQ(result.error, "");
      for (size_t n = 0; n < numbers.size(); ++n) {
        double want = function.f(numbers[n]);
        EXPECT_NEAR(result.lse[n], want, 6e-7 * std::fabs(want) + 1e-37)
            << function.text << " of " << numbers[n] << " " << target;
      }
    }
}

// Biases by age are tabulated in f64. A row sees the first key alone, at the
// age of its own number, and no product: its bias is its LSE.
TEST(Functions, OfAgesAreExactInTables) {
  for (double rate : {0.37, 1e6 + 0.1, 3e11, 0x1p46 + 0.3})
    for (const char *name : {"sin", "cos"})
      for (const char *target : {"", "x86-64-v3"}) {
        SCOPED_TRACE(std::string(name) + " of " + std::to_string(rate));
        Compiled compiled = compileText(
            std::string("scheme x { head 1 bias ") + name + "(age * " +
                std::to_string(rate) + ") mask t == 0 and causal }",
            TORSOR_F32, 1, target);
        ASSERT_TRUE(compiled.kernel);
        Random random(7);
        int64_t count = 400;
        Problem problem = makeCall({"", 1, 1, {{count, count}}}, 1, 1, random);
        problem.q = HostArray::of(problem.q.shape,
                                  std::vector<double>(size_t(count), 0.0));
        RunResult result =
            compiled.kernel->run(problem, {.op = TORSOR_PREFILL});
        ASSERT_EQ(result.error, "");
        for (int64_t age = 0; age < count; ++age) {
          double angle = double(age) * rate;
          double want = *name == 's' ? std::sin(angle) : std::cos(angle);
          EXPECT_NEAR(result.lse[size_t(age)], want, 1.3e-7) << age;
        }
      }
}

} // namespace
