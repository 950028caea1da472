// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches, shards and merges that other systems got wrong, by case.
#include "test/e2e/AppendedKeys.h"
#include "test/e2e/CacheUser.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace torsor;
using namespace torsor::test;

namespace {

Compiled compiled(const std::string &text) {
  std::string error;
  Compiled result = compileBoth(text, {}, error);
  EXPECT_TRUE(result.kernel) << text << "\n" << error;
  return result;
}

/// Keys [1, 1, tokens, 64] that stand at their index + 2000, moved down by
/// `shift` in each of `moves` calls.
std::vector<double> moved(const Kernel &kernel, const HostArray &k,
                          int64_t moves, int64_t shift) {
  int64_t tokens = k.shape[2];
  CacheUser user(kernel, {1, 1, 1, {TORSOR_CONTIGUOUS, tokens}});
  torsor_sequence s = lastTokens(0, tokens, tokens);
  s.query_index = s.key_index = 2000;
  s.total = 2000 + tokens;
  EXPECT_EQ(user.append(k, k, {s}), TORSOR_OK) << torsor_error();
  for (int64_t n = 0; n < moves; ++n)
    EXPECT_EQ(user.rebase({movedKeys(0, 0, tokens, -shift)}), TORSOR_OK)
        << torsor_error();
  return user.stored("k");
}

// The bound that `explain` states: a move rounds a key once, so that an element
// of a pair is off by half an ulp of the pair at most, each time.
TEST(FieldKernel, POS_07_EachMoveRoundsOnce) {
  constexpr int64_t tokens = 48, width = 64, moves = 1000;
  for (torsor_dtype dtype : {TORSOR_F32, TORSOR_F16, TORSOR_BF16}) {
    std::string error;
    KernelOptions options;
    options.dtype = dtype;
    Compiled scheme = compileBoth(
        "scheme x { action split(rope(64, base = 10_000)) mask causal }",
        options, error);
    ASSERT_TRUE(scheme.kernel) << error;
    Random random(7);
    std::vector<double> data;
    for (int64_t n = 0; n < tokens * width; ++n)
      data.push_back(random.uniform());
    HostArray k =
        rounded(HostArray::of({1, 1, tokens, width}, std::move(data)), dtype);
    std::vector<double> often = moved(*scheme.kernel, k, moves, 1),
                        once = moved(*scheme.kernel, k, 1, moves);
    const double u = epsilonOf(dtype);
    double worstOften = 0, worstOnce = 0, worstSize = 0;
    for (int64_t n = 0; n < tokens; ++n)
      for (int64_t p = 0; p < width / 2; ++p) {
        double x = k.real(n * width + p), y = k.real(n * width + p + width / 2);
        double size = std::hypot(x, y);
        double phase = double(2000 + n - moves) *
                       std::pow(10000.0, -double(p) / (width / 2.0));
        double wantX = x * std::cos(phase) - y * std::sin(phase),
               wantY = x * std::sin(phase) + y * std::cos(phase);
        auto off = [&](const std::vector<double> &keys) {
          return std::hypot(keys[n * width + p] - wantX,
                            keys[n * width + p + width / 2] - wantY) /
                 size;
        };
        worstOften = std::max(worstOften, off(often));
        worstOnce = std::max(worstOnce, off(once));
        worstSize = std::max(
            worstSize, std::fabs(std::hypot(often[n * width + p],
                                            often[n * width + p + width / 2]) /
                                     size -
                                 1));
      }
    // The append's rounding, and that of each move; 16 bits turn in f32.
    double each = u + (dtype == TORSOR_F32 ? 0 : 4 * 0x1p-24);
    EXPECT_LE(worstOnce, 2 * each + 8 * 0x1p-24) << nameOf(dtype);
    EXPECT_LE(worstOften, (moves + 1) * each + 8 * 0x1p-24) << nameOf(dtype);
    EXPECT_LE(worstSize, (moves + 1) * each + 8 * 0x1p-24) << nameOf(dtype);
    if (dtype == TORSOR_F32)
      EXPECT_LE(worstOften, 1e-5); // of 1e-4 that are asked for
    else                           // Why hosts add shifts up and move once.
      EXPECT_GT(worstOften, 4 * worstOnce) << nameOf(dtype);
  }
}

TEST(FieldKernel, POS_09_TheRingDropsTheOldest) {
  Compiled kernel = compiled("scheme x { head 8 mask last(8) }");
  ASSERT_TRUE(kernel.kernel);
  torsor_instance *instance = nullptr;
  ASSERT_EQ(torsor_instance_create(kernel.kernel->handle(), 1, 1, nullptr, 0,
                                   &instance),
            TORSOR_OK);
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.layout = TORSOR_RING;
  options.rows = 1;
  options.slots = 8;
  torsor_cache *cache = nullptr;
  ASSERT_EQ(torsor_cache_create(instance, &options, &cache), TORSOR_OK)
      << torsor_error();
  float q[8] = {1}, o[8], tokens[10][8] = {};
  for (int n = 0; n < 10; ++n)
    std::fill_n(tokens[n], 8, 10.0f + 0.1f * float(n));
  auto feed = [&](int64_t first, int64_t count) {
    torsor_sequence s = {};
    s.query_length = count;
    s.key_start = std::max<int64_t>(0, first + count - 8);
    s.key_length = first + count - s.key_start;
    s.flags = TORSOR_PLACED;
    s.query_index = first;
    s.key_index = s.key_start;
    s.total = first + count;
    torsor_batch batch = {};
    batch.size = sizeof batch;
    batch.count = 1;
    batch.sequences = &s;
    torsor_call call = {};
    call.size = sizeof call;
    call.batch = &batch;
    call.k = call.v = torsor_dense(tokens[first], TORSOR_F32, 1, 1, count, 8);
    call.cache = cache;
    ASSERT_EQ(torsor_run(instance, TORSOR_APPEND, &call, nullptr), TORSOR_OK)
        << torsor_error();
    s.query_length = 1;
    s.query_index = first + count - 1;
    call.q = torsor_dense(q, TORSOR_F32, 1, 1, 1, 8);
    call.o = torsor_dense(o, TORSOR_F32, 1, 1, 1, 8);
    call.k = call.v = {};
    ASSERT_EQ(torsor_run(instance, TORSOR_ATTEND, &call, nullptr), TORSOR_OK)
        << torsor_error();
    // Full attention over the last 8 keys, in doubles.
    double sum = 0, weighted = 0;
    for (int64_t n = s.key_start; n < first + count; ++n) {
      double weight = std::exp((tokens[n][0] - 10) / std::sqrt(8.0));
      sum += weight;
      weighted += weight * tokens[n][0];
    }
    EXPECT_NEAR(o[0], weighted / sum, 1e-5) << first;
  };
  auto held = [&] {
    torsor_tensor k;
    EXPECT_EQ(torsor_cache_stream(cache, "k", &k), TORSOR_OK);
    std::vector<float> values;
    for (int n = 0; n < 8; ++n)
      values.push_back(static_cast<float *>(k.data)[n * k.strides[2]]);
    std::sort(values.begin(), values.end());
    return values;
  };
  auto want = [&](int first) {
    std::vector<float> values;
    for (int n = first; n < first + 8; ++n)
      values.push_back(tokens[n][0]);
    return values;
  };
  feed(0, 6);
  for (int n : {6, 7, 8})
    feed(n, 1);
  EXPECT_EQ(held(), want(1));
  feed(9, 1);
  EXPECT_EQ(held(), want(2));
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
}

TEST(FieldKernel, POS_17_DraftedTokensHaveTheirOwnPositions) {
  Compiled kernel = compiled(
      "scheme x { action split(rope(16, base = 10_000)) mask causal }");
  ASSERT_TRUE(kernel.kernel);
  Appender appender(*kernel.kernel);
  HostArray k = unitKeys(13, 16);
  std::vector<int64_t> positions;
  for (int64_t n = 0; n < 13; ++n)
    positions.push_back(n);
  std::vector<double> once = appender.keys(k, positions);
  for (int64_t piece : {1, 3, 10})
    EXPECT_EQ(appender.keys(k, positions, piece), once) << piece;
  for (int64_t n : {10, 11, 12})
    EXPECT_NEAR(once[n * 16], std::cos(double(n)), 1e-6);
  // Three tokens of one step, then three steps of one.
  for (int64_t queries : {3, 1})
    for (int64_t keys = 13 - (3 - queries); keys <= 13; ++keys) {
      Random random(4);
      RunOptions step;
      step.op = TORSOR_STEP;
      step.appended = 4;
      EXPECT_EQ(
          differential(kernel,
                       makeCall({"", 2, 1, {{queries, keys}}}, 16, 16, random),
                       step, {}),
          "")
          << queries << " of " << keys;
    }
}

TEST(FieldKernel, POS_19_ShardsKnowTheirIndices) {
  const char *texts[] = {
      "scheme x { action split(rope(8, base = 100)) mask causal }",
      "scheme x { head 8 bias -0.5 * age mask causal }",
      "scheme x { action split(rope(8, base = 100)) mask last(3) }"};
  for (const char *text : texts) {
    Compiled kernel = compiled(text);
    ASSERT_TRUE(kernel.kernel);
    Random random(5);
    Problem whole = makeCall({"", 2, 1, {{8, 8}}}, 8, 8, random);
    RunResult expected = kernel.kernel->run(whole, {});
    ASSERT_EQ(expected.error, "");
    const int64_t shards[2][4] = {{0, 1, 6, 7}, {2, 3, 4, 5}};
    auto take = [](const HostArray &from, std::vector<int64_t> rows) {
      std::vector<double> data;
      for (int64_t h = 0; h < from.shape[1]; ++h)
        for (int64_t row : rows)
          for (int64_t c = 0; c < 8; ++c)
            data.push_back(from.real(from.offset({0, h, row, c})));
      return HostArray::of({1, from.shape[1], int64_t(rows.size()), 8}, data);
    };
    for (const auto &rank : shards) {
      std::vector<int64_t> queries(rank, rank + 4), keys;
      for (const auto &shard : shards)
        keys.insert(keys.end(), shard, shard + 4);
      Problem sharded = whole;
      sharded.q = take(whole.q, queries);
      sharded.k = take(whole.k, keys);
      sharded.v = take(whole.v, keys);
      sharded.sequences[0].queryLength = 4;
      place(sharded, 0, 0, 8);
      sharded.queryIndices = HostArray::of({1, 4}, queries);
      sharded.keyIndices = HostArray::of({1, 8}, keys);
      for (int64_t parts : {0, 1, 2, 4}) {
        RunOptions run;
        run.parts = parts;
        RunResult got = kernel.kernel->run(sharded, run);
        ASSERT_EQ(got.error, "") << text;
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t n = 0; n < 4; ++n)
            for (int64_t c = 0; c < 8; ++c)
              EXPECT_NEAR(got.o[(h * 4 + n) * 8 + c],
                          expected.o[(h * 8 + queries[n]) * 8 + c], 2e-6)
                  << text << ", " << parts << " parts";
      }
    }
  }
}

TEST(FieldKernel, MSK_07_CapacityIsNotLength) {
  for (const char *chunk : {"4", "8"}) {
    Compiled kernel = compiled("scheme x { action split(rope(16, base = "
                               "10_000)) mask causal and chunk(" +
                               std::string(chunk) + ") }");
    ASSERT_TRUE(kernel.kernel);
    Random random(6);
    Problem whole = makeCall({"", 1, 1, {{12, 12}}}, 16, 16, random);
    EXPECT_EQ(differential(kernel, whole, {}, {}), "") << chunk;
    for (int64_t keys = 1; keys <= 12; ++keys) {
      RunOptions run;
      run.appended = 1;
      run.cache.slots = 256;
      EXPECT_EQ(differential(kernel,
                             makeCall({"", 1, 1, {{1, keys}}}, 16, 16, random),
                             run, {}),
                "")
          << chunk << ", " << keys << " keys";
    }
  }
}

TEST(FieldKernel, SMX_03_EmptyRowsHaveNoWeight) {
  Compiled kernel = compiled("scheme x { head 4 mask causal }");
  ASSERT_TRUE(kernel.kernel);
  torsor_instance *instance = nullptr;
  ASSERT_EQ(torsor_instance_create(kernel.kernel->handle(), 1, 1, nullptr, 0,
                                   &instance),
            TORSOR_OK);
  float q[20] = {1, 2, 3}, kv[8] = {1, 1, 1}, o[2][20], lse[2][5], merged[20],
        mergedLse[5];
  auto dense = [](float *data, int64_t tokens) {
    return torsor_dense(data, TORSOR_F32, 1, 1, tokens, 4);
  };
  auto rows = [](float *data) {
    return torsor_array(data, TORSOR_F32, 1, 1, 5);
  };
  torsor_sequence s = {};
  s.query_length = 5;
  s.key_length = 2;
  // Lower right: the first three queries stand before all keys.
  s.flags = TORSOR_PLACED | TORSOR_PARTIAL;
  s.key_index = 3;
  s.total = 5;
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = 1;
  batch.sequences = &s;
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.q = dense(q, 5);
  call.k = call.v = dense(kv, 2);
  call.o = dense(o[0], 5);
  call.lse = rows(lse[0]);
  for (torsor_op op : {TORSOR_ATTEND, TORSOR_PREFILL}) {
    ASSERT_EQ(torsor_run(instance, op, &call, nullptr), TORSOR_OK)
        << torsor_error();
    for (int n = 0; n < 3; ++n) {
      EXPECT_EQ(lse[0][n], -std::numeric_limits<float>::infinity());
      EXPECT_EQ(o[0][4 * n], 0);
    }
  }
  std::fill_n(o[1], 20, 5.0f);
  std::fill_n(lse[1], 5, 2.0f);
  torsor_part parts[] = {{dense(o[0], 5), rows(lse[0])},
                         {dense(o[1], 5), rows(lse[1])}};
  torsor_call merge = {};
  merge.size = sizeof merge;
  merge.batch = &batch;
  merge.o = dense(merged, 5);
  merge.lse = rows(mergedLse);
  merge.parts = parts;
  merge.part_count = 2;
  ASSERT_EQ(torsor_run(instance, TORSOR_MERGE, &merge, nullptr), TORSOR_OK)
      << torsor_error();
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(merged[4 * n], 5.0f);
    EXPECT_NEAR(mergedLse[n], 2.0f, 1e-6);
  }
  torsor_instance_destroy(instance);
}

} // namespace
