// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans and executors: the same bits whoever runs which items.

#include "test/runtime/Mixed.h"

#include <cstring>
#include <thread>

using namespace naive;

namespace {

TEST(Plan, TheSameBitsForAnyWorkersAndRanges) {
  Mixed x;
  torsor_executor one;
  expectOk(torsor_pool_create(1, &one));
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, &one));
  torsor_pool_destroy(&one);
  std::vector<float> o = x.t.o, lse = x.t.lse;
  auto same = [&] {
    return !std::memcmp(o.data(), x.t.o.data(), o.size() * 4) &&
           !std::memcmp(lse.data(), x.t.lse.data(), lse.size() * 4);
  };
  Random random(3);
  for (int64_t workers = 1; workers <= 8; ++workers) {
    x.clear();
    torsor_executor pool;
    expectOk(torsor_pool_create(workers, &pool));
    expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, &pool));
    torsor_pool_destroy(&pool);
    EXPECT_TRUE(same()) << workers;
    x.clear();
    Plan p;
    expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, workers));
    for (uint32_t phase = 0; phase < p.info.phases; ++phase) {
      std::vector<std::pair<int64_t, int64_t>> ranges;
      for (int64_t at = 0; at < p.info.items[phase];) {
        int64_t end = std::min(p.info.items[phase], at + 1 + random.below(9));
        ranges.push_back({at, end});
        at = end;
      }
      while (!ranges.empty()) { // in any order, by any worker
        auto at = ranges.begin() + random.below(int64_t(ranges.size()));
        expectOk(torsor_plan_run(p.plan, phase, at->first, at->second,
                                 random.below(workers)));
        ranges.erase(at);
      }
    }
    EXPECT_TRUE(same()) << workers;
  }
}

TEST(Plan, OneSequenceIsTheSameAloneAndInABatch) {
  Mixed x;
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
  std::vector<float> o = x.t.o;
  for (int64_t n = 0; n < 5; ++n) {
    x.clear();
    torsor_batch single = x.batch;
    single.count = 1, single.sequences = x.sequences + n;
    x.t.call.batch = &single;
    expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
    const torsor_sequence &s = x.sequences[n];
    size_t from = size_t(s.query_start * x.m.H * value);
    size_t count = size_t(s.query_length * x.m.H * value);
    EXPECT_EQ(std::memcmp(o.data() + from, x.t.o.data() + from, count * 4), 0);
  }
}

TEST(Plan, PhasesLieSideBySide) {
  Mixed x;
  Plan p;
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 2));
  // prefill: 31 tokens x 4 heads beside decode's splits of 60, 31 and 1 keys
  ASSERT_EQ(p.info.phases, 2u);
  EXPECT_EQ(p.info.items[0], 31 * 4 + 4 * (12 + 2 * 7 + 1));
  EXPECT_EQ(p.info.items[1], 4 * 4);
  EXPECT_GT(p.info.workspace_bytes, 0);
}

TEST(Plan, RunChecksItsRange) {
  Mixed x;
  Plan p;
  expectFailure(torsor_plan_run(p.plan, 0, 0, 1, 0), TORSOR_INVALID,
                {"was not set"});
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 2));
  int64_t items = p.info.items[0];
  expectOk(torsor_plan_run(p.plan, 0, items, items, 1));
  const struct {
    uint32_t phase;
    int64_t begin, end, worker;
  } wrong[] = {{2, 0, 1, 0},         {0, -1, 1, 0}, {0, 2, 1, 0},
               {0, 0, items + 1, 0}, {0, 0, 1, -1}, {0, 0, 1, 2}};
  for (const auto &w : wrong)
    expectFailure(torsor_plan_run(p.plan, w.phase, w.begin, w.end, w.worker),
                  TORSOR_RANGE, {"the plan has 2 phases"});
  expectFailure(p.set(x.m, TORSOR_ATTEND, x.t.call, 0), TORSOR_INVALID,
                {"workers is 0"});
  EXPECT_EQ(torsor_plan_run(p.plan, 0, 0, 1, 0), TORSOR_INVALID);
}

TEST(Plan, HostWorkspace) {
  Mixed x;
  Plan p;
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 3));
  int64_t bytes = p.info.workspace_bytes;
  std::vector<char> memory(size_t(bytes) + 64);
  char *aligned = memory.data();
  while (reinterpret_cast<uintptr_t>(aligned) % 64)
    ++aligned;
  expectFailure(torsor_plan_workspace(p.plan, aligned + 8, 8, TORSOR_HOST, 0),
                TORSOR_STRIDE, {"is not aligned to 64 bytes"});
  expectFailure(torsor_plan_workspace(p.plan, aligned, 8, TORSOR_CUDA, 0),
                TORSOR_UNSUPPORTED, {"device 1"});
  expectOk(torsor_plan_workspace(p.plan, aligned, bytes - 1, TORSOR_HOST, 0));
  expectFailure(p.set(x.m, TORSOR_ATTEND, x.t.call, 3), TORSOR_MEMORY,
                {"but the host gave"});
  expectOk(torsor_plan_workspace(p.plan, aligned, bytes, TORSOR_HOST, 0));
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 3));
  expectOk(torsor_plan_execute(p.plan, nullptr));
  std::vector<float> o = x.t.o;
  x.clear();
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
  EXPECT_EQ(o, x.t.o);
  // The bound for such calls holds, whatever the mix.
  int64_t most = 0;
  expectOk(torsor_plan_bytes(x.m.instance, TORSOR_ATTEND, 5, 17, 60, 3, &most));
  EXPECT_GE(most, bytes);
  expectFailure(
      torsor_plan_bytes(x.m.instance, TORSOR_ATTEND, 5, -1, 60, 3, &most),
      TORSOR_INVALID, {"-1 queries"});
}

TEST(Plan, IsSetOnceAndRunOften) {
  Mixed x;
  Plan p;
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 2));
  x.t.call = torsor_call(); // structs and sequences were copied
  std::memset(x.sequences, 0xff, sizeof x.sequences);
  expectOk(torsor_plan_execute(p.plan, nullptr));
  std::vector<float> o = x.t.o;
  x.t.v[0] += 1; // tensors were not
  expectOk(torsor_plan_execute(p.plan, nullptr));
  EXPECT_NE(o, x.t.o);
}

/// Keeps instance and cache alive while it is set.
TEST(Plan, OutlivesWhatItUses) {
  Plan p;
  Tensors *t;
  {
    Model m("plain");
    t = new Tensors(m, 1, 4, 1, 4);
    expectOk(p.set(m, TORSOR_ATTEND, t->call, 1));
  }
  expectOk(torsor_plan_execute(p.plan, nullptr));
  EXPECT_NE(t->o[0], 7.f);
  delete t;
}

/// A loop of the host on threads of its own.
void hostLoop(void *context, int64_t items, torsor_body body, void *argument) {
  int64_t workers = *static_cast<int64_t *>(context);
  std::vector<std::thread> threads;
  for (int64_t w = 0; w < workers; ++w)
    threads.emplace_back([=] {
      for (int64_t at = w; at < items; at += workers)
        body(argument, at, at + 1, w);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Executor, LoopOfTheHost) {
  Mixed x;
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
  std::vector<float> o = x.t.o;
  x.clear();
  int64_t workers = 3;
  torsor_executor host = {sizeof host, 0, workers, &workers, hostLoop};
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, &host));
  EXPECT_EQ(o, x.t.o);
  Plan p;
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 2));
  expectFailure(torsor_plan_execute(p.plan, &host), TORSOR_INVALID,
                {"set for 2 workers, but the executor has 3"});
  host.loop = nullptr;
  expectFailure(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, &host),
                TORSOR_INVALID, {"loop is null"});
}

TEST(Executor, APoolLargerThanThePlanUsesFewerThreads) {
  Mixed x;
  torsor_executor pool;
  expectOk(torsor_pool_create(6, &pool));
  Plan p;
  expectOk(p.set(x.m, TORSOR_ATTEND, x.t.call, 2));
  for (int n = 0; n < 50; ++n)
    expectOk(torsor_plan_execute(p.plan, &pool));
  std::vector<float> o = x.t.o;
  x.clear();
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
  EXPECT_EQ(o, x.t.o);
  torsor_pool_destroy(&pool);
}

} // namespace
