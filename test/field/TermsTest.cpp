// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Biases, masks and readouts that other systems got wrong, by case.
#include "test/oracle/Oracle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Zero scores and unit values: o are the probabilities.
Output probabilities(const std::string &body, int64_t query, int64_t keys) {
  Problem problem = makeProblem(
      {1, 1, 1, keys, 1, keys}, [](auto, auto, auto) { return 0; },
      [](auto, auto, auto) { return 0; },
      [](auto, auto t, auto c) { return t == c; });
  place(problem, query, 0, std::max(keys, query + 1));
  return evaluateSource("scheme x { head 1 " + body + " }", problem);
}

/// The keys that each query sees, as 0 and 1.
Numbers seen(const std::string &mask, std::vector<int64_t> queries,
             std::vector<int64_t> keys) {
  Problem problem = probe(queries, keys);
  Output output =
      evaluateSource("scheme x { head 1 mask " + mask + " }", problem);
  Numbers result;
  for (const PairTrace &pair : output.pairs.at(0))
    result.push_back(pair.visible);
  return result;
}

std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), int64_t(0));
  return indices;
}

TEST(Field, BIA_01_03_PublishedSlopes) {
  auto slopes = [](int64_t heads) {
    return logitsOf(
        "scheme x { head 1 bias alibi_slope(h, heads = H) mask all }",
        probe({0}, {0}, heads));
  };
  EXPECT_EQ(slopes(8), (Numbers{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625,
                                0.0078125, 0.00390625}));
  EXPECT_LE(
      largestDifference(slopes(12),
                        {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125,
                         0.00390625, 0.7071067811865476, 0.35355339059327373,
                         0.17677669529663687, 0.08838834764831843}),
      1e-16);
  EXPECT_EQ(slopes(6),
            (Numbers{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125}));
}

TEST(Field, BIA_05_LseIsExact) {
  Output output = probabilities("bias -0.5 * age mask causal", 2, 3);
  EXPECT_LE(largestDifference(output.o, {0.1863237232258476, 0.3071958857184984,
                                         0.506480391055654}),
            1e-15);
  EXPECT_NEAR(output.lse[0], 0.6802696706417346, 1e-15);
  Output sink = probabilities("bias -0.5 * age sink 0 mask causal", 2, 3);
  EXPECT_LE(largestDifference(sink.o, {0.12368147924931351, 0.2039162856299997,
                                       0.3362011175603434}),
            1e-15);
}

TEST(Field, BIA_07_FallsWithDistance) {
  EXPECT_EQ(logitsOf("scheme x { head 1 bias -0.5 * age mask causal }",
                     probe({3}, upTo(4))),
            (Numbers{-1.5, -1.0, -0.5, 0.0}));
}

TEST(Field, BIA_09_ScaledOrNot) {
  Problem problem = probe({10}, {0}, 1, 64);
  EXPECT_EQ(
      logitsOf("scheme x { head 64 bias -0.5 * age / sqrt(D) mask causal }",
               problem),
      Numbers{-0.625});
  EXPECT_EQ(
      logitsOf("scheme x { head 64 bias -0.5 * age mask causal }", problem),
      Numbers{-5.0});
}

/// The bucket of each displacement key - query.
Numbers buckets(const std::string &form, const Numbers &displacements) {
  Numbers result;
  for (double x : displacements) {
    Problem problem = probe({std::max<int64_t>(0, -int64_t(x))},
                            {std::max<int64_t>(0, int64_t(x))});
    Numbers one =
        logitsOf("scheme x { head 1 bias " + form + " mask all }", problem);
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

TEST(Field, BIA_11_BucketsAreIntegers) {
  EXPECT_EQ(buckets("t5_bucket_both(delta)",
                    {-7, -8, -11, -12, -15, -16, -22, -23, -31, -32, -45, -46,
                     -63, -64, -90, -91, -127, -128, -1000}),
            (Numbers{7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15,
                     15, 15, 15}));
}

TEST(Field, BIA_13_BucketsBySide) {
  EXPECT_EQ(buckets("t5_bucket_both(delta)", {0, -1, 1, -7, 7, -8, 8, 16, 64}),
            (Numbers{0, 1, 17, 7, 23, 8, 24, 26, 30}));
}

TEST(Field, BIA_15_LaterKeysShareBucketZero) {
  EXPECT_EQ(buckets("t5_bucket(age)", {1, 5, 1000, 0, -1}),
            (Numbers{0, 0, 0, 0, 1}));
}

TEST(Field, MSK_01_WindowCountsTheQuery) {
  EXPECT_EQ(seen("last(3)", upTo(5), upTo(5)),
            (Numbers{1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1,
                     0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(seen("last(3)", {4}, upTo(5)), (Numbers{0, 0, 1, 1, 1}));
  EXPECT_EQ(seen("last(1)", {4}, upTo(5)), (Numbers{0, 0, 0, 0, 1}));
  EXPECT_EQ(seen("last(5)", upTo(5), upTo(5)),
            seen("causal", upTo(5), upTo(5)));
}

TEST(Field, MSK_03_EmptyRowsAreZero) {
  Problem problem = makeRandom({1, 1, 5, 2, 1, 1}, 3);
  problem.trace = true;
  Output lower = evaluateSource("scheme x { head 1 mask causal }", problem);
  for (int n : {0, 1, 2}) {
    EXPECT_EQ(lower.o[n], 0);
    EXPECT_EQ(lower.lse[n], -infinity);
  }
  EXPECT_TRUE(lower.pairs[0][6].visible && !lower.pairs[0][7].visible);
  EXPECT_TRUE(lower.pairs[0][8].visible && lower.pairs[0][9].visible);
  EXPECT_EQ(seen("causal", upTo(5), upTo(2)),
            (Numbers{1, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Field, MSK_05_Chunks) {
  for (auto [query, first] : {std::pair{3, 0}, {4, 4}, {7, 4}, {8, 8}}) {
    Numbers got = seen("causal and chunk(4)", {query}, upTo(10));
    for (int64_t key = 0; key < 10; ++key)
      EXPECT_EQ(got[key], key >= first && key <= query) << query << " " << key;
  }
}

TEST(Field, MSK_09_MaskComesLast) {
  Problem problem = makeProblem(
      {1, 1, 1, 3, 1, 3}, [](auto, auto, auto) { return 1; },
      [](auto, auto t, auto) { return t == 0   ? 0.3
                                      : t == 1 ? 2.0
                                               : 1.5; },
      [](auto, auto t, auto c) { return t == c; });
  place(problem, 0, 0, 3);
  Output output = evaluateSource(
      "scheme x { head 1 scale 1 softcap 1 mask causal }", problem);
  EXPECT_EQ(output.o, (Numbers{1, 0, 0}));
}

TEST(Field, MSK_11_WindowOverACache) {
  Problem problem = makeProblem(
      {1, 1, 1, 10, 1, 1}, [](auto, auto, auto) { return 0; },
      [](auto, auto, auto) { return 0; }, [](auto, auto t, auto) { return t; });
  Output output = evaluateSource("scheme x { head 1 mask last(4) }", problem);
  EXPECT_NEAR(output.o[0], 7.5, 1e-15);
}

TEST(Field, MSK_13_EvictedKeysKeepTheirIndices) {
  std::vector<int64_t> kept = {0, 1, 2, 8, 9, 10, 11, 12, 13};
  EXPECT_EQ(seen("causal", {12, 13}, kept),
            (Numbers{1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(
      logitsOf("scheme x { head 1 bias age mask causal }", probe({13}, kept)),
      (Numbers{13, 12, 11, 5, 4, 3, 2, 1, 0}));
}

TEST(Field, POS_01_PadsDoNotExist) {
  const char *texts[] = {
      "scheme x { action split(rope(4, base = 100)) mask causal }",
      "scheme x { head 4 bias -0.5 * age mask causal }",
      "scheme x { head 4 scale log_n(2) / 2 mask causal }"};
  for (const char *text : texts) {
    Problem padded = makeRandom({1, 1, 5, 5, 4, 4}, 9);
    padded.queryIndices = padded.keyIndices =
        HostArray::of({1, 5}, std::vector<int64_t>{-1, -1, 0, 1, 2});
    Problem alone = makeRandom({1, 1, 5, 5, 4, 4}, 9);
    alone.sequences[0].queryStart = alone.sequences[0].keyStart = 2;
    alone.sequences[0].queryLength = alone.sequences[0].keyLength = 3;
    Output a = evaluateSource(text, padded), b = evaluateSource(text, alone);
    for (int n = 8; n < 20; ++n)
      EXPECT_EQ(a.o[n], b.o[n]) << text;
    for (int n = 0; n < 8; ++n)
      EXPECT_EQ(a.o[n], 0) << text;
  }
}

TEST(Field, POS_11_DocumentsStandAlone) {
  for (const char *body : {"action split(rope(4, base = 100)) mask causal and "
                           "doc[i] == doc[j]",
                           "head 4 bias -0.5 * age mask causal and doc[i] == "
                           "doc[j]",
                           "head 4 mask last(2) and doc[i] == doc[j]"}) {
    Problem twice = makeProblem(
        {1, 1, 6, 6, 4, 4}, [](auto, auto t, auto c) { return (t % 3) - c; },
        [](auto, auto t, auto c) { return 1 + c * (t % 3); },
        [](auto, auto t, auto c) { return t % 3 + c; });
    addTokens(twice, "doc",
              HostArray::of({6}, std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
    Output output = evaluateSource("scheme x { input doc: i32 per token " +
                                       std::string(body) + " }",
                                   twice);
    for (int n = 0; n < 12; ++n)
      EXPECT_NEAR(output.o[n], output.o[12 + n], 1e-14) << body;
  }
}

TEST(Field, POS_15_AlignmentIsOfTheCall) {
  Problem problem = makeProblem(
      {1, 1, 1, 100, 1, 1}, [](auto, auto, auto) { return 0; },
      [](auto, auto, auto) { return 0; },
      [](auto, auto t, auto) { return t ? 1 : 100; });
  EXPECT_NEAR(evaluateSource("scheme x { head 1 mask causal }", problem).o[0],
              1.99, 1e-14);
  EXPECT_EQ(seen("causal", {3, 4}, upTo(5)),
            (Numbers{1, 1, 1, 1, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(seen("causal", {0, 1}, upTo(5)),
            (Numbers{1, 0, 0, 0, 0, 1, 1, 0, 0, 0}));
}

TEST(Field, SMX_01_HiddenValuesDoNotLeak) {
  Problem problem = makeProblem(
      {1, 1, 2, 4, 1, 1}, [](auto, auto, auto) { return 1; },
      [](auto, auto, auto) { return 1; },
      [](auto, auto t, auto) { return t == 3 ? infinity : t; });
  addTokens(problem, "real",
            HostArray::of({4}, std::vector<int64_t>{0, 1, 1, 0}));
  place(problem, 0, 0, 4);
  Output output = evaluateSource(
      "scheme x { head 1 input real: i32 per token mask j <= 2 * i and real[j] "
      "== 1 }",
      problem);
  EXPECT_EQ(output.o, (Numbers{0, 1.5}));
  EXPECT_EQ(output.lse[0], -infinity);
}

TEST(Field, SMX_05_SinkIsNotScaled) {
  Problem problem = makeProblem(
      {1, 1, 1, 2, 64, 1}, [](auto, auto, auto c) { return c == 0 ? 8 : 0; },
      [](auto, auto t, auto c) { return c == 0 ? t + 1 : 0; },
      [](auto, auto t, auto) { return t ? 3 : 1; });
  Output output =
      evaluateSource("scheme x { head 64 sink 0.5 mask causal }", problem);
  EXPECT_NEAR(output.o[0], 2.1168190552574364, 1e-14);
  EXPECT_NEAR(output.lse[0], 2.4643687841079447, 1e-14);
}

TEST(Field, SMX_07_LogarithmsOfHiddenPairs) {
  Problem problem = makeRandom({1, 1, 65, 65, 1, 1}, 4);
  Output output = evaluateSource(
      "scheme x { head 1 bias log(i - j + 1) mask causal }", problem);
  for (double x : output.o)
    EXPECT_TRUE(std::isfinite(x));
}

TEST(Field, HYB_05_TemperatureSteps) {
  const Numbers positions = {0, 8190, 8191, 8192, 16383, 1048575},
                want = {1,
                        1,
                        1.0693147180559945,
                        1.0693147180559945,
                        1.109861228866811,
                        1.4859812404361672};
  for (size_t n = 0; n < want.size(); ++n) {
    Problem problem = probe({int64_t(positions[n])}, {0});
    problem.q = problem.k = HostArray::of({1, 1, 1, 1}, Numbers{1});
    EXPECT_NEAR(logitsOf("scheme x { head 1 scale stepped(0.1, period = 8192, "
                         "offset = 1) mask causal }",
                         problem)
                    .at(0),
                want[n], 1e-15);
  }
}

TEST(Field, RET_01_03_DecayOfARunningSum) {
  Problem ones = makeProblem(
      {1, 1, 5, 5, 1, 1}, [](auto, auto, auto) { return 1; },
      [](auto, auto, auto) { return 1; }, [](auto, auto, auto) { return 1; });
  const char *body =
      "action decay(1, rate = log(2)) scale 1 mask causal readout "
      "linear";
  Output output =
      evaluateSource(std::string("scheme x { ") + body + " }", ones);
  EXPECT_LE(largestDifference(output.o, {1, 1.5, 1.75, 1.875, 1.9375}), 1e-15);
  Output normal =
      evaluateSource(std::string("scheme x { ") + body + " / total }", ones);
  EXPECT_LE(largestDifference(normal.o, Numbers(5, 1.0)), 1e-15);
}

TEST(Field, JIT_09_TablesBySignedDistance) {
  Problem problem = makeRandom({8, 1, 20, 20, 1, 1}, 4);
  Numbers table(1024 * 2), scale;
  std::iota(table.begin(), table.end(), 0.0);
  for (int h = 0; h < 8; ++h)
    scale.push_back(1e-4 * (h + 1));
  addValue(problem, "table", HostArray::of({2048}, table));
  addValue(problem, "w", HostArray::of({8}, scale));
  problem.trace = true;
  Output output = evaluateSource(
      "scheme x { head 1 param table: f32[2048] param w: f32[H] bias "
      "table[clamp(i - j + 1023, 0, 2047)] * w[h] mask causal }",
      problem);
  for (int64_t h = 0; h < 8; ++h)
    for (int64_t j = 0; j <= 7; ++j) {
      const PairTrace &pair = output.pairs[0][(h * 20 + 7) * 20 + j];
      EXPECT_NEAR(pair.logit - pair.score, (7 - j + 1023) * scale[h], 1e-14);
    }
}

} // namespace
