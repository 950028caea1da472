// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Phases in narrow types and at far positions, by case, on compiled kernels.
#include "test/e2e/AppendedKeys.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace torsor;
using namespace torsor::test;

namespace {

Compiled compiled(const std::string &text, torsor_dtype dtype = TORSOR_F32) {
  std::string error;
  KernelOptions options;
  options.dtype = dtype;
  Compiled result = compileBoth(text, options, error);
  EXPECT_TRUE(result.kernel) << text << "\n" << error;
  return result;
}

std::string rope(int width, const char *base) {
  return "scheme x { action split(rope(" + std::to_string(width) +
         ", base = " + base + ")) mask causal }";
}

std::vector<int64_t> upTo(int64_t count, int64_t first = 0) {
  std::vector<int64_t> list(count);
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST(FieldKernel, PRC_01_AnglesAreNotHalves) {
  Compiled kernel = compiled(rope(32, "10_000"), TORSOR_F16);
  ASSERT_TRUE(kernel.kernel);
  std::vector<double> table =
      Appender(*kernel.kernel).keys(unitKeys(2048, 32), upTo(2048));
  EXPECT_NEAR(table[1857 * 32 + 1], 0.30669280981876773, 1e-3);
  for (int64_t n = 0; n < 2048; ++n)
    for (int64_t p = 0; p < 16; ++p) {
      double angle = double(n) * std::pow(10000.0, -double(p) / 16);
      ASSERT_NEAR(table[n * 32 + p], std::cos(angle), 0x1p-11) << n;
      ASSERT_NEAR(table[n * 32 + 16 + p], std::sin(angle), 0x1p-11) << n;
    }
}

TEST(FieldKernel, PRC_03_NothingIsRegrown) {
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16}) {
    Compiled kernel = compiled(rope(64, "10_000"), dtype);
    ASSERT_TRUE(kernel.kernel);
    Appender appender(*kernel.kernel);
    std::vector<double> all = appender.keys(unitKeys(8192, 64), upTo(8192)),
                        last = appender.keys(unitKeys(1, 64), {8191}),
                        first = appender.keys(unitKeys(4096, 64), upTo(4096));
    EXPECT_TRUE(std::equal(last.begin(), last.end(), all.end() - 64));
    EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  }
}

TEST(FieldKernel, PRC_05_TypesDoNotSpoilEachOther) {
  Compiled wide = compiled(rope(64, "10_000")),
           narrow = compiled(rope(64, "10_000"), TORSOR_BF16);
  ASSERT_TRUE(wide.kernel && narrow.kernel);
  Appender f32(*wide.kernel), bf16(*narrow.kernel);
  HostArray k = unitKeys(2048, 64);
  std::vector<double> before = f32.keys(k, upTo(2048));
  bf16.keys(k, upTo(2048));
  EXPECT_EQ(f32.keys(k, upTo(2048)), before);
}

TEST(FieldKernel, PRC_07_SlowPairsDoNotVanish) {
  for (auto [base, frequency] : {std::pair{"1e6", 1.2409377607517195e-06},
                                 {"1e8", 1.333521432163324e-08}}) {
    Compiled kernel = compiled(rope(128, base), TORSOR_F16);
    ASSERT_TRUE(kernel.kernel);
    std::vector<double> row =
        Appender(*kernel.kernel).keys(unitKeys(1, 128), {100000});
    double sine = std::sin(100000 * frequency);
    EXPECT_NEAR(row[127], sine, 0x1p-11 * sine + 1.2e-7) << base;
  }
}

TEST(FieldKernel, SCL_11_GainOfEveryLength) {
  const char *text =
      "scheme x { let f = spectrum(96, base = 10_000) let w = if N > 4096 "
      "then divided(f, by = [for p < 48: 2.0]) else f action "
      "gain(split(rotation(w)), by = longrope_gain(32, trained = 4096)) + "
      "zero(32) mask causal }";
  Compiled kernel = compiled(text);
  ASSERT_TRUE(kernel.kernel);
  constexpr double gain = 1.1902380714238083;
  for (int64_t length : {16, 5000}) {
    // One key of unit rotated lanes against itself: gain² of its length, and
    // passive lanes as they are.
    Problem problem = makeProblem(
        {1, 1, 1, 1, 128, 128}, [](auto, auto, auto) { return 1; },
        [](auto, auto, auto) { return 1; }, [](auto, auto, auto) { return 1; });
    place(problem, length - 1, length - 1, length);
    RunResult result = kernel.kernel->run(problem, {});
    ASSERT_EQ(result.error, "");
    EXPECT_NEAR(result.lse[0] * std::sqrt(128.0), 96 * gain * gain + 32, 1e-4)
        << length;
  }
  Compiled none =
      compiled("scheme x { action gain(split(rope(4, base = 100)), by = "
               "longrope_gain(1, trained = 4096)) mask causal }");
  ASSERT_TRUE(none.kernel);
  std::vector<double> row = Appender(*none.kernel).keys(unitKeys(1, 4), {0});
  EXPECT_EQ(row, (std::vector<double>{1, 1, 0, 0}));
}

TEST(FieldKernel, SCL_17_NoTableEnds) {
  const char *spectra[] = {
      "linear(spectrum(16, base = 10_000), factor = 4)",
      "ntk(spectrum(16, base = 10_000), alpha = 4)",
      "dynamic_ntk(spectrum(16, base = 10_000), factor = 4, trained = 16, "
      "length = N)",
      "yarn(16, base = 10_000, factor = 4, trained = 16)",
      "llama3(spectrum(16, base = 10_000), factor = 4, low = 1, high = 4, "
      "trained = 16)"};
  for (const char *spectrum : spectra) {
    Compiled kernel = compiled("scheme x { action split(rotation(" +
                               std::string(spectrum) + ")) mask causal }");
    ASSERT_TRUE(kernel.kernel);
    for (int64_t position : {15, 16, 63, 64, 1000}) {
      ShapeCase shape{"", 1, 1, {{2, 2}}, Layout::Guarded};
      shape.firstKey = position - 1;
      Random random(1);
      EXPECT_EQ(differential(kernel, makeCall(shape, 16, 16, random),
                             {TORSOR_ATTEND, Layout::Guarded}, {}),
                "")
          << spectrum << " " << position;
    }
  }
}

TEST(FieldKernel, LAY_07_LayoutIsOfTheUse) {
  Compiled own = compiled("scheme x { action adjacent(rope(8, base = 10_000)) "
                          "mask causal }"),
           selector = compiled("scheme x { action split(rope(8, base = "
                               "10_000)) + zero(8) mask causal }");
  ASSERT_TRUE(own.kernel && selector.kernel);
  Random random(2);
  ShapeCase shape{"", 2, 1, {{6, 12}}};
  EXPECT_EQ(differential(own, makeCall(shape, 8, 8, random), {}, {}), "");
  EXPECT_EQ(differential(selector, makeCall(shape, 16, 16, random), {}, {}),
            "");
}

TEST(FieldKernel, LAY_11_AxesAreDeclared) {
  Compiled kernel =
      compiled("scheme x { action split(rope(8, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  for (auto [heads, tokens] : {std::pair<int64_t, int64_t>{3, 5}, {4, 4}}) {
    Random random(3);
    ShapeCase shape{"", heads, heads, {{tokens, tokens}, {tokens, tokens}}};
    Problem problem = makeCall(shape, 8, 8, random);
    for (Layout layout : {Layout::Dense, Layout::TokenMajor})
      EXPECT_EQ(differential(kernel, problem, {TORSOR_ATTEND, layout}, {}), "")
          << heads << " x " << tokens;
  }
}

} // namespace
