// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ATTEND, PREFILL, DECODE and MERGE on fresh keys against the definition.

#include "test/runtime/Fixture.h"

#include <cstring>

using namespace naive;

namespace {

TEST(Attend, PaddedBatchIsOneSequenceARow) {
  Model m("plain");
  Tensors t(m, 3, 6, 3, 9);
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t n = 0; n < 6; ++n)
      for (int64_t h = 0; h < m.H; ++h) // the queries are the last of the keys
        expectRow(t.call, row, h, n,
                  direct(m, false, t.call, h, {row, n, 3 + n, 0, 0},
                         run(row, 0, 9, 0)));
}

TEST(Attend, MoreQueriesThanKeysLeavesTheFirstOnesEmpty) {
  Model m("plain");
  Tensors t(m, 1, 5, 1, 3);
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  for (int64_t n = 0; n < 5; ++n)
    expectRow(
        t.call, 0, 1, n,
        direct(m, false, t.call, 1, {0, n, n - 2, 0, 0}, run(0, 0, 3, 0)));
  EXPECT_EQ(elementAt(t.call.o, 0, 1, 0)[0], 0.f);
}

TEST(Attend, NoKeysGiveZeroAndMinusInfinity) {
  Model m("plain");
  Tensors t(m, 2, 1, 2, 0);
  t.call.k.data = t.call.v.data = nullptr; // as an empty array may come
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  expectRow(t.call, 1, 3, 0, Row());
}

/// Prompts and single tokens mixed, in any order, over rows of queries and of
/// keys; rows outside all runs keep what they held.
TEST(Attend, RaggedBatchMixesPrefillAndDecode) {
  Model m("plain");
  Tensors t(m, 2, 20, 3, 30);
  torsor_sequence sequences[5] = {};
  sequences[0] = {1, 10, 4, 0, 3, 17};
  sequences[1] = {0, 0, 1, 2, 0, 30};
  sequences[2] = {0, 5, 9, 1, 10, 9};
  sequences[3] = {1, 0, 2, 1, 10, 9}; // the same keys once more
  sequences[4] = {0, 3, 0, 2, 1, 5};  // no queries
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 5, batch.sequences = sequences;
  t.call.batch = &batch;
  std::vector<float> before = t.o;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  std::vector<char> written(40);
  for (const torsor_sequence &s : sequences)
    for (int64_t n = 0; n < s.query_length; ++n) {
      written[size_t(s.query_row * 20 + s.query_start + n)] = 1;
      for (int64_t h = 0; h < m.H; ++h)
        expectRow(t.call, s.query_row, h, s.query_start + n,
                  direct(m, false, t.call, h,
                         {s.query_row, s.query_start + n,
                          s.key_length - s.query_length + n, 0, 0},
                         run(s.key_row, s.key_start, s.key_length, 0)));
    }
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t n = 0; n < 20; ++n)
      for (int64_t h = 0; h < m.H && !written[size_t(row * 20 + n)]; ++h)
        EXPECT_EQ(elementAt(t.call.o, row, h, n)[0], 7.f) << row << " " << n;
}

struct FullInputs {
  std::vector<int32_t> queryPos, keyPos, queryDoc, keyDoc;
  std::vector<float> bonus, gain;
  std::vector<torsor_binding> list;

  FullInputs(const Model &m, int64_t sequences, int64_t rows, int64_t tokens,
             int64_t keyRows, int64_t keys) {
    Random random(5);
    for (int64_t n = 0; n < rows * tokens; ++n) {
      queryPos.push_back(int32_t(1000 + 3 * (n % tokens)));
      queryDoc.push_back(int32_t(random.below(2)));
    }
    for (int64_t n = 0; n < keyRows * keys; ++n) {
      keyPos.push_back(int32_t(2 * (n % keys)));
      keyDoc.push_back(int32_t(random.below(2)));
    }
    for (int64_t n = 0; n < sequences; ++n)
      bonus.push_back(0.5f * float(n));
    for (int64_t h = 0; h < m.H; ++h)
      gain.push_back(1.f + 0.25f * float(h));
    auto ints = [](std::vector<int32_t> &v, int64_t a, int64_t b) {
      return torsor_array(v.data(), TORSOR_I32, a, b, 0);
    };
    list = {{"pos", TORSOR_QUERY, 0, ints(queryPos, rows, tokens)},
            {"pos", TORSOR_KEY, 0, ints(keyPos, keyRows, keys)},
            {"doc", TORSOR_QUERY, 0, ints(queryDoc, rows, tokens)},
            {"doc", TORSOR_KEY, 0, ints(keyDoc, keyRows, keys)},
            {"bonus", 0, 0,
             torsor_array(bonus.data(), TORSOR_F32, sequences, 0, 0)},
            {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, m.H, 0, 0)}};
  }
};

/// Clocks and inputs by name, those per sequence where ATTEND splits a batch,
/// shifted indices, PLACED.
TEST(Attend, InputsByNameAndPlacedSequences) {
  Model m("full");
  Tensors t(m, 1, 12, 1, 24);
  FullInputs in(m, 3, 1, 12, 1, 24);
  torsor_sequence sequences[3] = {};
  sequences[0] = {0, 0, 6, 0, 0, 10, 20, 14, 24, TORSOR_PLACED};
  sequences[1] = {0, 6, 1, 0, 10, 8, 40, 33, 50, TORSOR_PLACED};
  sequences[2] = {0, 7, 5, 0, 18, 6, -2, -3, 3, TORSOR_PLACED};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 3, batch.sequences = sequences;
  batch.flags = TORSOR_CHECK_VALUES;
  batch.inputs = in.list.data(), batch.input_count = 4; // pos and doc
  t.call.batch = &batch;
  t.call.inputs = in.list.data() + 4, t.call.input_count = 2;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  for (int64_t b = 0; b < 3; ++b) {
    const torsor_sequence &s = sequences[b];
    std::vector<TokenFacts> keys =
        run(0, s.key_start, s.key_length, s.key_index);
    for (TokenFacts &key : keys) {
      key.pos = in.keyPos[size_t(key.place)];
      key.doc = in.keyDoc[size_t(key.place)];
    }
    for (int64_t n = 0; n < s.query_length; ++n)
      for (int64_t h = 0; h < m.H; ++h) {
        int64_t place = s.query_start + n;
        expectRow(t.call, 0, h, place,
                  direct(m, true, t.call, h,
                         {0, place, s.query_index + n,
                          double(in.queryPos[size_t(place)]),
                          in.queryDoc[size_t(place)]},
                         keys, in.gain[size_t(h)], in.bonus[size_t(b)]));
      }
  }
}

/// Explicit indices of both types, strided, with padding, in any order.
TEST(Attend, ExplicitIndices) {
  Model m("plain");
  for (bool wide : {false, true}) {
    Tensors t(m, 2, 4, 2, 7);
    std::vector<int64_t> queryIndex = {5, -1, 2, 9, 3, 3, 0, 1};
    std::vector<int64_t> keyIndex = {4, 0, -5, 9, 2, 1, 3,
                                     0, 1, 2,  3, 4, 5, -1};
    std::vector<int32_t> narrowQuery(queryIndex.begin(), queryIndex.end());
    std::vector<int32_t> narrowKey(keyIndex.begin(), keyIndex.end());
    torsor_sequence sequences[2] = {};
    for (int64_t b = 0; b < 2; ++b)
      sequences[b] = {b, 0, 4, b, 0, 7, 0, 0, 10, TORSOR_PLACED};
    torsor_batch batch = {};
    batch.size = sizeof batch, batch.count = 2, batch.sequences = sequences;
    batch.query_indices =
        wide ? torsor_array(queryIndex.data(), TORSOR_I64, 2, 4, 0)
             : torsor_array(narrowQuery.data(), TORSOR_I32, 2, 4, 0);
    batch.key_indices =
        wide ? torsor_array(keyIndex.data(), TORSOR_I64, 2, 7, 0)
             : torsor_array(narrowKey.data(), TORSOR_I32, 2, 7, 0);
    t.call.batch = &batch;
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    for (int64_t b = 0; b < 2; ++b) {
      std::vector<TokenFacts> keys = run(b, 0, 7, 0);
      for (TokenFacts &key : keys)
        key.index = keyIndex[size_t(b * 7 + key.place)];
      for (int64_t n = 0; n < 4; ++n)
        for (int64_t h = 0; h < m.H; ++h)
          expectRow(t.call, b, h, n,
                    direct(m, false, t.call, h,
                           {b, n, queryIndex[size_t(b * 4 + n)], 0, 0}, keys));
    }
  }
}

TEST(Attend, RankThreeIsOneRow) {
  Model m("plain");
  Tensors t(m, 1, 4, 1, 4), u(m, 1, 4, 1, 4);
  auto drop = [](torsor_tensor &x) {
    for (int a = 1; a < x.rank; ++a)
      x.shape[a - 1] = x.shape[a], x.strides[a - 1] = x.strides[a];
    --x.rank;
  };
  for (torsor_tensor *x :
       {&u.call.q, &u.call.k, &u.call.v, &u.call.o, &u.call.lse})
    drop(*x);
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &u.call, nullptr));
  EXPECT_EQ(t.o, u.o);
  EXPECT_EQ(t.lse, u.lse);
}

TEST(Attend, DecodeAndPrefillAgree) {
  Model m("plain");
  Tensors t(m, 1, 2, 1, 33), u(m, 1, 2, 1, 33);
  expectOk(torsor_run(m.instance, TORSOR_DECODE, &t.call, nullptr));
  expectOk(torsor_run(m.instance, TORSOR_PREFILL, &u.call, nullptr));
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t h = 0; h < m.H; ++h)
      for (int64_t d = 0; d < value; ++d)
        EXPECT_NEAR(elementAt(t.call.o, 0, h, n)[d],
                    elementAt(u.call.o, 0, h, n)[d], 1e-6);
}

/// Two halves of the keys, merged: the sink enters once.
TEST(Merge, PartialHalvesGiveTheWhole) {
  Model m("full");
  constexpr int64_t L = 11, half = 5;
  Tensors whole(m, 1, L, 1, L), left(m, 1, L, 1, L), right(m, 1, L, 1, L);
  FullInputs in(m, 1, 1, L, 1, L);
  for (int32_t &pos : in.queryPos)
    pos = int32_t(&pos - in.queryPos.data());
  for (int32_t &pos : in.keyPos)
    pos = int32_t(&pos - in.keyPos.data());
  auto attend = [&](Tensors &t, int64_t from, int64_t count, uint64_t flags) {
    torsor_sequence s = {0,     0, L,    0, from,
                         count, 0, from, L, TORSOR_PLACED | flags};
    torsor_batch batch = {};
    batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
    t.call.batch = &batch;
    t.call.inputs = in.list.data(), t.call.input_count = 6;
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  };
  attend(whole, 0, L, 0);
  attend(left, 0, half, TORSOR_PARTIAL);
  attend(right, half, L - half, TORSOR_PARTIAL);
  torsor_part parts[2] = {{left.call.o, left.call.lse},
                          {right.call.o, right.call.lse}};
  Tensors out(m, 1, L, 1, L);
  torsor_call call = {};
  call.size = sizeof call;
  call.o = out.call.o, call.lse = out.call.lse;
  call.parts = parts, call.part_count = 2;
  expectOk(torsor_run(m.instance, TORSOR_MERGE, &call, nullptr));
  for (size_t n = 0; n < size_t(L * m.H * value); ++n)
    EXPECT_NEAR(out.o[n], whole.o[n], tolerance);
  for (size_t n = 0; n < size_t(L * m.H); ++n)
    EXPECT_TRUE(out.lse[n] == whole.lse[n] || // -inf where no key is seen
                std::fabs(out.lse[n] - whole.lse[n]) <= tolerance)
        << out.lse[n] << " " << whole.lse[n];

  // A first level that is PARTIAL again leaves the sink to the second.
  torsor_sequence s = {0, 0, L, 0, 0,
                       0, 0, 0, L, TORSOR_PLACED | TORSOR_PARTIAL};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  Tensors first(m, 1, L, 1, L);
  call.batch = &batch, call.o = first.call.o, call.lse = first.call.lse;
  expectOk(torsor_run(m.instance, TORSOR_MERGE, &call, nullptr));
  torsor_part joined = {first.call.o, first.call.lse};
  Tensors second(m, 1, L, 1, L);
  call.batch = nullptr, call.parts = &joined, call.part_count = 1;
  call.o = second.call.o, call.lse = second.call.lse;
  expectOk(torsor_run(m.instance, TORSOR_MERGE, &call, nullptr));
  for (size_t n = 0; n < size_t(L * m.H * value); ++n)
    EXPECT_NEAR(second.o[n], whole.o[n], tolerance);
}

TEST(Attend, AnEmptyBatchDoesNothing) {
  Model m("plain");
  Tensors t(m, 1, 4, 1, 4);
  torsor_batch batch = {};
  batch.size = sizeof batch;
  t.call.batch = &batch;
  std::vector<float> before = t.o;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  EXPECT_EQ(t.o, before);
}

/// Layers share a batch: what another scheme of the library reads may be in it.
TEST(Attend, ABatchMayCarryInputsOfOtherLayers) {
  Model m("plain");
  Tensors t(m, 1, 4, 1, 4);
  Model other("full");
  FullInputs in(other, 1, 1, 4, 1, 4);
  torsor_sequence s = {0, 0, 4, 0, 0, 4};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  batch.inputs = in.list.data(), batch.input_count = 6;
  t.call.batch = &batch;
  expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
  t.call.inputs = in.list.data(), t.call.input_count = 1;
  expectFailure(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr),
                TORSOR_NAME, {"'plain' has no clock or input 'pos'"});
}

} // namespace
