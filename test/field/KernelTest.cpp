// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels of other systems got wrong, by case, on compiled kernels.
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

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

std::vector<double> bitsOf(const Compiled &kernel, const Problem &problem,
                           RunOptions run = {}) {
  RunResult result = kernel.kernel->run(problem, run);
  EXPECT_EQ(result.error, "");
  result.o.insert(result.o.end(), result.lse.begin(), result.lse.end());
  return result.o;
}

Problem drawn(const ShapeCase &shape, int64_t head, uint64_t seed = 1) {
  Random random(seed);
  return makeCall(shape, head, head, random);
}

TEST(FieldKernel, SHP_01_EveryLaneCounts) {
  for (int64_t d : {2, 8, 16, 24, 32, 40, 48, 64, 72, 80, 88, 96, 112, 120, 128,
                    160, 192, 256}) {
    Compiled kernel =
        compiled("scheme x { head " + std::to_string(d) + " mask all }");
    if (!kernel.kernel)
      continue;
    auto last = [&](auto, auto t, auto c) {
      return c == d - 1 ? 1.5 - t : 0.0;
    };
    Problem problem =
        makeProblem({1, 1, 5, 7, d, d}, last, last,
                    [](auto, auto t, auto c) { return 0.01 * c + (t % 3); });
    EXPECT_EQ(differential(kernel, problem, {}, {}), "") << d;
  }
}

TEST(FieldKernel, SHP_03_EmptySequencesInABatch) {
  Compiled kernel = compiled(
      "scheme x { action split(rope(64, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  ShapeCase offsets{"", 9, 3, {{0, 0}, {1, 3}, {0, 0}, {1, 5}}};
  offsets.ragged = true;
  EXPECT_EQ(differential(kernel, drawn(offsets, 64), {}, {}), "");
  ShapeCase single{"", 9, 3, {{0, 0}, {0, 0}, {0, 0}, {1, 1}}};
  single.ragged = true;
  EXPECT_EQ(differential(kernel, drawn(single, 64), {}, {}), "");
}

TEST(FieldKernel, SHP_05_LengthsAroundEveryTile) {
  const int64_t lengths[] = {1,  2,  3,  7,   15,  16,  17,  31,  33,
                             63, 64, 65, 127, 128, 129, 137, 255, 257};
  for (const char *mask : {"causal", "all"}) {
    Compiled kernel =
        compiled("scheme x { action split(rope(16, base = 10_000)) mask " +
                 std::string(mask) + " }");
    ASSERT_TRUE(kernel.kernel);
    uint64_t seed = 0;
    for (int64_t queries : lengths)
      for (int64_t keys : lengths) {
        ShapeCase shape{"", 1, 1, {{queries, keys}}, Layout::Padded};
        for (torsor_op op : {TORSOR_ATTEND, TORSOR_PREFILL})
          ASSERT_EQ(differential(kernel, drawn(shape, 16, ++seed),
                                 {op, Layout::Padded}, {}),
                    "")
              << mask << " " << queries << " x " << keys << ", op " << op;
      }
  }
}

TEST(FieldKernel, SHP_07_HeadsAndGroups) {
  Compiled kernel =
      compiled("scheme x { head 16 bias -0.01 * h * age mask causal }");
  ASSERT_TRUE(kernel.kernel);
  for (auto [heads, groups] : {std::pair{24, 3}, {40, 8}, {10, 2}})
    EXPECT_EQ(differential(kernel, drawn({"", heads, groups, {{20, 20}}}, 16),
                           {}, {0, 10}),
              "")
        << heads << "/" << groups;
  RunResult refused =
      kernel.kernel->run(drawn({"", 10, 4, {{20, 20}}}, 16), {});
  EXPECT_NE(refused.status, TORSOR_OK);
  EXPECT_NE(refused.error.find("10"), std::string::npos) << refused.error;
  EXPECT_NE(refused.error.find("4"), std::string::npos) << refused.error;
}

TEST(FieldKernel, SHP_11_ViewsOfOtherLayouts) {
  Compiled kernel = compiled(
      "scheme x { action adjacent(rope(24, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  Problem problem = drawn({"", 4, 4, {{9, 9}, {12, 12}}}, 24);
  std::vector<double> dense = bitsOf(kernel, problem);
  for (Layout layout : {Layout::TokenMajor, Layout::Padded}) {
    RunOptions run;
    run.layout = layout;
    std::vector<double> other = bitsOf(kernel, problem, run);
    // Rows of no sequence are never written.
    EXPECT_EQ(largestDifference(dense, other), 0);
  }
}

TEST(FieldKernel, LAY_05_PassiveLanesPassBitForBit) {
  Compiled kernel = compiled("scheme x { action split(rope(4, base = 10_000)) "
                             "+ zero(12) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  torsor_instance *instance = nullptr;
  ASSERT_EQ(torsor_instance_create(kernel.kernel->handle(), 1, 1, nullptr, 0,
                                   &instance),
            TORSOR_OK);
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.rows = 1;
  options.slots = 4;
  torsor_cache *cache = nullptr;
  ASSERT_EQ(torsor_cache_create(instance, &options, &cache), TORSOR_OK)
      << torsor_error();
  uint32_t patterns[] = {0x7fc01234, 0x80000000, 0x7f800000, 0xff800000,
                         0x00000001, 0x80012345, 0x3f800000, 0x7fa00001};
  alignas(64) uint32_t k[4 * 16], v[4 * 16];
  for (int n = 0; n < 64; ++n) {
    k[n] = n % 16 < 4 ? std::bit_cast<uint32_t>(0.25f * float(n % 7))
                      : patterns[n % 8];
    v[n] = patterns[(n + 3) % 8];
  }
  torsor_sequence sequence = {};
  sequence.query_length = sequence.key_length = 4;
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = 1;
  batch.sequences = &sequence;
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.k = torsor_dense(k, TORSOR_F32, 1, 1, 4, 16);
  call.v = torsor_dense(v, TORSOR_F32, 1, 1, 4, 16);
  call.cache = cache;
  ASSERT_EQ(torsor_run(instance, TORSOR_APPEND, &call, nullptr), TORSOR_OK)
      << torsor_error();
  for (const char *name : {"k", "v"}) {
    torsor_tensor stored;
    ASSERT_EQ(torsor_cache_stream(cache, name, &stored), TORSOR_OK);
    const uint32_t *from = name[0] == 'k' ? k : v;
    for (int t = 0; t < 4; ++t)
      for (int c = name[0] == 'k' ? 4 : 0; c < 16; ++c) {
        uint32_t got;
        std::memcpy(
            &got, static_cast<float *>(stored.data) + t * stored.strides[2] + c,
            4);
        EXPECT_EQ(got, from[t * 16 + c]) << name << " " << t << " " << c;
      }
  }
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
}

TEST(FieldKernel, PRC_09_DistancesNotPositions) {
  Compiled kernel =
      compiled("scheme x { head 16 bias -0.5 * age mask causal }", TORSOR_F16);
  ASSERT_TRUE(kernel.kernel);
  ShapeCase far{"", 1, 1, {{1, 72}}};
  far.firstKey = 131000;
  EXPECT_EQ(differential(kernel, drawn(far, 16), {}, {0, 40}), "");
}

TEST(FieldKernel, POS_03_EqualRowsGiveEqualRows) {
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_F16})
    for (int64_t rows : {2, 3, 8}) {
      Compiled kernel = compiled(
          "scheme x { action split(rope(64, base = 10_000)) mask causal }",
          dtype);
      ASSERT_TRUE(kernel.kernel);
      ShapeCase one{"", 4, 4, {{1, 6}}};
      Problem problem = drawn(one, 64);
      std::vector<double> alone = bitsOf(kernel, problem);
      alone.resize(4 * 64);
      for (HostArray *array : {&problem.q, &problem.k, &problem.v}) {
        array->shape[0] = rows;
        array->strides[0] = 0;
      }
      SequenceRun run = problem.sequences[0];
      for (int64_t row = 1; row < rows; ++row) {
        run.queryRow = run.keyRow = row;
        problem.sequences.push_back(run);
      }
      std::vector<double> all = bitsOf(kernel, problem);
      for (int64_t row = 0; row < rows; ++row)
        for (size_t n = 0; n < alone.size(); ++n)
          ASSERT_EQ(all[row * alone.size() + n], alone[n]);
    }
}

TEST(FieldKernel, POS_13_PiecesThroughTheCache) {
  Compiled kernel = compiled(
      "scheme x { action adjacent(rope(32, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  for (int64_t piece : {1, 3, 5, 7}) {
    RunOptions run;
    run.appended = piece;
    EXPECT_EQ(differential(kernel, drawn({"", 2, 1, {{8, 8}}}, 32), run, {}),
              "")
        << piece;
  }
}

TEST(FieldKernel, POS_21_CallsShareNothing) {
  Compiled kernel = compiled(
      "scheme x { action split(rope(16, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  Problem small = drawn({"", 1, 1, {{40, 40}}}, 16, 1);
  Problem large = drawn({"", 1, 1, {{80, 160}}}, 16, 2);
  std::vector<double> first = bitsOf(kernel, small);
  std::thread other([&] {
    for (int n = 0; n < 30; ++n)
      bitsOf(kernel, large);
  });
  for (int n = 0; n < 30; ++n)
    EXPECT_EQ(bitsOf(kernel, small), first);
  other.join();
}

TEST(FieldKernel, MSK_15_WindowsOfEveryForm) {
  Compiled kernel = compiled("scheme x { action split(rope(32, base = 10_000)) "
                             "mask window(127) }");
  ASSERT_TRUE(kernel.kernel);
  for (int64_t queries : {1, 5})
    for (torsor_op op : {TORSOR_ATTEND, TORSOR_PREFILL, TORSOR_DECODE}) {
      if (op == TORSOR_DECODE && queries > kernel.kernel->info().decode_queries)
        continue;
      EXPECT_EQ(differential(kernel, drawn({"", 8, 1, {{queries, 300}}}, 32),
                             {op}, {}),
                "")
          << queries << ", op " << op;
    }
}

TEST(FieldKernel, SMX_01_HiddenNumbersDoNotLeak) {
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16}) {
    Compiled kernel = compiled("scheme x { head 16 input real: i32 per token "
                               "mask causal and real[j] == 1 }",
                               dtype);
    ASSERT_TRUE(kernel.kernel);
    const double bad[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()};
    Random random(7);
    Problem problem = makeProblem(
        {2, 1, 70, 70, 16, 16},
        [&](auto, auto, auto) { return random.uniform(); },
        [&](auto, auto t, auto c) {
          return t % 5 == 0 ? bad[(t + c) % 3] : random.uniform();
        },
        [&](auto, auto t, auto c) {
          return t % 5 == 0 ? bad[(t * c) % 3] : random.uniform();
        });
    std::vector<int64_t> real(70, 1);
    for (int64_t t = 0; t < 70; t += 5)
      real[t] = 0;
    addTokens(problem, "real", HostArray::of({70}, real));
    for (torsor_op op : {TORSOR_ATTEND, TORSOR_PREFILL})
      EXPECT_EQ(differential(kernel, problem, {op}, {}), "") << nameOf(dtype);
  }
}

TEST(FieldKernel, JIT_01_ConstantsAreNotMixedUp) {
  auto run = [](const char *slope) {
    Compiled kernel = compiled(std::string("scheme x { head 16 bias -") +
                               slope + " * age mask causal }");
    return kernel.kernel ? bitsOf(kernel, drawn({"", 1, 1, {{30, 30}}}, 16))
                         : std::vector<double>();
  };
  std::vector<double> one = run("0.1"), two = run("0.2"), again = run("0.1");
  EXPECT_EQ(one, again);
  EXPECT_GT(largestDifference(one, two), 1e-3);
}

TEST(FieldKernel, JIT_07_OneArtefactForAllLengths) {
  Compiled kernel = compiled("scheme x { head 16 input few: i32 per sequence "
                             "scale 1 / sqrt(N + 1) mask causal or j < few }");
  ASSERT_TRUE(kernel.kernel);
  auto call = [](int64_t length) {
    Problem problem = drawn({"", 2, 1, {{length, length}}}, 16);
    addValue(problem, "few", HostArray::of({1}, std::vector<int64_t>{20}));
    return problem;
  };
  std::vector<double> first = bitsOf(kernel, call(128));
  for (int64_t length : {51, 1, 1025, 0})
    EXPECT_EQ(differential(kernel, call(length), {}, {1, 0}), "") << length;
  EXPECT_EQ(largestDifference(first, bitsOf(kernel, call(128))), 0);
}

} // namespace
