// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code for AVX-512, with and without bf16 instructions, on any machine: its
// sixteen lanes and tiles as they are, the instructions that AVX2 lacks
// replaced (codegen/Emulate.h), and as it is where the CPU has bf16
// instructions, whether or not the core would choose it there. Against the
// reference, with the usual bounds.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <gtest/gtest.h>
#include <limits>
#include <tuple>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr const char *wide = "x86-64-v4/emulated";
constexpr const char *dot = "x86-64-v4+avx512bf16/emulated";
constexpr const char *native = "x86-64-v4+avx512bf16";

Compiled compileFor(const std::string &target, torsor_dtype dtype,
                    const std::string &text, int64_t head, int64_t value) {
  std::string error, source = text;
  if (value != head)
    source.insert(source.find('{') + 1, " value " + std::to_string(value));
  KernelOptions options;
  options.head = head;
  options.value = value;
  options.dtype = dtype;
  options.target = target;
  Compiled compiled = compileBoth(source, options, error);
  EXPECT_TRUE(compiled.kernel) << source << "\n" << error;
  return compiled;
}

void runShapes(const std::string &target, torsor_dtype dtype,
               const SchemeCase &scheme, int64_t head, int64_t value) {
  Compiled compiled =
      compileFor(target, dtype, scheme.source(head), head, value);
  if (!compiled.kernel)
    return;
  uint64_t seed = 1;
  for (const ShapeCase &shape : shapeCases()) {
    Random random(seed++);
    Problem problem = makeCall(shape, head, value, random);
    scheme.fill(problem, random);
    RunOptions run = {shape.op, shape.layout, shape.threads, shape.appended};
    EXPECT_EQ(differential(compiled, problem, run, scheme.magnitude(head)), "")
        << target << ", " << scheme.name << ", head " << head << ", value "
        << value << ", shape " << shape.name;
  }
}

using Param = std::tuple<const char *, torsor_dtype>;
class WideTest : public testing::TestWithParam<Param> {
  void SetUp() override {
    if (std::get<0>(GetParam()) == native &&
        !std::string(torsor_cpu()).ends_with("+avx512bf16"))
      GTEST_SKIP() << "this CPU has no bf16 instructions";
  }
};
INSTANTIATE_TEST_SUITE_P(All, WideTest,
                         testing::Values(Param{wide, TORSOR_F32},
                                         Param{wide, TORSOR_F16},
                                         Param{wide, TORSOR_BF16},
                                         Param{dot, TORSOR_BF16},
                                         Param{native, TORSOR_BF16}),
                         [](const auto &info) {
                           const char *target = std::get<0>(info.param);
                           return std::string(target == dot      ? "dot"
                                              : target == native ? "native"
                                                                 : "wide") +
                                  "_" + nameOf(std::get<1>(info.param));
                         });

TEST_P(WideTest, SchemesAgree) {
  auto [target, dtype] = GetParam();
  for (const SchemeCase &scheme : schemeCases())
    for (const char *name :
         {"rope_split", "rope_adjacent", "alibi", "cap_and_sink", "window",
          "only_later", "first_and_window", "packed", "dilated", "nobody"})
      if (std::string(scheme.name) == name)
        runShapes(target, dtype, scheme, 32, 32);
}

// Pairs and vectors that are not full, values in several panels.
TEST_P(WideTest, WidthsAgree) {
  auto [target, dtype] = GetParam();
  for (const SchemeCase &scheme : schemeCases())
    if (std::string(scheme.name) == "rope_split")
      for (auto [head, value] : {std::pair<int64_t, int64_t>{1, 1},
                                 {3, 2},
                                 {17, 5},
                                 {40, 64},
                                 {64, 80},
                                 {33, 144}})
        runShapes(target, dtype, scheme, head, value);
}

// A key that a row does not see never shows in it, whatever it holds: to the
// bit, on either side of a pair.
TEST_P(WideTest, HiddenKeysNeverShow) {
  auto [target, dtype] = GetParam();
  const int64_t width = 24, length = 90;
  Compiled compiled =
      compileFor(target, dtype, "scheme x { mask last(30) }", width, width);
  ASSERT_TRUE(compiled.kernel);
  Random random(5);
  Problem clean =
      makeCall({"", 2, 1, {{length, length}}}, width, width, random);
  RunOptions run;
  run.op = TORSOR_PREFILL;
  RunResult want = compiled.kernel->run(clean, run);
  ASSERT_EQ(want.error, "");
  for (int64_t bad : {0, 1, 46, 47, 88, 89})
    for (double poison : {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()}) {
      auto spoilt = [&](const HostArray &array) {
        std::vector<double> data(array.reals, array.reals + array.size());
        for (int64_t c = 0; c < width; ++c)
          data[bad * width + c] = poison;
        return HostArray::of(array.shape, std::move(data));
      };
      Problem problem = clean;
      problem.k = spoilt(clean.k);
      problem.v = spoilt(clean.v);
      RunResult got = compiled.kernel->run(problem, run);
      ASSERT_EQ(got.error, "");
      bool shown = false;
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < length; ++i)
          for (int64_t c = 0; c < width; ++c) {
            int64_t at = (h * length + i) * width + c;
            if (i < bad || i >= bad + 30)
              ASSERT_EQ(got.o[at], want.o[at])
                  << "row " << i << ", key " << bad;
            else
              shown |= got.o[at] != want.o[at];
          }
      EXPECT_TRUE(shown);
    }
}

} // namespace
