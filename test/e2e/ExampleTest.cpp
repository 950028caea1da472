// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every scheme of examples/schemes, compiled and compared with the reference.
#include "test/e2e/Arguments.h"
#include "test/e2e/Differential.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace torsor;
using namespace torsor::test;
namespace fs = std::filesystem;

namespace {

struct Example {
  std::string file, scheme;
};

std::string read(const fs::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All schemes without open arguments.
std::vector<Example> examples() {
  fs::current_path(TORSOR_TEST_SCHEMES); // imports are looked up there
  std::vector<Example> all;
  for (const auto &entry : fs::directory_iterator(TORSOR_TEST_SCHEMES)) {
    SourceOptions options;
    options.head = options.value = 64;
    SchemeModule module =
        parseSource(read(entry.path()), options, entry.path().string());
    if (module.module)
      for (SchemeOp scheme : module.module->getOps<SchemeOp>())
        all.push_back(
            {entry.path().stem().string(), scheme.getSymName().str()});
  }
  std::sort(all.begin(), all.end(), [](const Example &a, const Example &b) {
    return std::tie(a.file, a.scheme) < std::tie(b.file, b.scheme);
  });
  return all;
}

class ExampleTest : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(All, ExampleTest, testing::ValuesIn(examples()),
                         [](const auto &info) {
                           return info.param.file + "_" + info.param.scheme;
                         });

/// The largest |logit| and how far a score is stretched by the scale, as the
/// reference traces them.
Magnitude measure(const Output &traced, int64_t width) {
  Magnitude magnitude;
  magnitude.scale = 1 / std::sqrt(double(width));
  for (const auto &pairs : traced.pairs)
    for (const PairTrace &pair : pairs)
      if (pair.visible && std::isfinite(pair.logit))
        magnitude.bias = std::max(magnitude.bias, std::fabs(pair.logit));
  // Whatever the scheme makes of the score, its rounding is that of |q| |k|.
  magnitude.scale = std::max(magnitude.scale, 1.0);
  return magnitude;
}

TEST_P(ExampleTest, AgreesWithTheReference) {
  fs::path path = fs::path(TORSOR_TEST_SCHEMES) / (GetParam().file + ".torsor");
  std::string error;
  KernelOptions options;
  options.scheme = GetParam().scheme;
  options.head = options.value = 64;
  Compiled compiled = compileBoth(read(path), options, error);
  if (!compiled.kernel &&
      error.find("no kernel for this yet") != std::string::npos) {
    size_t at = error.find("no kernel");
    GTEST_SKIP() << error.substr(at, error.find('\n', at) - at);
  }
  ASSERT_TRUE(compiled.kernel) << error;
  SchemeOp scheme = compiled.module.scheme(GetParam().scheme);
  if (scheme.getOps<MaskOp>().empty())
    GTEST_SKIP() << "an embedding alone attends to nothing";
  if (scheme.getValueLow())
    GTEST_SKIP() << "the calls of this test have values of their own";
  int64_t head = compiled.kernel->info().head,
          value = compiled.kernel->info().value;
  const ShapeCase shapes[] = {
      {"prefill", 4, 2, {{70, 70}}, Layout::Padded, false, 0, TORSOR_PREFILL},
      {"decode", 4, 2, {{1, 150}, {2, 33}}},
      {"cached",
       2,
       1,
       {{3, 41}, {17, 30}},
       Layout::Dense,
       true,
       0,
       TORSOR_ATTEND,
       2,
       8}};
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapes) {
    Random random(seed++);
    Problem problem = makeCall(shape, head, value, random);
    fillArguments(scheme, problem, random);
    Problem traced = compiled.kernel->rounded(problem);
    traced.trace = true;
    auto output = evaluate(scheme, traced);
    ASSERT_TRUE(bool(output)) << toString(output.takeError());
    EXPECT_EQ(
        differential(compiled, problem,
                     {shape.op, shape.layout, shape.threads, shape.appended},
                     measure(*output, head)),
        "")
        << shape.name;
  }
}

} // namespace
