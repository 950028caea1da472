// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches: APPEND, ATTEND over what is stored, STEP, streams, contracts.

#include "test/runtime/Fixture.h"

#include <cstring>

using namespace naive;

namespace {

/// Sequences in the rows of one cache, fed token by token or in chunks.
struct Engine {
  static constexpr int64_t rows = 3, slots = 40;
  Model &m;
  torsor_cache *cache = nullptr;
  int64_t lengths[rows] = {};
  // Everything ever fed, by row, as the reference reads it.
  std::vector<float> keys, values;
  std::vector<int32_t> docs;
  torsor_call history = {};

  Engine(Model &m, std::initializer_list<const char *> streams) : m(m) {
    torsor_cache_options options = {};
    options.size = sizeof options, options.rows = rows, options.slots = slots;
    std::vector<torsor_binding> list;
    for (const char *name : streams)
      list.push_back({name, 0, 0, {}});
    options.streams = list.data(), options.stream_count = int64_t(list.size());
    expectOk(torsor_cache_create(m.instance, &options, &cache));
    keys.assign(size_t(rows * slots * m.G * head), 0.f);
    values.assign(size_t(rows * slots * m.G * value), 0.f);
    docs.assign(size_t(rows * slots), 0);
    history.k =
        torsor_token_major(keys.data(), TORSOR_F32, rows, slots, m.G, head);
    history.v =
        torsor_token_major(values.data(), TORSOR_F32, rows, slots, m.G, value);
  }
  ~Engine() { torsor_cache_destroy(cache); }
};

void feed(Engine &e, const std::vector<int64_t> &counts, uint32_t seed,
          bool asStep, std::vector<float> *output = nullptr) {
  Model &m = e.m;
  int64_t tokens = 0;
  for (int64_t c : counts)
    tokens += c;
  Tensors t(m, 1, tokens, 1, tokens, seed);
  Random random(seed + 100);
  std::vector<int32_t> docs;
  for (int64_t n = 0; n < tokens; ++n)
    docs.push_back(int32_t(random.below(2)));
  std::vector<float> bonus(counts.size(), 0.25f), gain(size_t(m.H), 1.f);
  std::vector<torsor_sequence> sequences;
  int64_t start = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    int64_t row = int64_t(b);
    for (int64_t n = 0; n < counts[b]; ++n) {
      int64_t slot = e.lengths[row] + n;
      for (int64_t g = 0; g < m.G; ++g) {
        std::memcpy(const_cast<float *>(elementAt(e.history.k, row, g, slot)),
                    elementAt(t.call.k, 0, g, start + n), head * 4);
        std::memcpy(const_cast<float *>(elementAt(e.history.v, row, g, slot)),
                    elementAt(t.call.v, 0, g, start + n), value * 4);
      }
      e.docs[size_t(row * Engine::slots + slot)] = docs[size_t(start + n)];
    }
    e.lengths[row] += counts[b];
    torsor_sequence s = {0, start, counts[b], row, 0, e.lengths[row]};
    sequences.push_back(s);
    start += counts[b];
  }
  torsor_binding inputs[] = {
      {"doc", TORSOR_QUERY, 0,
       torsor_array(docs.data(), TORSOR_I32, 1, tokens, 0)},
      {"bonus", 0, 0,
       torsor_array(bonus.data(), TORSOR_F32, int64_t(bonus.size()), 0, 0)},
      {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, m.H, 0, 0)}};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = int64_t(sequences.size());
  batch.sequences = sequences.data();
  batch.inputs = inputs, batch.input_count = 3;
  torsor_call call = t.call;
  call.batch = &batch, call.cache = e.cache;
  if (asStep) {
    expectOk(torsor_run(m.instance, TORSOR_STEP, &call, nullptr));
  } else {
    torsor_call append = call;
    append.q = append.o = append.lse = torsor_tensor();
    expectOk(torsor_run(m.instance, TORSOR_APPEND, &append, nullptr));
    call.k = call.v = torsor_tensor();
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &call, nullptr));
  }
  torsor_call reference = e.history;
  reference.q = t.call.q;
  for (size_t b = 0; b < sequences.size(); ++b) {
    const torsor_sequence &s = sequences[b];
    std::vector<TokenFacts> keys = run(s.key_row, 0, s.key_length, 0);
    for (TokenFacts &key : keys)
      key.doc = e.docs[size_t(s.key_row * Engine::slots + key.place)];
    for (int64_t n = 0; n < s.query_length; ++n) {
      int64_t index = s.key_length - s.query_length + n;
      for (int64_t h = 0; h < m.H; ++h)
        expectRow(t.call, 0, h, s.query_start + n,
                  direct(m, true, reference, h,
                         {0, s.query_start + n, index, double(index),
                          docs[size_t(s.query_start + n)]},
                         keys, 1, 0.25));
    }
  }
  if (output)
    *output = t.o;
}

/// Prompts, single tokens and sequences that rest, over acted keys with the
/// document of each key in a stream.
TEST(Step, PromptsThenTokens) {
  Model m("full");
  Engine e(m, {"doc", "pos"});
  feed(e, {5, 1, 9}, 1, true);
  feed(e, {1, 1, 1}, 2, true);
  feed(e, {1, 7, 0}, 3, true);
  feed(e, {2, 1, 1}, 4, true);
}

TEST(Step, IsAppendThenAttendToTheBit) {
  Model m("full");
  Engine a(m, {"doc"}), b(m, {"doc"});
  for (uint32_t step = 0; step < 3; ++step) {
    std::vector<float> one, two;
    feed(a, {3, 1, 6}, 10 + step, true, &one);
    feed(b, {3, 1, 6}, 10 + step, false, &two);
    ASSERT_EQ(std::memcmp(one.data(), two.data(), one.size() * 4), 0);
  }
}

/// The library's memory and the caller's, with the stored index as a stream:
/// slots given by hand, so that slots and indices have nothing in common.
TEST(Step, SlotsAndStoredIndices) {
  Model m("full");
  Engine e(m, {"doc", "index", "pos"});
  constexpr int64_t L = 4;
  Tensors t(m, 1, L, 1, L, 77);
  std::vector<int32_t> docs(L, 1);
  std::vector<float> bonus(1, 0.f), gain(size_t(m.H), 1.f);
  // token n lies in row 1 at slot 2, 0, nowhere, 1
  std::vector<int64_t> slots = {42, 40, -1, 41};
  torsor_binding inputs[] = {
      {"doc", TORSOR_QUERY, 0, torsor_array(docs.data(), TORSOR_I32, 1, L, 0)},
      {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, 1, 0, 0)},
      {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, m.H, 0, 0)}};
  torsor_sequence s = {0, 0, L, 1, 0, 3, 10, 0, 14, TORSOR_PLACED};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  batch.slots = slots.data(), batch.inputs = inputs, batch.input_count = 3;
  torsor_call call = t.call;
  call.batch = &batch, call.cache = e.cache;
  expectOk(torsor_run(m.instance, TORSOR_STEP, &call, nullptr));
  torsor_tensor index;
  expectOk(torsor_cache_stream(e.cache, "index", &index));
  const int64_t *stored = static_cast<int64_t *>(index.data) + Engine::slots;
  EXPECT_EQ(stored[0], 11);
  EXPECT_EQ(stored[1], 13);
  EXPECT_EQ(stored[2], 10);
  std::vector<TokenFacts> keys;
  for (int64_t n : {1, 3, 0})
    keys.push_back({0, n, 10 + n, double(10 + n), 1});
  for (int64_t n = 0; n < L; ++n)
    for (int64_t h = 0; h < m.H; ++h)
      expectRow(
          t.call, 0, h, n,
          direct(m, true, t.call, h, {0, n, 10 + n, double(10 + n), 1}, keys));
}

/// A rollback is another batch over the same storage.
TEST(Step, RollbackIsAnotherBatch) {
  Model m("full");
  Engine e(m, {"doc"});
  feed(e, {6, 6, 6}, 20, true);
  for (int64_t &length : e.lengths)
    length -= 2; // two drafted tokens were refused
  feed(e, {1, 1, 3}, 21, true);
}

TEST(Cache, CallersMemoryIsUsedAsItLies) {
  Model m("plain");
  std::vector<float> k(2 * 9 * 2 * head), v(2 * 9 * 2 * value);
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.k = torsor_token_major(k.data(), TORSOR_F32, 2, 9, 2, head);
  options.v = torsor_dense(v.data(), TORSOR_F32, 2, 2, 9, value);
  torsor_cache *cache;
  expectOk(torsor_cache_create(m.instance, &options, &cache));
  Tensors t(m, 1, 3, 1, 3);
  torsor_sequence s = {0, 0, 3, 1, 4, 3};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  torsor_call call = t.call;
  call.batch = &batch, call.cache = cache;
  expectOk(torsor_run(m.instance, TORSOR_STEP, &call, nullptr));
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t g = 0; g < 2; ++g) {
      EXPECT_EQ(std::memcmp(elementAt(options.k, 1, g, 4 + n),
                            elementAt(t.call.k, 0, g, n), head * 4),
                0);
      EXPECT_EQ(std::memcmp(elementAt(options.v, 1, g, 4 + n),
                            elementAt(t.call.v, 0, g, n), value * 4),
                0);
      for (int64_t h = 0; h < m.H; ++h)
        expectRow(
            t.call, 0, h, n,
            direct(m, false, t.call, h, {0, n, n, 0, 0}, run(0, 0, 3, 0)));
    }
  torsor_cache_destroy(cache);
}

TEST(Cache, BytesAndViews) {
  Model m("full");
  int64_t bytes = 0;
  expectOk(torsor_cache_bytes(m.instance, 3, 40, &bytes));
  EXPECT_EQ(bytes, 3 * 40 * (m.G * (head + value) * 4 + 4 + 4 + 8));
  Engine e(m, {"pos"});
  torsor_tensor view;
  expectOk(torsor_cache_stream(e.cache, "k", &view));
  EXPECT_EQ(view.rank, 4);
  EXPECT_EQ(view.shape[1], m.G);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 64, 0u);
  expectOk(torsor_cache_stream(e.cache, "pos", &view));
  EXPECT_EQ(view.rank, 2);
  expectFailure(torsor_cache_stream(e.cache, "doc", &view), TORSOR_NAME,
                {"no stream 'doc'"});
  EXPECT_EQ(view.data, nullptr);
}

TEST(Cache, OutlivesInstanceAndScheme) {
  auto *m = new Model("full");
  auto *e = new Engine(*m, {"doc"});
  torsor_cache *cache = e->cache;
  e->cache = nullptr;
  delete e;
  delete m;
  EXPECT_NE(std::string(torsor_contract_text(torsor_cache_contract(cache))),
            "");
  torsor_cache_destroy(cache);
}

TEST(Cache, KeysOfAnotherContractAreRefused) {
  Model a("full"), b("full");
  Engine e(a, {"doc"});
  b.turn[2] = 0.2f; // another spectrum: a param that the contract reads
  torsor_instance_destroy(b.instance);
  auto params = b.params();
  expectOk(
      torsor_instance_create(b.scheme, 4, 2, params.data(), 3, &b.instance));
  Tensors t(b, 1, 1, 1, 1);
  torsor_sequence s = {0, 0, 1, 0, 0, 1};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  torsor_call call = t.call;
  call.batch = &batch, call.cache = e.cache;
  torsor_status status = torsor_run(b.instance, TORSOR_STEP, &call, nullptr);
  expectFailure(
      status, TORSOR_CONTRACT,
      {"the cache (scheme 'full')", "step by scheme 'full'",
       "'$turn:", torsor_contract_text(torsor_cache_contract(e.cache)),
       torsor_contract_text(torsor_instance_contract(b.instance))});
  // A slope is no part of what a cache holds.
  b.turn[2] = 0.1f, b.slope[0] = 0.125f;
  torsor_instance_destroy(b.instance);
  params = b.params();
  expectOk(
      torsor_instance_create(b.scheme, 4, 2, params.data(), 3, &b.instance));
  call.inputs = nullptr;
  status = torsor_run(b.instance, TORSOR_STEP, &call, nullptr);
  expectFailure(status, TORSOR_NAME, {"'doc' of scheme 'full' is missing"});
}

} // namespace
