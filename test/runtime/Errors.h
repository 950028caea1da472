// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A good call, and one spoiled in one place for each rule.
#ifndef TORSOR_TEST_RUNTIME_ERRORS_H
#define TORSOR_TEST_RUNTIME_ERRORS_H

#include "test/runtime/Fixture.h"

#include <functional>

namespace naive {

/// A good call of a scheme, to be spoiled in one place.
struct Case {
  Model m;
  Tensors t;
  torsor_sequence s = {0, 0, 4, 0, 0, 6};
  torsor_batch batch = {};
  torsor_cache *cache = nullptr;
  std::vector<int32_t> queryDocs, keyDocs;
  std::vector<float> bonus, gain;
  std::vector<torsor_binding> inputs;
  torsor_op op = TORSOR_ATTEND;

  explicit Case(const char *scheme) : m(scheme), t(m, 2, 5, 2, 8) {
    batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
    t.call.batch = &batch;
    if (std::string(scheme) != "full")
      return;
    queryDocs.assign(10, 1), keyDocs.assign(16, 1);
    bonus.assign(1, 0.f), gain.assign(4, 1.f);
    inputs = {{"doc", TORSOR_QUERY, 0,
               torsor_array(queryDocs.data(), TORSOR_I32, 2, 5, 0)},
              {"doc", TORSOR_KEY, 0,
               torsor_array(keyDocs.data(), TORSOR_I32, 2, 8, 0)},
              {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, 1, 0, 0)},
              {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, 4, 0, 0)}};
  }
  ~Case() { torsor_cache_destroy(cache); }

  void useCache() {
    torsor_cache_options options = {};
    options.size = sizeof options, options.rows = 2, options.slots = 8;
    expectOk(torsor_cache_create(m.instance, &options, &cache));
    t.call.cache = cache;
  }
  torsor_status run() {
    if (!inputs.empty())
      t.call.inputs = inputs.data(),
      t.call.input_count = int64_t(inputs.size());
    return torsor_run(m.instance, op, &t.call, nullptr);
  }
  void fails(torsor_status want, std::initializer_list<const char *> parts) {
    std::vector<float> o = t.o, lse = t.lse;
    expectFailure(run(), want, parts);
    EXPECT_EQ(o, t.o);
    EXPECT_EQ(lse, t.lse);
    torsor_plan *plan;
    expectOk(torsor_plan_create(&plan));
    torsor_plan_info info = {};
    info.size = sizeof info, info.phases = 9;
    EXPECT_EQ(torsor_plan_set(plan, m.instance, op, &t.call, 2, &info), want);
    EXPECT_EQ(info.phases, 0u);
    EXPECT_EQ(torsor_plan_run(plan, 0, 0, 1, 0), TORSOR_INVALID);
    torsor_plan_destroy(plan);
  }
};

using Spoil = std::function<void(Case &)>;
struct Wrong {
  const char *name;
  const char *scheme;
  Spoil spoil;
  torsor_status status;
  std::vector<const char *> parts;
};

inline void PrintTo(const Wrong &w, std::ostream *out) { *out << w.name; }

class Errors : public testing::TestWithParam<Wrong> {};

} // namespace naive

#endif // TORSOR_TEST_RUNTIME_ERRORS_H
