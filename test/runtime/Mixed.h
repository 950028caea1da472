// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A batch of prompts and short sequences, and a plan that destroys itself.
#ifndef TORSOR_TEST_RUNTIME_MIXED_H
#define TORSOR_TEST_RUNTIME_MIXED_H

#include "test/runtime/Fixture.h"

namespace naive {

/// A mixed batch: two prompts and three short sequences.
struct Mixed {
  Model m{"plain"};
  Tensors t{m, 1, 40, 2, 60};
  torsor_sequence sequences[5] = {{0, 0, 17, 0, 0, 17},
                                  {0, 17, 1, 1, 0, 60},
                                  {0, 18, 2, 0, 5, 31},
                                  {0, 20, 14, 1, 20, 40},
                                  {0, 34, 1, 0, 59, 1}};
  torsor_batch batch = {};

  Mixed() {
    batch.size = sizeof batch, batch.count = 5, batch.sequences = sequences;
    t.call.batch = &batch;
  }
  void clear() { t.o.assign(t.o.size(), 7.f), t.lse.assign(t.lse.size(), 7.f); }
};

struct Plan {
  torsor_plan *plan = nullptr;
  torsor_plan_info info = {};
  Plan() { expectOk(torsor_plan_create(&plan)); }
  Plan(const Plan &) = delete;
  ~Plan() { torsor_plan_destroy(plan); }
  torsor_status set(const Model &m, torsor_op op, const torsor_call &call,
                    int64_t workers) {
    info.size = sizeof info;
    return torsor_plan_set(plan, m.instance, op, &call, workers, &info);
  }
};

} // namespace naive

#endif // TORSOR_TEST_RUNTIME_MIXED_H
