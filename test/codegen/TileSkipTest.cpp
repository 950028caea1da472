// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tiles are touched where indices are given; starts by age; what grows.
#include <cstdlib>
#include <numeric>
#include <sys/mman.h>
#include <sys/wait.h>

#include "Rope.h"

using namespace torsor::test;

namespace {

/// Indices of `count` tokens from `first` on, in one row.
struct Indices {
  std::vector<int64_t> values;
  Indices(int64_t first, int64_t count) : values(count) {
    std::iota(values.begin(), values.end(), first);
  }
  torsor_tensor view() {
    torsor_tensor tensor = {};
    tensor.data = values.data();
    tensor.dtype = TORSOR_I64;
    tensor.rank = 2;
    tensor.shape[0] = 1, tensor.shape[1] = values.size();
    tensor.strides[0] = values.size(), tensor.strides[1] = 1;
    return tensor;
  }
};

TEST(TileSkip, GivenIndicesMeanTheSame) {
  for (bool causal : {true, false}) {
    Rope r = rope(64, 64, 0, false, causal);
    Loaded code(r.text.module());
    Indices keys(3, 700), queries(603, 100);
    auto give = [&](Arrays &a) {
      a.call->tensor(TORSOR_AT_KEY_INDICES) = keys.view();
      a.call->tensor(TORSOR_AT_QUERY_INDICES) = queries.view();
    };
    compare(code, TORSOR_PREFILL, r.naive,
            {.queries = 100, .keys = 700, .keyIndex = 3}, TORSOR_F32, give);
  }
}

/// Keys with an index below 0 are padding, wherever they lie.
TEST(TileSkip, GivenPadding) {
  Rope r = rope(32, 32, 0);
  r.naive.mask = [](int64_t i, int64_t j, int64_t) {
    return j <= i && (j < 256 || j >= 300);
  };
  Loaded code(r.text.module());
  Indices keys(0, 700), queries(600, 100);
  std::fill(keys.values.begin() + 256, keys.values.begin() + 300, -1);
  auto give = [&](Arrays &a) {
    a.call->tensor(TORSOR_AT_KEY_INDICES) = keys.view();
    a.call->tensor(TORSOR_AT_QUERY_INDICES) = queries.view();
  };
  compare(code, TORSOR_PREFILL, r.naive, {.queries = 100, .keys = 700},
          TORSOR_F32, give);
}

/// Runs 16 queries of index 100 … 115 against 1024 keys of given indices, with
/// `count` packed keys from `first` on out of reach while scores are computed.
/// 16 heads make more rows than a block has, so that keys are packed before.
void runWithout(const Rope &r, int64_t first, int64_t count) {
  Loaded code(r.text.module());
  CallData call(code, 16, 1);
  Array q(TORSOR_F32, 1, 16, 16, 64), k(TORSOR_F32, 1, 1, 1024, 64), v = k,
                                                                     o = q;
  q.fillNormal(1), k.fillNormal(2), v.fillNormal(3);
  Indices keys(0, 1024), queries(100, 16);
  call.tensor(TORSOR_AT_Q) = q.view();
  call.tensor(TORSOR_AT_K) = k.view();
  call.tensor(TORSOR_AT_V) = v.view();
  call.tensor(TORSOR_AT_O) = o.view();
  call.tensor(TORSOR_AT_KEY_INDICES) = keys.view();
  call.tensor(TORSOR_AT_QUERY_INDICES) = queries.view();
  torsor_sequence sequence = {};
  sequence.query_length = 16;
  sequence.key_length = sequence.total = 1024;
  sequence.query_index = 100;
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  const torsor_kernel_op &prefill = code.operation(TORSOR_PREFILL);
  torsor_kernel_plan plan;
  torsor_kernel_args args = call.prepare(prefill, plan);
  void *memory = mmap(nullptr, plan.workspace_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  args.workspace = memory;
  for (uint32_t phase = 0; phase < plan.phases; ++phase) {
    // The workspace begins with the packed keys.
    constexpr int64_t keyBytes = 64 * 4;
    if (phase + 1 == plan.phases && count)
      mprotect(static_cast<char *>(memory) + first * keyBytes, count * keyBytes,
               PROT_NONE);
    prefill.run(&args, &plan, phase, 0, plan.items[phase], call.scratch());
  }
  std::_Exit(0);
}

/// A fault, which a sanitizer reports its own way.
bool died(int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }

TEST(TileSkip, HiddenTilesAreNotTouched) {
  Rope r = rope(64, 64, 0);
  EXPECT_EXIT(runWithout(r, 0, 0), testing::ExitedWithCode(0), "");
  for (int64_t tile : {1, 2, 3})
    EXPECT_EXIT(runWithout(r, tile * 256, 256), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(runWithout(r, 0, 256), died, ""); // the visible one
}

/// Within a tile that is seen in part, the panels that no row sees: here a tile
/// test knows it, of the last 30 keys, not the ranges of the mask.
TEST(TileSkip, HiddenPanelsAreNotTouched) {
  Rope r = rope(64, 64, 0, false, false);
  r.text.full = "[]";
  const std::string distance = "%d = arith.subi %i, %j : i32\n"
                               "%z = arith.constant 0 : i32\n"
                               "%w = arith.constant 30 : i32\n";
  r.text.mask = "{ ^bb0(%i: i32, %j: i32):\n" + distance +
                "%a = arith.cmpi sge, %d, %z : i32\n"
                "%b = arith.cmpi slt, %d, %w : i32\n"
                "%s = arith.andi %a, %b : i1\n torsor.yield %s : i1 }";
  r.text.tile = "{ ^bb0(%i0: i64, %i1: i64, %j0: i64, %j1: i64):\n"
                "%w = arith.constant 30 : i64\n"
                "%near = arith.subi %i0, %j1 : i64\n"
                "%a = arith.cmpi sle, %j0, %i1 : i64\n"
                "%b = arith.cmpi slt, %near, %w : i64\n"
                "%some = arith.andi %a, %b : i1\n"
                "%all = arith.constant false\n"
                "torsor.yield %some, %all : i1, i1 }";
  EXPECT_EXIT(runWithout(r, 0, 0), testing::ExitedWithCode(0), "");
  for (int64_t panel : {0, 2, 3, 4})
    EXPECT_EXIT(runWithout(r, panel * 64, 64), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(runWithout(r, 64, 64), died, ""); // 71 … 115
}

/// A bias of the age, whose table says something else than the pair's own code:
/// which of them was read shows.
Rope biased() {
  Rope r = rope(32, 32, 0);
  r.text.init = "{ ^bb0(%i: i32, %j: i32):\n"
                "%z = arith.constant 0.0 : f32\n torsor.yield %z : f32 }";
  r.text.toeplitz = "{ ^bb0(%age: i64, %h: i64, %b: i64, %n: i64):\n"
                    "%hf = arith.sitofp %h : i64 to f32\n"
                    "%c = arith.constant 0.001953125 : f32\n"
                    "%m = arith.mulf %hf, %c : f32\n"
                    "%a = arith.sitofp %age : i64 to f32\n"
                    "%x = arith.mulf %a, %m : f32\n torsor.yield %x : f32 }";
  return r;
}

TEST(BiasTable, IsReadByAge) {
  Rope r = biased();
  r.naive.logit = [](double z, int64_t i, int64_t j, int64_t h) {
    return z / std::sqrt(32.0) +
           0.001953125 * double(h) * double(i - j) * std::log(2.0);
  };
  Loaded code(r.text.module());
  for (int64_t keys : {1, 15, 257, 600})
    for (int64_t queries : {int64_t(1), (keys + 1) / 2, keys})
      for (int64_t keyIndex : {0, 5})
        compare(code, TORSOR_PREFILL, r.naive,
                {.heads = 4,
                 .groups = 2,
                 .queries = queries,
                 .keys = keys,
                 .keyIndex = keyIndex,
                 .pieces = 3});
}

TEST(BiasTable, IsNotReadWhereIndicesAreGiven) {
  Rope r = biased();
  r.naive.logit = [](double z, int64_t, int64_t, int64_t) {
    return z / std::sqrt(32.0);
  };
  Loaded code(r.text.module());
  Indices keys(0, 300), queries(250, 50);
  compare(code, TORSOR_PREFILL, r.naive,
          {.heads = 2, .groups = 1, .queries = 50, .keys = 300}, TORSOR_F32,
          [&](Arrays &a) {
            a.call->tensor(TORSOR_AT_KEY_INDICES) = keys.view();
            a.call->tensor(TORSOR_AT_QUERY_INDICES) = queries.view();
          });
}

/// What a call of `length` keys, and of as many queries if not said otherwise,
/// asks for.
torsor_kernel_plan planOf(const Loaded &code, int64_t length,
                          int64_t queries = 0) {
  CallData call(code, 4, 2);
  torsor_sequence sequence = {};
  sequence.key_length = sequence.total = length;
  sequence.query_length = queries ? queries : length;
  sequence.query_index = length - sequence.query_length;
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  call.args.workspace = nullptr;
  torsor_kernel_plan plan;
  call.prepare(code.operation(TORSOR_PREFILL), plan);
  return plan;
}

TEST(Growth, MemoryIsThatOfPackedKeysAndValues) {
  for (bool tabulated : {false, true}) {
    Rope r = tabulated ? biased() : rope(32, 32, 16);
    Loaded code(r.text.module());
    for (int64_t length : {1024, 4096, 16384, 65536}) {
      torsor_kernel_plan plan = planOf(code, length);
      // Two groups, keys and values of 32, an index for each key and, of RoPE,
      // its time; a table of 2 * length entries for each of four heads.
      double packed =
          2 * (32 + 32 + 1 + (tabulated ? 0 : 2)) * 4.0 * double(length);
      double table = tabulated ? 4 * 2 * 4.0 * double(length) : 0;
      EXPECT_LT(double(plan.workspace_bytes), 1.02 * (packed + table) + 4096);
      EXPECT_EQ(plan.scratch_bytes, planOf(code, 16).scratch_bytes);
    }
  }
}

TEST(Growth, FewQueriesPackNothingBefore) {
  for (bool tabulated : {false, true}) {
    Rope r = tabulated ? biased() : rope(32, 32, 16);
    Loaded code(r.text.module());
    // A block has 96 rows, two heads share a key head.
    for (int64_t queries : {1, 48}) {
      torsor_kernel_plan plan = planOf(code, 4096, queries);
      // Entries of the table by age, for each of four heads.
      int64_t table = tabulated ? 4 * 4 * (4096 + queries + 15) / 64 * 64 : 0;
      EXPECT_LE(plan.workspace_bytes, table) << queries;
      EXPECT_EQ(plan.items[0] == 0, !tabulated) << queries;
      EXPECT_EQ(plan.items[1], 2) << queries;
    }
    torsor_kernel_plan plan = planOf(code, 4096, 49);
    EXPECT_GT(plan.workspace_bytes, 2 * (32 + 32) * 4 * 4096);
    EXPECT_GE(plan.items[0], 16);
    EXPECT_EQ(plan.items[1], 4);
  }
}

} // namespace
