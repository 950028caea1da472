// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pool, many threads on one instance, fork.

#include "test/runtime/Mixed.h"

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace naive;

namespace {

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
