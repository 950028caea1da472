// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches under contracts that agree to the last digits only, clocks that must
// not run backwards in a cache, values that are part of the key.

#include "test/runtime/Fixture.h"

#include <utility>

using namespace naive;

namespace {

/// A scheme of its own contract text, with the kernels of `plain`.
struct Variant {
  torsor_variant variant = plain.variants[1];
  torsor_descriptor d = plain;
  const torsor_descriptor *list[1] = {&d};
  torsor_module made = naive::module;

  explicit Variant(const char *contract) {
    d.contract = contract;
    d.variants = &variant, d.variant_count = 1;
    made.schemes = list, made.scheme_count = 1, made.layers = 0;
  }
};

TEST(CacheContract, LastDigitsDoNotCount) {
  Variant a("keys raw scale [0.1, 2.0]"),
      b("keys raw scale [0.10000000000000003, 2.0]"),
      c("keys raw scale [0.1000001, 2.0]");
  Model one("plain", 4, 2, a.made), two("plain", 4, 2, b.made),
      three("plain", 4, 2, c.made);
  torsor_cache_options options = {};
  options.size = sizeof options, options.rows = 1, options.slots = 8;
  torsor_cache *cache;
  expectOk(torsor_cache_create(one.instance, &options, &cache));
  torsor_sequence s = {0, 0, 2, 0, 0, 2};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
  Tensors t(two, 1, 2, 1, 2);
  t.call.batch = &batch, t.call.cache = cache;
  for (int n = 0; n < 2; ++n) // compared whole, then remembered
    expectOk(torsor_run(two.instance, TORSOR_STEP, &t.call, nullptr));
  expectFailure(torsor_run(three.instance, TORSOR_STEP, &t.call, nullptr),
                TORSOR_CONTRACT, {"first '0.1' against '0.1000001'"});
  expectOk(torsor_run(two.instance, TORSOR_STEP, &t.call, nullptr));
  torsor_cache_destroy(cache);
}

struct Rising : testing::Test {
  Model m{"full"};
  torsor_cache *cache = nullptr;
  Tensors t{m, 1, 3, 1, 3};
  std::vector<int32_t> pos = {4, 5, 7}, doc = {1, 1, 1};
  std::vector<float> bonus = {0}, gain = {1, 1, 1, 1};
  torsor_sequence s = {0, 0, 3, 0, 0, 3};
  torsor_batch batch = {};
  std::vector<torsor_binding> inputs;

  void SetUp() override {
    torsor_binding streams[] = {{"pos", 0, 0, {}}, {"doc", 0, 0, {}}};
    torsor_cache_options options = {};
    options.size = sizeof options, options.rows = 1, options.slots = 16;
    options.streams = streams, options.stream_count = 2;
    expectOk(torsor_cache_create(m.instance, &options, &cache));
    batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
    auto tokens = [](std::vector<int32_t> &v) {
      return torsor_array(v.data(), TORSOR_I32, 1, 3, 0);
    };
    inputs = {{"pos", TORSOR_QUERY, 0, tokens(pos)},
              {"doc", TORSOR_QUERY, 0, tokens(doc)},
              {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, 1, 0, 0)},
              {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, 4, 0, 0)}};
    t.call.batch = &batch, t.call.cache = cache;
    t.call.inputs = inputs.data(), t.call.input_count = 4;
  }
  void TearDown() override { torsor_cache_destroy(cache); }
  torsor_status step() {
    return torsor_run(m.instance, TORSOR_STEP, &t.call, nullptr);
  }
};

TEST_F(Rising, AmongNewTokensAndAgainstTheLastStored) {
  expectOk(step());
  s.key_length = 6;
  pos = {7, 7, 9};
  expectOk(step());
  s.key_length = 9;
  pos = {8, 9, 9};
  expectFailure(step(), TORSOR_VALUE,
                {"step: sequence 0: clock 'pos' runs backwards: it is 9 at the "
                 "key of index 5, but 8 at the query of index 6"});
  pos = {9, 12, 11};
  expectFailure(step(), TORSOR_VALUE,
                {"it is 12 at the key of index 7, but 11 at the query of index "
                 "8"});
  torsor_call append = t.call;
  append.q = append.o = append.lse = {};
  expectFailure(torsor_run(m.instance, TORSOR_APPEND, &append, nullptr),
                TORSOR_VALUE, {"append: sequence 0: clock 'pos'"});
  // In the order of indices, whatever the order of tokens.
  std::vector<int64_t> order = {6, 8, 7};
  batch.query_indices = torsor_array(order.data(), TORSOR_I64, 1, 3, 0);
  expectOk(step());
  // Padding has no time.
  s.key_length = 12;
  order = {-1, 9, 10}, pos = {0, 12, 12};
  expectOk(step());
}

/// Keys 0, 2 and 4 at 0, 5 and 6, by the indices that the cache holds.
TEST_F(Rising, ByTheIndicesOfTheCache) {
  torsor_cache_destroy(cache);
  torsor_binding streams[] = {{"index", 0, 0, {}}, {"doc", 0, 0, {}}};
  torsor_cache_options options = {};
  options.size = sizeof options, options.rows = 1, options.slots = 16;
  options.streams = streams, options.stream_count = 2;
  expectOk(torsor_cache_create(m.instance, &options, &cache));
  t.call.cache = cache;
  std::vector<int64_t> order = {0, 2, 4};
  std::vector<int32_t> keyPos(16);
  pos = {0, 5, 6};
  std::copy(pos.begin(), pos.end(), keyPos.begin());
  inputs.push_back({"pos", TORSOR_KEY, 0,
                    torsor_array(keyPos.data(), TORSOR_I32, 1, 16, 0)});
  t.call.inputs = inputs.data(), t.call.input_count = 5;
  batch.query_indices = torsor_array(order.data(), TORSOR_I64, 1, 3, 0);
  s.total = 5, s.flags = TORSOR_PLACED;
  expectOk(step());
  t.call.k = t.call.v = {};
  auto attend = [&] {
    return torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr);
  };
  order = {2, 3, 4}, pos = {5, 5, 6}; // no key lies between 2 and 4
  expectOk(attend());
  pos = {5, 5, 5};
  expectFailure(attend(), TORSOR_VALUE,
                {"it is 6 at the key of index 4, but 5 at the query of index "
                 "4"});
}

TEST_F(Rising, KeysOfTheCallBesideAStream) {
  std::vector<int32_t> keyPos(16, 3);
  inputs.push_back({"pos", TORSOR_KEY, 0,
                    torsor_array(keyPos.data(), TORSOR_I32, 1, 16, 0)});
  t.call.inputs = inputs.data(), t.call.input_count = 5;
  expectFailure(step(), TORSOR_NAME,
                {"'pos' is given at keys, but the cache stores it"});
}

TEST_F(Rising, NothingIsWrittenWhereAnotherTensorLies) {
  torsor_tensor keys, docs;
  expectOk(torsor_cache_stream(cache, "k", &keys));
  expectOk(torsor_cache_stream(cache, "doc", &docs));
  auto expectRefused = [&](void *&data, void *address, const char *text) {
    void *kept = std::exchange(data, address);
    expectFailure(step(), TORSOR_STRIDE, {text, "must not overlap"});
    data = kept;
  };
  expectRefused(t.call.o.data, keys.data,
                "step: o lies at the address of the cache's k");
  expectRefused(t.call.lse.data, docs.data,
                "lse lies at the address of the cache's doc");
  expectRefused(t.call.lse.data, pos.data(), "lse lies at the address of pos");
  expectRefused(t.call.k.data, keys.data,
                "the cache's k lies at the address of k");
  expectOk(step());
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.k = torsor_dense(t.k.data(), TORSOR_F32, 1, 2, 3, head);
  options.v = torsor_dense(t.k.data(), TORSOR_F32, 1, 2, 3, value);
  torsor_cache *twice;
  Model plainOne("plain");
  expectFailure(torsor_cache_create(plainOne.instance, &options, &twice),
                TORSOR_STRIDE, {"cache: v lies at the address of k"});
}

TEST(ValueInKey, HasNoV) {
  Variant x("keys raw value key");
  torsor_field stream = full.streams[K];
  x.d.flags = TORSOR_VALUE_IN_KEY;
  x.d.streams = &stream, x.d.stream_count = 1;
  Model m("plain", 2, 1, x.made);
  Tensors t(m, 1, 3, 1, 3);
  torsor_plan *plan;
  expectOk(torsor_plan_create(&plan));
  expectFailure(
      torsor_plan_set(plan, m.instance, TORSOR_ATTEND, &t.call, 1, nullptr),
      TORSOR_INVALID, {"v must be absent: v is a part of k"});
  t.call.v = {};
  expectOk(
      torsor_plan_set(plan, m.instance, TORSOR_ATTEND, &t.call, 1, nullptr));
  torsor_plan_destroy(plan);
  int64_t bytes;
  expectOk(torsor_cache_bytes(m.instance, 2, 5, &bytes));
  EXPECT_EQ(bytes, 2 * 5 * head * 4);
  torsor_cache_options options = {};
  options.size = sizeof options, options.rows = 2, options.slots = 5;
  torsor_cache *cache;
  expectOk(torsor_cache_create(m.instance, &options, &cache));
  torsor_tensor view;
  expectOk(torsor_cache_stream(cache, "k", &view));
  EXPECT_EQ(view.shape[3], head);
  EXPECT_EQ(torsor_cache_stream(cache, "v", &view), TORSOR_NAME);
  torsor_cache_destroy(cache);
  options.k = torsor_dense(t.k.data(), TORSOR_F32, 1, 1, 3, head);
  options.v = torsor_dense(t.v.data(), TORSOR_F32, 1, 1, 3, value);
  options.rows = options.slots = 0;
  expectFailure(torsor_cache_create(m.instance, &options, &cache),
                TORSOR_INVALID, {"v is given, but it is part of k"});
}

} // namespace
