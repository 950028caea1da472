// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random batches against the definition, and random nonsense against crashes.
// TORSOR_TEST_SEED and TORSOR_TEST_ROUNDS choose other runs.

#include "test/runtime/Fixture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace naive;

namespace {

uint32_t seedOfRun() {
  const char *text = std::getenv("TORSOR_TEST_SEED");
  return text ? uint32_t(std::atoll(text)) : 20261129u;
}
int64_t rounds(int64_t usual) {
  const char *text = std::getenv("TORSOR_TEST_ROUNDS");
  return text ? std::atoll(text) : usual;
}

/// A batch of random runs over rows of queries and keys, some of them PLACED
/// or with explicit indices, some empty.
struct RandomBatch {
  Model m;
  int64_t rows, tokens, keyRows, keyTokens;
  Tensors t;
  std::vector<torsor_sequence> sequences;
  std::vector<int64_t> queryIndices, keyIndices;
  torsor_batch batch = {};

  static int64_t groupsOf(Random &r) { return 1 + r.below(3); }

  RandomBatch(Random &r, int64_t groups)
      : m("plain", groups * (1 + r.below(3)), groups), rows(1 + r.below(3)),
        tokens(1 + r.below(14)), keyRows(1 + r.below(3)),
        keyTokens(1 + r.below(20)),
        t(m, rows, tokens, keyRows, keyTokens, uint32_t(r.below(1 << 30))) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t at = r.below(3); at < tokens;) {
        torsor_sequence s = {};
        s.query_row = row, s.query_start = at;
        s.query_length = r.below(std::min<int64_t>(6, tokens - at) + 1);
        s.key_row = r.below(keyRows), s.key_start = r.below(keyTokens);
        s.key_length = r.below(keyTokens - s.key_start + 1);
        if (r.below(2)) {
          s.flags = TORSOR_PLACED;
          s.key_index = r.below(9) - 4, s.query_index = r.below(30) - 4;
          s.total =
              std::max<int64_t>(s.key_index + s.key_length, 0) + r.below(3);
        }
        at += s.query_length + r.below(3) + !s.query_length;
        sequences.push_back(s);
      }
    for (size_t n = sequences.size(); n > 1; --n) // in any order
      std::swap(sequences[n - 1], sequences[size_t(r.below(int64_t(n)))]);
    batch.size = sizeof batch, batch.count = int64_t(sequences.size());
    batch.sequences = sequences.data();
    if (r.below(3) == 0)
      makeIndices(r);
    t.call.batch = &batch;
  }

  void makeIndices(Random &r) {
    for (int64_t n = 0; n < rows * tokens; ++n)
      queryIndices.push_back(r.below(40) - 3);
    for (int64_t n = 0; n < keyRows * keyTokens; ++n)
      keyIndices.push_back(r.below(40) - 3);
    for (torsor_sequence &s : sequences)
      s.flags = TORSOR_PLACED, s.total = 40;
    batch.query_indices =
        torsor_array(queryIndices.data(), TORSOR_I64, rows, tokens, 0);
    batch.key_indices =
        torsor_array(keyIndices.data(), TORSOR_I64, keyRows, keyTokens, 0);
  }

  void compare() {
    std::vector<char> written(size_t(rows * tokens));
    for (const torsor_sequence &s : sequences) {
      bool placed = s.flags & TORSOR_PLACED;
      std::vector<TokenFacts> keys =
          run(s.key_row, s.key_start, s.key_length, placed ? s.key_index : 0);
      for (TokenFacts &key : keys)
        if (!keyIndices.empty())
          key.index = keyIndices[size_t(key.row * keyTokens + key.place)];
      for (int64_t n = 0; n < s.query_length; ++n) {
        int64_t place = s.query_start + n;
        written[size_t(s.query_row * tokens + place)] = 1;
        int64_t first = placed ? s.query_index : s.key_length - s.query_length;
        int64_t index =
            queryIndices.empty()
                ? first + n
                : queryIndices[size_t(s.query_row * tokens + place)];
        for (int64_t h = 0; h < m.H; ++h)
          expectRow(t.call, s.query_row, h, place,
                    direct(m, false, t.call, h,
                           {s.query_row, place, index, 0, 0}, keys));
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t n = 0; n < tokens; ++n)
        if (!written[size_t(row * tokens + n)])
          for (int64_t h = 0; h < m.H; ++h)
            EXPECT_EQ(elementAt(t.call.o, row, h, n)[0], 7.f);
  }
};

TEST(Random, BatchesAgreeWithTheDefinition) {
  uint32_t seed = seedOfRun();
  for (int64_t round = 0; round < rounds(1500) && !testing::Test::HasFailure();
       ++round) {
    SCOPED_TRACE("TORSOR_TEST_SEED=" + std::to_string(seed + round));
    Random r(uint32_t(seed + round));
    RandomBatch b(r, RandomBatch::groupsOf(r));
    expectOk(torsor_run(b.m.instance, TORSOR_ATTEND, &b.t.call, nullptr));
    b.compare();
  }
}

const int64_t extremes[] = {INT64_MIN,
                            INT64_MIN + 1,
                            -(INT64_C(1) << 31),
                            -1,
                            0,
                            1,
                            2,
                            3,
                            5,
                            8,
                            INT32_MAX,
                            INT64_C(1) << 31,
                            INT64_MAX,
                            INT64_MAX - 1,
                            INT64_C(1) << 62};

int64_t extreme(Random &r) {
  return r.below(2) ? extremes[r.below(std::size(extremes))] : r.below(40) - 8;
}

/// Words of sequences, indices and slots may be anything: the call is refused,
/// or it runs inside its tensors. Sanitizers see both.
TEST(Random, SequencesOfAnyKindAreSafe) {
  uint32_t seed = seedOfRun();
  int64_t good = 0, bad = 0;
  // One thread: two tokens may have one slot, and which stays is no matter.
  torsor_executor one;
  expectOk(torsor_pool_create(1, &one));
  for (int64_t round = 0; round < rounds(3000); ++round) {
    SCOPED_TRACE("TORSOR_TEST_SEED=" + std::to_string(seed + round));
    Random r(uint32_t(seed + round));
    RandomBatch b(r, 1);
    torsor_cache_options options = {};
    options.size = sizeof options;
    options.rows = b.keyRows, options.slots = b.keyTokens;
    torsor_cache *cache;
    expectOk(torsor_cache_create(b.m.instance, &options, &cache));
    torsor_op op = TORSOR_ATTEND;
    if (int64_t kind = r.below(3)) {
      b.t.call.cache = cache, b.batch.key_indices = {};
      b.t.call.k = b.t.call.v = {};
      op = kind == 1 ? TORSOR_ATTEND : TORSOR_STEP;
    }
    std::vector<float> k, v;
    if (op == TORSOR_STEP) {
      k = r.floats(b.rows * b.tokens * head);
      v = r.floats(b.rows * b.tokens * value);
      b.t.call.k =
          torsor_token_major(k.data(), TORSOR_F32, b.rows, b.tokens, 1, head);
      b.t.call.v =
          torsor_token_major(v.data(), TORSOR_F32, b.rows, b.tokens, 1, value);
    }
    int64_t newTokens = 0; // before the spoiling: as long as the host knows
    for (const torsor_sequence &s : b.sequences)
      newTokens += s.query_length;
    std::vector<int64_t> slots;
    bool useSlots = op == TORSOR_STEP && r.below(2);
    for (int64_t n = 0; useSlots && n < newTokens; ++n)
      slots.push_back(r.below(8) ? r.below(b.keyRows * b.keyTokens) - 1
                                 : extreme(r));
    slots.reserve(slots.size() + 1);
    for (int64_t n = r.below(3); n > 0 && !b.sequences.empty(); --n) {
      auto &s = b.sequences[size_t(r.below(int64_t(b.sequences.size())))];
      // With `slots` the lengths of queries are the host's promise.
      int64_t word = r.below(12);
      if (!useSlots || word != 2)
        reinterpret_cast<int64_t *>(&s)[word] = extreme(r);
    }
    for (auto *indices : {&b.queryIndices, &b.keyIndices})
      if (!indices->empty() && r.below(4) == 0)
        (*indices)[size_t(r.below(int64_t(indices->size())))] = extreme(r);
    if (useSlots)
      b.batch.slots = slots.data();
    torsor_status status = torsor_run(b.m.instance, op, &b.t.call, &one);
    ++(status ? bad : good);
    EXPECT_TRUE(status == TORSOR_OK || status == TORSOR_RANGE ||
                status == TORSOR_INVALID)
        << torsor_status_name(status) << ": " << torsor_error();
    torsor_cache_destroy(cache);
  }
  torsor_pool_destroy(&one);
  EXPECT_GT(good, rounds(3000) / 10); // both kinds are drawn
  EXPECT_GT(bad, rounds(3000) / 10);
}

/// Tensors, counts and enumerators of any kind: planned or refused, no crash.
TEST(Random, CallsOfAnyKindAreSafe) {
  uint32_t seed = seedOfRun();
  torsor_plan *plan;
  expectOk(torsor_plan_create(&plan));
  int64_t refused[TORSOR_INTERNAL + 1] = {};
  for (int64_t round = 0; round < rounds(20000); ++round) {
    SCOPED_TRACE("TORSOR_TEST_SEED=" + std::to_string(seed + round));
    Random r(uint32_t(seed + round));
    static Model m("plain", 2, 1);
    static Tensors t(m, 2, 4, 2, 6);
    torsor_call call = t.call;
    torsor_tensor *tensors[] = {&call.q, &call.k, &call.v, &call.o, &call.lse};
    for (int64_t n = 1 + r.below(2); n > 0; --n) {
      torsor_tensor &x = *tensors[r.below(5)];
      switch (r.below(7)) {
      case 0:
      case 1:
        x.shape[r.below(6)] = extreme(r);
        break;
      case 2:
      case 3:
        x.strides[r.below(6)] = extreme(r);
        break;
      case 4:
        x.rank = int32_t(extreme(r));
        break;
      case 5:
        (r.below(2) ? x.dtype : x.device) = int32_t(extreme(r));
        break;
      default:
        x.data = static_cast<char *>(x.data) + r.below(9);
      }
    }
    torsor_op op = r.below(3) ? TORSOR_ATTEND : torsor_op(r.below(14));
    int64_t workers = r.below(4) ? 2 : extreme(r);
    if (workers > 64)
      workers = 64;
    torsor_plan_info info = {};
    info.size = sizeof info;
    torsor_status status =
        torsor_plan_set(plan, m.instance, op, &call, workers, &info);
    ++refused[status];
    EXPECT_NE(status, TORSOR_INTERNAL) << torsor_error();
    EXPECT_TRUE(status == TORSOR_OK || torsor_error()[0]);
  }
  for (torsor_status status : {TORSOR_OK, TORSOR_INVALID, TORSOR_SHAPE,
                               TORSOR_DTYPE, TORSOR_STRIDE, TORSOR_UNSUPPORTED})
    EXPECT_GT(refused[status], 0) << torsor_status_name(status);
  torsor_plan_destroy(plan);
}

/// Texts of contracts: read, refused, compared, never a crash.
TEST(Random, ContractTextsAreSafe) {
  const char *pieces[] = {"contract",    "1",
                          "groups",      "2",
                          "(",           ")",
                          "[",           "]",
                          "0.5",         "1e9",
                          "1e",          "1.",
                          ".5",          "$w",
                          "$w:",         "$w:0123456789abcdef0123456789abcdef",
                          "x_1",         "-",
                          "1e999999999", "\n",
                          "\xff",        "12345678901234567890"};
  Random r(seedOfRun());
  std::vector<torsor_contract *> read;
  for (int64_t round = 0; round < rounds(5000); ++round) {
    std::string text = r.below(4) ? "contract 1 groups 2 " : "";
    for (int64_t n = r.below(12); n > 0; --n)
      text += std::string(r.below(3) ? " " : "") +
              pieces[r.below(std::size(pieces))];
    torsor_contract *out;
    torsor_status status = torsor_contract_parse(text.c_str(), &out);
    EXPECT_TRUE(status == TORSOR_OK || status == TORSOR_INVALID);
    if (out)
      read.push_back(out);
  }
  ASSERT_GT(int64_t(read.size()), rounds(5000) / 50);
  for (size_t n = 1; n < read.size(); ++n) {
    EXPECT_EQ(torsor_contract_compare(read[n], read[n]), TORSOR_OK);
    EXPECT_EQ(torsor_contract_compare(read[n - 1], read[n]),
              torsor_contract_compare(read[n], read[n - 1]));
  }
  for (torsor_contract *contract : read)
    torsor_contract_destroy(contract);
}

} // namespace
