// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decode, append and merge against the naive computation.
#include "Rope.h"

using namespace torsor::test;

namespace {

TEST(Decode, FreshKeys) {
  Rope r = rope(64, 64, 32);
  r.text.decode = true;
  r.text.splitKeys = 128;
  Loaded code(r.text.module());
  for (int64_t keys : {1, 5, 31, 32, 33, 127, 128, 129, 500})
    for (int64_t heads : {1, 2, 3, 4, 7})
      compare(code, TORSOR_DECODE, r.naive,
              {.heads = heads,
               .queries = std::min<int64_t>(keys, 3),
               .keys = keys,
               .pieces = 2});
}

TEST(Decode, Widths) {
  for (int64_t head : {1, 7, 20, 80, 136}) {
    Rope r = rope(head, head + 3, head / 2);
    r.text.decode = true;
    Loaded code(r.text.module());
    compare(code, TORSOR_DECODE, r.naive, {.heads = 4, .keys = 45});
  }
}

/// Widths of whole stretches of two vectors, and others; rows so wide that a
/// tile takes one key.
TEST(Decode, HalfTypes) {
  const int64_t widths[][2] = {{72, 40}, {64, 128}, {96, 13}, {528, 530}};
  for (torsor_dtype dtype : {TORSOR_BF16, TORSOR_F16})
    for (auto [head, value] : widths) {
      Rope r = rope(head, value, 32);
      r.text.decode = true;
      r.text.dtype = dtype == TORSOR_BF16 ? "bf16" : "f16";
      Loaded code(r.text.module());
      compare(code, TORSOR_DECODE, r.naive,
              {.heads = 6, .groups = 2, .queries = 2, .keys = 290}, dtype);
    }
}

/// Keys that append has acted on and stored, read back by both kernels.
TEST(Append, ThenAttend) {
  Rope r = rope(64, 40, 16);
  r.text.decode = r.text.append = true;
  Loaded code(r.text.module());
  int64_t tokens = 70, groups = 2;
  Array k(TORSOR_F32, 1, groups, tokens, 64, true),
      v(TORSOR_F32, 1, groups, tokens, 40, true);
  k.fillNormal(2);
  v.fillNormal(3);
  Array keys(TORSOR_F32, 1, groups, tokens, 64),
      values(TORSOR_F32, 1, groups, tokens, 40);
  std::vector<int64_t> index(size_t(tokens), -1);
  CallData call(code, 4, groups);
  call.tensor(TORSOR_AT_K) = k.view();
  call.tensor(TORSOR_AT_V) = v.view();
  call.tensor(TORSOR_AT_SCHEME) = keys.view();
  call.tensor(TORSOR_AT_SCHEME + 1) = values.view();
  call.tensor(TORSOR_AT_SCHEME + 2) =
      torsor_array(index.data(), TORSOR_I64, 1, tokens, 0);
  torsor_sequence sequence = {};
  sequence.query_length = sequence.key_length = sequence.total = tokens;
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  call.run(code.operation(TORSOR_APPEND), 3);
  for (int64_t n = 0; n < tokens; ++n) {
    EXPECT_EQ(index[size_t(n)], n);
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> row(64);
      for (int64_t d = 0; d < 64; ++d)
        row[size_t(d)] = k.get(0, g, n, d);
      turn(r.naive, row, double(n));
      for (int64_t d = 0; d < 64; ++d)
        ASSERT_NEAR(keys.get(0, g, n, d), row[size_t(d)],
                    d < 32 ? 1e-6 * (1 + std::fabs(row[size_t(d)])) : 0.0)
            << "token " << n << " lane " << d;
      for (int64_t d = 0; d < 40; ++d)
        ASSERT_EQ(values.get(0, g, n, d), v.get(0, g, n, d));
    }
  }
  for (torsor_op op : {TORSOR_DECODE, TORSOR_PREFILL})
    compare(code, op, r.naive,
            {.heads = 4, .groups = 2, .queries = 3, .keys = tokens}, TORSOR_F32,
            [&](Arrays &a) {
              a.k = keys;
              a.v = values;
              a.call->args.flags = TORSOR_KEYS_ACTED;
            });
}

/// Slots given, one token not stored.
TEST(Append, Slots) {
  Rope r = rope(16, 16, 0, false, false);
  r.text.pairCount = 4; // the text of append wants a table
  r.text.pairs = "<0, 4, 1 x 4>";
  r.text.pairArguments = ", %s: i64, %t: i64";
  r.text.append = true;
  r.text.keysActed = false;
  Loaded code(r.text.module());
  Array k(TORSOR_F32, 1, 1, 3, 16), keys(TORSOR_F32, 2, 1, 5, 16),
      values(TORSOR_F32, 2, 1, 5, 16);
  k.fillNormal(1);
  CallData call(code, 1, 1);
  int64_t slots[] = {99, 7, -1, 2};
  call.args.slots = slots;
  call.tensor(TORSOR_AT_K) = k.view();
  call.tensor(TORSOR_AT_V) = k.view();
  call.tensor(TORSOR_AT_SCHEME) = keys.view();
  call.tensor(TORSOR_AT_SCHEME + 1) = values.view();
  torsor_sequence sequence = {};
  sequence.query_length = 3;
  sequence.shift = 1; // one token of another sequence comes before
  call.add(sequence);
  call.run(code.operation(TORSOR_APPEND));
  for (int64_t d = 0; d < 16; ++d) {
    EXPECT_EQ(keys.get(1, 0, 2, d), k.get(0, 0, 0, d));
    EXPECT_EQ(values.get(0, 0, 2, d), k.get(0, 0, 2, d));
    EXPECT_TRUE(std::isnan(keys.get(0, 0, 0, d))); // untouched
  }
}

/// Halves of the keys, each PARTIAL, joined with the sink.
TEST(Merge, Halves) {
  Rope r = rope(32, 24, 8);
  r.text.decode = r.text.merge = true;
  r.text.rows = r.text.mergeSink =
      "%hf = arith.sitofp %h : i64 to f32\n%half = arith.constant 0.5 : f32\n"
      "%sink = arith.mulf %hf, %half : f32\n";
  r.text.rowSlots = "%sink";
  r.text.rowTypes = "f32";
  r.text.pairArguments = ", %s: i64, %x: f32, %t: i64";
  r.text.attributes += " sink_slot 1";
  r.text.causal();
  r.naive.sink = [](int64_t, int64_t h) {
    return 0.5 * double(h) * std::log(2.0);
  };
  Loaded code(r.text.module());
  int64_t heads = 3, length = 60, split = 40;
  // The whole, compared with the naive computation.
  Arrays whole = compare(code, TORSOR_PREFILL, r.naive,
                         {.heads = heads, .queries = length, .keys = length});
  std::vector<Array> parts;
  std::vector<std::vector<float>> lses;
  for (int half = 0; half < 2; ++half) {
    parts.emplace_back(TORSOR_F32, 1, heads, length, 24);
    lses.emplace_back(size_t(heads * length));
  }
  torsor_sequence sequence = {};
  sequence.query_length = sequence.total = length;
  sequence.flags = TORSOR_PLACED | TORSOR_PARTIAL;
  auto lseView = [&](std::vector<float> &lse) {
    return torsor_array(lse.data(), TORSOR_F32, 1, heads, length);
  };
  for (int half = 0; half < 2; ++half) {
    CallData call(code, heads, 1);
    sequence.key_index = sequence.key_start = half ? split : 0;
    sequence.key_length = half ? length - split : split;
    call.add(sequence);
    call.tensor(TORSOR_AT_Q) = whole.q.view();
    call.tensor(TORSOR_AT_K) = whole.k.view();
    call.tensor(TORSOR_AT_V) = whole.v.view();
    call.tensor(TORSOR_AT_O) = parts[size_t(half)].view();
    call.tensor(TORSOR_AT_LSE) = lseView(lses[size_t(half)]);
    call.run(code.operation(half ? TORSOR_DECODE : TORSOR_PREFILL));
  }
  CallData call(code, heads, 1);
  for (size_t half = 0; half < 2; ++half)
    call.parts.push_back({parts[half].view(), lseView(lses[half])});
  Array o(TORSOR_F32, 1, heads, length, 24);
  std::vector<float> lse(size_t(heads * length));
  call.tensor(TORSOR_AT_O) = o.view();
  call.tensor(TORSOR_AT_LSE) = lseView(lse);
  sequence.flags = TORSOR_PLACED;
  call.add(sequence);
  call.run(code.operation(TORSOR_MERGE), 2);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < length; ++i) {
      ASSERT_NEAR(lse[size_t(h * length + i)],
                  whole.lse[size_t(h * length + i)], 4e-6);
      for (int64_t d = 0; d < 24; ++d)
        ASSERT_NEAR(o.get(0, h, i, d), whole.o.get(0, h, i, d), 4e-6);
    }
}

} // namespace
