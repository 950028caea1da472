// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans, executors and the pool: the same bits whoever runs which items.

#include "test/runtime/Fixture.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace naive;

namespace {

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

struct Counted {
  std::vector<std::atomic<int>> times;
  std::atomic<int> busy[8] = {};
  explicit Counted(size_t n) : times(n) {}
};

void countBody(void *argument, int64_t begin, int64_t end, int64_t worker) {
  auto &c = *static_cast<Counted *>(argument);
  EXPECT_EQ(c.busy[worker].fetch_add(1), 0) << "one worker number, two threads";
  for (int64_t n = begin; n < end; ++n)
    c.times[size_t(n)].fetch_add(1);
  c.busy[worker].fetch_sub(1);
}

TEST(Pool, CoversEveryItemOnce) {
  for (int64_t threads : {1, 2, 5}) {
    torsor_executor pool;
    expectOk(torsor_pool_create(threads, &pool));
    EXPECT_EQ(pool.workers, threads);
    for (int64_t items : {0, 1, 2, 7, 1000}) {
      for (int round = 0; round < 20; ++round) {
        Counted c{size_t(items)};
        pool.loop(pool.context, items, countBody, &c);
        for (std::atomic<int> &n : c.times)
          ASSERT_EQ(n.load(), 1);
      }
      if (items == 7) // asleep by now, must wake
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    torsor_pool_destroy(&pool);
    EXPECT_EQ(pool.loop, nullptr);
  }
  torsor_executor pool;
  expectFailure(torsor_pool_create(0, &pool), TORSOR_INVALID, {"threads is 0"});
}

TEST(Pool, TwoCallersTakeTurns) {
  torsor_executor pool;
  expectOk(torsor_pool_create(3, &pool));
  auto many = [&] {
    for (int round = 0; round < 100; ++round) {
      Counted c{100};
      pool.loop(pool.context, 100, countBody, &c);
      for (std::atomic<int> &n : c.times)
        ASSERT_EQ(n.load(), 1);
    }
  };
  std::thread a(many), b(many);
  a.join(), b.join();
  torsor_pool_destroy(&pool);
}

TEST(Pool, ALoopInsideALoopRunsInPlace) {
  torsor_executor pool;
  expectOk(torsor_pool_create(3, &pool));
  struct Outer {
    torsor_executor *pool;
    std::atomic<int> inner{0};
  } outer{&pool};
  auto body = [](void *argument, int64_t begin, int64_t end, int64_t) {
    auto &o = *static_cast<Outer *>(argument);
    auto inner = [](void *count, int64_t from, int64_t to, int64_t) {
      static_cast<std::atomic<int> *>(count)->fetch_add(int(to - from));
    };
    for (int64_t n = begin; n < end; ++n)
      o.pool->loop(o.pool->context, 10, inner, &o.inner);
  };
  pool.loop(pool.context, 20, body, &outer);
  EXPECT_EQ(outer.inner.load(), 200);
  torsor_pool_destroy(&pool);
}

/// One instance, many threads: each call takes a plan of its own.
TEST(Run, ManyThreadsShareAnInstance) {
  Mixed reference;
  expectOk(torsor_run(reference.m.instance, TORSOR_ATTEND, &reference.t.call,
                      nullptr));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int n = 0; n < 6; ++n)
    threads.emplace_back([&, n] {
      Tensors t(reference.m, 1, 40, 2, 60);
      t.call.batch = &reference.batch;
      torsor_executor pool;
      expectOk(torsor_pool_create(1 + n % 3, &pool));
      for (int round = 0; round < 20; ++round) {
        t.o.assign(t.o.size(), 7.f);
        expectOk(torsor_run(reference.m.instance, TORSOR_ATTEND, &t.call,
                            n % 2 ? &pool : nullptr));
        wrong += t.o != reference.t.o;
      }
      torsor_pool_destroy(&pool);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

/// The text of a failure belongs to its thread.
TEST(Run, ErrorsAreOfTheirThread) {
  Mixed x;
  EXPECT_EQ(torsor_run(nullptr, TORSOR_ATTEND, &x.t.call, nullptr),
            TORSOR_INVALID);
  std::string before = torsor_error();
  std::thread([&] {
    EXPECT_STREQ(torsor_error(), "");
    torsor_library *library;
    std::string path(5000, 'x'); // longer than what a thread keeps at hand
    EXPECT_EQ(torsor_library_open(path.c_str(), nullptr, &library), TORSOR_IO);
    EXPECT_NE(std::string(torsor_error()).find(path), std::string::npos);
  }).join();
  EXPECT_EQ(torsor_error(), before);
}

/// A child has no thread of the parent's pools, and runs nevertheless.
TEST(Run, AChildOfForkMakesItsOwnThreads) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer allows no threads in such a child";
#endif
#endif
  Mixed x;
  expectOk(torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, nullptr));
  torsor_executor pool;
  expectOk(torsor_pool_create(4, &pool));
  std::vector<float> o = x.t.o;
  std::atomic<bool> stop{false};
  std::thread other([&] { // so that the fork finds the pool at work
    while (!stop) {
      Counted c{100};
      pool.loop(pool.context, 100, countBody, &c);
    }
  });
  for (int round = 0; round < 5; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20); // a hang is a failure, not a test without end
      bool good = true;
      for (int n = 0; n < 20; ++n)
        for (const torsor_executor *executor :
             {static_cast<const torsor_executor *>(nullptr),
              static_cast<const torsor_executor *>(&pool)}) {
          x.clear();
          good =
              good &&
              !torsor_run(x.m.instance, TORSOR_ATTEND, &x.t.call, executor) &&
              x.t.o == o;
        }
      torsor_pool_destroy(&pool);
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  other.join();
  torsor_pool_destroy(&pool);
}

} // namespace
