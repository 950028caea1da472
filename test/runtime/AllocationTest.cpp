// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans and torsor_run allocate only when a call needs more than all before.
// A program of its own, since it counts the calls of the allocator.

#include "test/runtime/Fixture.h"

#include <atomic>
#include <dlfcn.h>

static std::atomic<int64_t> allocations;

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
}

using namespace naive;

namespace {

/// Each call, with indices to widen, clocks to check and a batch that ATTEND
/// splits, once warm: no allocation, also for anything smaller.
TEST(Allocation, NoneOnceWarm) {
  Model m("full");
  Tensors t(m, 1, 20, 1, 30);
  std::vector<int32_t> doc(30, 1), pos(30, 5), indices(30, 3);
  std::vector<float> bonus(3, 0.f), gain(4, 1.f);
  auto ints = [](std::vector<int32_t> &v, int64_t n) {
    return torsor_array(v.data(), TORSOR_I32, 1, n, 0);
  };
  torsor_binding inputs[] = {
      {"doc", TORSOR_QUERY, 0, ints(doc, 20)},
      {"doc", TORSOR_KEY, 0, ints(doc, 30)},
      {"pos", TORSOR_QUERY, 0, ints(pos, 20)},
      {"pos", TORSOR_KEY, 0, ints(pos, 30)},
      {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, 3, 0, 0)},
      {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, 4, 0, 0)}};
  torsor_sequence sequences[3] = {
      {0, 2, 10, 0, 0, 20}, {0, 1, 1, 0, 0, 25}, {0, 14, 2, 0, 20, 10}};
  torsor_batch batch = {};
  batch.size = sizeof batch, batch.count = 3, batch.sequences = sequences;
  batch.query_indices = ints(indices, 20);
  batch.inputs = inputs, batch.input_count = 6;
  t.call.batch = &batch;
  torsor_plan *plan;
  expectOk(torsor_plan_create(&plan));
  auto both = [&] {
    expectOk(torsor_run(m.instance, TORSOR_ATTEND, &t.call, nullptr));
    expectOk(
        torsor_plan_set(plan, m.instance, TORSOR_ATTEND, &t.call, 4, nullptr));
    expectOk(torsor_plan_execute(plan, nullptr));
  };
  both();
  int64_t before = allocations;
  EXPECT_GT(before, 0); // the counter is in place
  for (int n = 0; n < 10; ++n)
    both();
  EXPECT_EQ(allocations.load(), before);
  sequences[0].query_length = 4, sequences[2].key_length = 3;
  both();
  EXPECT_EQ(allocations.load(), before);
  sequences[0].key_length = sequences[1].key_length = 30;
  sequences[2].key_start = 0;
  sequences[2].key_length = 30; // more than ever before
  both();
  EXPECT_GT(allocations.load(), before);
  torsor_plan_destroy(plan);
}

} // namespace
