// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frequencies, gains and layouts that other systems got wrong, by case.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

using namespace torsor;
using namespace torsor::test;

namespace {

/// Element n, to the nine digits that the case gives.
void expectNear(const Numbers &got, size_t n, double want) {
  ASSERT_GT(got.size(), n);
  EXPECT_NEAR(got[n], want, 2e-9 * want) << "pair " << n;
}

std::string refusal(const std::string &text) {
  SchemeModule module = parseSource(text);
  EXPECT_NE(module.error, "") << "accepted: " << text;
  return module.error;
}

/// exp(X) x at position p against a query at 0.
Numbers turned(const std::string &action, Numbers x, int64_t p) {
  int64_t width = int64_t(x.size());
  Problem problem = probe({0}, {p}, width, width);
  problem.groups = 1;
  Numbers units(width * width, 0.0);
  for (int64_t n = 0; n < width; ++n)
    units[n * width + n] = 1;
  problem.q = HostArray::of({1, width, 1, width}, units);
  problem.k = problem.v = HostArray::of({1, 1, 1, width}, x);
  return scoresOf("scheme x { action " + action + " mask all }", problem);
}

TEST(Field, CFG_03_BandsNeedAllTheirKeys) {
  Numbers f = frequencies("llama3(spectrum(64, base = 500_000), factor = 32, "
                          "low = 1, high = 4, trained = 8192)");
  expectNear(f, 14, 0.00321144599);
  expectNear(f, 16, 0.000429556797);
  expectNear(f, 18, 1.94616382e-05);
  expectNear(f, 31, 9.41830673e-08);
  const char *keys[] = {"factor = 32", "low = 1", "high = 4", "trained = 8192"};
  for (const char *left : keys) {
    std::string call = "llama3(spectrum(64, base = 500_000)";
    for (const char *key : keys)
      if (key != left)
        call += std::string(", ") + key;
    std::string name = std::string(left).substr(0, std::string(left).find(' '));
    EXPECT_NE(refusal("scheme x { action split(rotation(" + call +
                      "))) mask causal }")
                  .find("'" + name + "'"),
              std::string::npos)
        << left;
  }
}

TEST(Field, CFG_15_WidthsThatDoNotFit) {
  EXPECT_NE(
      refusal("scheme x { action split(rope(65, base = 1e4)) mask causal }")
          .find("65"),
      std::string::npos);
  EXPECT_NE(refusal("scheme x { head 65 action split(rope(33, base = 1e4)) + "
                    "zero(32) mask causal }")
                .find("33"),
            std::string::npos);
  EXPECT_NE(
      refusal("scheme x { head 65 action split(rope(66, base = 1e4)) mask "
              "causal }")
          .find("66"),
      std::string::npos);
  SchemeModule good =
      parseSource("scheme x { head 65 action split(rope(32, base "
                  "= 1e4)) + zero(33) mask causal }");
  EXPECT_EQ(good.error, "");
  EXPECT_NE(
      refusal("scheme x { action split(rope(0, base = 1e4)) mask causal }"),
      "");
}

TEST(Field, CFG_19_DivisorsCountThePairs) {
  auto list = [](int count) {
    std::string text = "[1.0";
    for (int n = 1; n < count; ++n)
      text += ", 1.0";
    return "scheme x { action split(rotation(divided(spectrum(96, base = 1e4), "
           "by = " +
           text + "]))) + zero(32) mask causal }";
  };
  EXPECT_EQ(parseSource(list(48)).error, "");
  for (int wrong : {64, 47})
    EXPECT_NE(refusal(list(wrong)).find(std::to_string(wrong)),
              std::string::npos);
}

TEST(Field, SCL_01_TruncationOfTheRamp) {
  auto yarn = [](const char *more) {
    return frequencies(std::string("yarn(64, base = 150_000, factor = 32, "
                                   "trained = 4096") +
                       more + ")");
  };
  Numbers loose = yarn(", truncate = false"), tight = yarn(", truncate = true");
  expectNear(loose, 9, 0.0317056962);
  expectNear(loose, 12, 0.00679495949);
  expectNear(loose, 17, 0.000129318701);
  expectNear(tight, 9, 0.0316207523);
  expectNear(tight, 12, 0.00701571391);
  expectNear(tight, 17, 0.000227947796);
  EXPECT_EQ(tight, yarn(""));
  for (size_t same : {7, 18})
    EXPECT_EQ(loose[same], tight[same]);
  expectNear(loose, 7, 0.0737445682);
  expectNear(loose, 18, 3.83088124e-05);
  EXPECT_NEAR(number("yarn_gain(32)"), 1.3465735902799727, 1e-15);
}

TEST(Field, SCL_03_BoundsInOrder) {
  std::string error = refusal(
      "scheme x { action split(rotation(yarn(64, base = 150_000, factor "
      "= 32, trained = 4096, fast = 1, slow = 32))) mask causal }");
  EXPECT_NE(error.find("fast"), std::string::npos);
  Numbers f = frequencies("spectrum(64, base = 50_000)");
  for (const char *truncate : {"true", "false"}) {
    Numbers step = frequencies(
        std::string("yarn(64, base = 50_000, factor = 32, trained = 4096, fast "
                    "= 1, slow = 1, truncate = ") +
        truncate + ")");
    for (size_t p = 0; p < f.size(); ++p)
      EXPECT_NEAR(step[p], p <= 19 ? f[p] : f[p] / 32, 1e-15 * f[p]) << p;
  }
}

TEST(Field, SCL_05_DynamicBase) {
  for (auto [length, base] : {std::pair{8192, 7453.483031811892},
                              {4096, 3108.2236667168813},
                              {2048, 1000.0}}) {
    Numbers f =
        frequencies("dynamic_ntk(spectrum(64, base = 1000), factor = 2, "
                    "trained = 2048, length = " +
                    std::to_string(length) + ")");
    for (size_t p = 0; p < f.size(); ++p)
      EXPECT_NEAR(f[p], std::pow(base, -2.0 * p / 64), 1e-13 * f[p]);
  }
}

TEST(Field, SCL_07_LengthIsNotRemembered) {
  // One scheme, three calls of other lengths.
  const char *text =
      "scheme x { action split(rotation(dynamic_ntk(spectrum(128, base = "
      "10_000), factor = 2, trained = 2048, length = N))) mask causal }";
  auto scores = [&](int64_t length) {
    Problem problem = makeRandom({1, 1, 2, 40, 128, 128}, 5);
    place(problem, length - 2, length - 40, length);
    return scoresOf(text, problem);
  };
  Numbers first = scores(100), between = scores(4096), again = scores(100);
  EXPECT_EQ(first, again);
  EXPECT_GT(largestDifference(first, between), 1e-3);
}

TEST(Field, SCL_09_ListsSwitchStrictlyAbove) {
  auto cosines = [](int64_t length) {
    Problem problem = probe({0}, {1}, 1, 4);
    problem.sequences[0].total = length;
    problem.q = problem.k = HostArray::of({1, 1, 1, 4}, Numbers{1, 0, 0, 0});
    return scoresOf(
               "scheme x { let f = spectrum(4, base = 100) let w = if N > 4 "
               "then divided(f, by = [2, 4]) else divided(f, by = [1, 1]) "
               "action gain(split(rotation(w)), by = longrope_gain(4, "
               "trained = 4)) mask all }",
               problem)
        .at(0);
  };
  EXPECT_NEAR(cosines(3), 2 * std::cos(1.0), 1e-14);
  EXPECT_NEAR(cosines(4), 2 * std::cos(1.0), 1e-14);
  EXPECT_NEAR(cosines(5), 2 * std::cos(0.5), 1e-14);
  EXPECT_NEAR(number("longrope_gain(4, trained = 4)"), 1.4142135623730951,
              1e-15);
}

TEST(Field, SCL_13_Bands) {
  Numbers f = frequencies("spectrum(64, base = 500_000)");
  Numbers g =
      frequencies("llama3(spectrum(64, base = 500_000), factor = 32, low "
                  "= 1, high = 4, trained = 8192)");
  for (size_t p = 0; p < 32; ++p) {
    double kept = g[p] / f[p];
    if (p <= 14)
      EXPECT_NEAR(kept, 1, 1e-15);
    else if (p >= 18)
      EXPECT_NEAR(kept, 1.0 / 32, 1e-16);
    else
      EXPECT_TRUE(kept > 1.0 / 32 && kept < 1);
  }
  expectNear(g, 15, 0.00129054793);
  expectNear(g, 17, 9.7082878e-05);
}

TEST(Field, SCL_15_GainOnEveryToken) {
  for (const char *layout : {"split", "adjacent"})
    for (int64_t p : {0, 1, 1000}) {
      Numbers x = {0.3, -1, 0.7, 2, -0.4, 0.1, 1.5, -0.2};
      // The gain stands on both sides; the unit queries carry it, too.
      Numbers y = turned(std::string("gain(") + layout +
                             "(rotation(yarn(8, base = 10_000, factor = 64, "
                             "trained = 4096))), by = yarn_gain(64))",
                         x, p);
      double before = 0, after = 0;
      for (size_t n = 0; n < 8; ++n) {
        before += x[n] * x[n];
        after += y[n] * y[n];
      }
      EXPECT_NEAR(std::sqrt(after / before), std::pow(1.4158883083359672, 2),
                  1e-13);
    }
}

TEST(Field, LAY_01_LayoutIsNamed) {
  Numbers x = {1, 2, 3, 4};
  EXPECT_LE(largestDifference(turned("adjacent(rope(4, base = 100))", x, 1),
                              {-1.1426396637476532, 1.922075596544176,
                               2.585678829246765, 4.279516911052588}),
            1e-14);
  EXPECT_LE(largestDifference(turned("split(rope(4, base = 100))", x, 1),
                              {-1.9841106485555495, 1.590674663968739,
                               2.4623779024123156, 4.17968349440576}),
            1e-14);
  EXPECT_NE(refusal("scheme x { action rope(4, base = 100) mask causal }")
                .find("[layout]"),
            std::string::npos);
}

TEST(Field, LAY_03_ExponentOfTheRotatedWidth) {
  EXPECT_LE(
      largestDifference(turned("split(rope(4, base = 100)) + zero(4)",
                               {1, 2, 3, 4, 5, 6, 7, 8}, 1),
                        {-1.9841106485555495, 1.590674663968739,
                         2.4623779024123156, 4.17968349440576, 5, 6, 7, 8}),
      1e-14);
}

TEST(Field, LAY_09_SectionsOfClocks) {
  Numbers f = frequencies("spectrum(128, base = 1e6)");
  EXPECT_NEAR(5 * f[1], 4.0292109388074095, 1e-14);
  EXPECT_NEAR(7 * f[20], 0.09334650025143268, 1e-15);
  EXPECT_NEAR(11 * f[60], 2.6085110762278206e-05, 1e-19);
  const char *text = "scheme x { clock time, row, col let f = spectrum(128, "
                     "base = 1e6) action "
                     "split(sum p < 64: turn(f[p]) at (if p < 16 then time "
                     "else if p < 40 then "
                     "row else col)) mask all }";
  auto cosine = [&](int64_t pair, int64_t row) {
    Problem problem = probe({0}, {1}, 1, 128);
    Numbers unit(128, 0.0);
    unit[pair] = 1;
    problem.q = problem.k = HostArray::of({1, 1, 1, 128}, unit);
    auto one = [](int64_t t) {
      return HostArray::of({1, 1}, std::vector<int64_t>{t});
    };
    problem.arguments = {{"time", {}, one(0), one(5)},
                         {"row", {}, one(0), one(row)},
                         {"col", {}, one(0), one(11)}};
    return scoresOf(text, problem).at(0);
  };
  for (int64_t pair = 0; pair < 64; ++pair) {
    int64_t time = pair < 16 ? 5 : pair < 40 ? 7 : 11;
    EXPECT_NEAR(cosine(pair, 7), std::cos(double(time) * f[pair]), 1e-15);
    EXPECT_EQ(cosine(pair, 7) != cosine(pair, 5000), pair >= 16 && pair < 40);
  }
}

TEST(Field, HYB_03_TwoBasesInAStack) {
  SourceOptions options;
  options.scheme = "gemma";
  SchemeModule module = parseSource(
      "scheme local { action split(rope(256, base = 10_000)) mask last(512) } "
      "scheme global { action split(rotation(linear(spectrum(256, base = 1e6), "
      "factor = 8))) mask causal } "
      "stack gemma { layers 6 use if every(6) then global else local }",
      options);
  ASSERT_EQ(module.error, "");
  for (size_t n = 0; n < 6; ++n)
    EXPECT_EQ(module.layer(n).getSymName().str(), n == 5 ? "global" : "local");
  Numbers global = frequencies("linear(spectrum(256, base = 1e6), factor = 8)");
  Numbers local = frequencies("spectrum(256, base = 10_000)");
  EXPECT_EQ(global[0], 0.125);
  EXPECT_NEAR(global[1], 0.11221089155591428, 1e-15);
  EXPECT_NEAR(global[64], 0.000125, 1e-18);
  EXPECT_NEAR(local[127], 0.00010746078283213175, 1e-18);
}

TEST(Field, HYB_09_LayersOfAPattern) {
  auto globals = [](int layers) {
    SourceOptions options;
    options.scheme = "pattern";
    SchemeModule module = parseSource("scheme a { head 8 mask last(4) } scheme "
                                      "b { head 8 mask causal } "
                                      "stack pattern { layers " +
                                          std::to_string(layers) +
                                          " use if every(6) then b else a }",
                                      options);
    EXPECT_EQ(module.error, "");
    std::vector<int> result;
    for (int n = 0; n < layers; ++n)
      if (module.layer(size_t(n)).getSymName() == "b")
        result.push_back(n);
    return result;
  };
  EXPECT_EQ(globals(26), (std::vector<int>{5, 11, 17, 23}));
  EXPECT_EQ(globals(1), std::vector<int>{});
  EXPECT_EQ(globals(6), std::vector<int>{5});
  EXPECT_EQ(globals(7), std::vector<int>{5});
}

} // namespace
