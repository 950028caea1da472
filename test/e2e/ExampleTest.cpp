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
#include <map>

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

/// A name without its numbers: the layers of a stack that differ by a number
/// are one scheme many times.
std::string withoutNumbers(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

/// All schemes without open arguments; of those that differ by numbers alone,
/// the first three.
std::vector<Example> examples() {
  fs::current_path(TORSOR_TEST_SCHEMES); // imports are looked up there
  std::vector<Example> all;
  for (const auto &entry : fs::directory_iterator(TORSOR_TEST_SCHEMES)) {
    SourceOptions options;
    options.head = options.value = 64;
    SchemeModule module =
        parseSource(read(entry.path()), options, entry.path().string());
    std::map<std::string, int> alike;
    if (module.module)
      for (SchemeOp scheme : module.module->getOps<SchemeOp>())
        if (++alike[withoutNumbers(scheme.getSymName().str())] <= 3)
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

/// Few tokens: prefilled, decoded, and read from a cache.
std::vector<ShapeCase> nearShapes() {
  return {
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
}

/// Fewer for the types of 16 bits, whose loops are those of f32.
std::vector<ShapeCase> halfShapes() {
  return {
      {"prefill", 4, 2, {{33, 33}}, Layout::Padded, false, 0, TORSOR_PREFILL},
      {"cached",
       2,
       1,
       {{3, 41}, {1, 30}},
       Layout::Dense,
       true,
       0,
       TORSOR_ATTEND,
       1,
       8}};
}

/// Where positions matter: tokens on either side of a chunk, and of a period,
/// of 8192 and 16384.
std::vector<ShapeCase> farShapes() {
  return {{"across 8192", 2, 1, {{40, 64}}, Layout::Dense, false, 8150},
          {"across 16384", 2, 1, {{40, 64}}, Layout::Dense, false, 16350}};
}

/// Compares the scheme's kernels with the reference on calls of these shapes.
void compareCalls(const Example &example, torsor_dtype dtype,
                  const std::vector<ShapeCase> &shapes) {
  fs::path path = fs::path(TORSOR_TEST_SCHEMES) / (example.file + ".torsor");
  std::string error;
  KernelOptions options;
  options.scheme = example.scheme;
  options.head = options.value = 64;
  options.dtype = dtype;
  Compiled compiled = compileBoth(read(path), options, error);
  if (!compiled.kernel &&
      error.find("no kernel for this yet") != std::string::npos) {
    size_t at = error.find("no kernel");
    GTEST_SKIP() << error.substr(at, error.find('\n', at) - at);
  }
  ASSERT_TRUE(compiled.kernel) << error;
  SchemeOp scheme = compiled.module.scheme(example.scheme);
  if (scheme.getOps<MaskOp>().empty())
    GTEST_SKIP() << "an embedding alone attends to nothing";
  int64_t head = compiled.kernel->info().head,
          value = compiled.kernel->info().value;
  uint64_t seed = 1;
  std::vector<ShapeCase> calls = shapes;
  bool readsLength = false;
  scheme.walk(
      [&](AmbientOp op) { readsLength |= op.getKind() == Ambient::Length; });
  bool sums = !scheme.getOps<PathTotalOp>().empty(); // of cubic cost
  if (readsLength && !sums) // a batch on both sides of the usual trained length
    calls.push_back({"both sides of 4096", 2, 1, {{2, 4500}, {3, 60}}});
  for (const ShapeCase &shape : calls) {
    Random random(seed++);
    Problem problem = makeCall(shape, head, value, random);
    if (scheme.getValueLow())
      problem.v = {};
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

TEST_P(ExampleTest, AgreesWithTheReference) {
  compareCalls(GetParam(), TORSOR_F32, nearShapes());
}

TEST_P(ExampleTest, AgreesFarFromTheStart) {
  compareCalls(GetParam(), TORSOR_F32, farShapes());
}

TEST_P(ExampleTest, AgreesInBf16) {
  compareCalls(GetParam(), TORSOR_BF16, halfShapes());
}

TEST_P(ExampleTest, AgreesInF16) {
  compareCalls(GetParam(), TORSOR_F16, halfShapes());
}

} // namespace
