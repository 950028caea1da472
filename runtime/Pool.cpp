// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of threads that spins briefly and then sleeps.
//
// A loop is announced by one atomic word: its epoch, whether it is open, and
// how many threads have joined. A thread that wakes late finds it closed and
// goes on waiting, so the caller, who works too, never waits for a thread that
// the system has not scheduled.

#include "runtime/Pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace torsor {

namespace {

constexpr uint64_t openBit = uint64_t(1) << 31;
constexpr uint64_t joinedMask = openBit - 1;
constexpr int spins = 20000; // a fraction of a millisecond
constexpr int64_t threadLimit = 4096;

uint64_t epochOf(uint64_t state) { return state >> 32; }

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// A mutex and a condition of their own for each direction of sleep.
struct Sleep {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  std::atomic<int> sleepers{0};

  /// Waits until done(): spins, then sleeps.
  template <class Done> void wait(Done done) {
    for (int n = 0; n < spins; ++n) {
      if (done())
        return;
      pause();
    }
    pthread_mutex_lock(&mutex);
    sleepers.fetch_add(1); // before done() is asked again, see wake()
    while (!done())
      pthread_cond_wait(&condition, &mutex);
    sleepers.fetch_sub(1);
    pthread_mutex_unlock(&mutex);
  }
  /// After what done() reads was written (both sequentially consistent).
  void wake() {
    if (!sleepers.load())
      return;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
};

} // namespace

struct Pool {
  struct Thread {
    Pool *pool;
    int64_t worker;
    pthread_t handle;
  };

  std::atomic<uint64_t> state{0}; // epoch << 32 | open | joined
  std::atomic<bool> stop{false};
  Sleep idle, finish;
  pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER; // one loop at a time
  Array<Thread> threads;                            // all but the caller
  int64_t running = 0;                              // of those, started
  Pool *next = nullptr, *former = nullptr;          // the list of all pools

  // The loop, written while it is closed.
  torsor_body body = nullptr;
  void *argument = nullptr;
  int64_t items = 0, workers = 0;
  std::atomic<int64_t> taken{0};
};

namespace {

thread_local Pool *inside; // the pool whose loop this thread is running

/// Takes a fourth of this worker's share of what is left, so that runs get
/// shorter and all end together. False when nothing is left.
bool take(Pool &pool, int64_t &begin, int64_t &end) {
  begin = pool.taken.load();
  do {
    int64_t left = pool.items - begin;
    if (left <= 0)
      return false;
    int64_t count = left / (4 * pool.workers);
    end = begin + (count > 1 ? count : 1);
  } while (!pool.taken.compare_exchange_weak(begin, end));
  return true;
}

void work(Pool &pool, int64_t worker) {
  Pool *outer = inside;
  inside = &pool;
  int64_t begin, end;
  while (take(pool, begin, end))
    pool.body(pool.argument, begin, end, worker);
  inside = outer;
}

void *threadMain(void *argument) {
  auto &self = *static_cast<Pool::Thread *>(argument);
  Pool &pool = *self.pool;
  uint64_t seen = 0; // no loop has epoch 0
  for (;;) {
    pool.idle.wait([&] {
      uint64_t state = pool.state.load();
      return pool.stop.load() || (state & openBit && epochOf(state) != seen);
    });
    if (pool.stop.load())
      return nullptr;
    uint64_t state = pool.state.load();
    bool joined = false;
    while (state & openBit && epochOf(state) != seen && !joined)
      joined = pool.state.compare_exchange_weak(state, state + 1);
    if (!joined)
      continue;
    seen = epochOf(state);
    if (self.worker < pool.workers)
      work(pool, self.worker);
    uint64_t before = pool.state.fetch_sub(1);
    if ((before & joinedMask) == 1)
      pool.finish.wake();
  }
}

/// Threads leave the host's signals to the host's threads.
void startThreads(Pool &pool) {
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  while (pool.running < pool.threads.size()) {
    Pool::Thread &thread = pool.threads[pool.running];
    thread.pool = &pool, thread.worker = pool.running + 1;
    if (pthread_create(&thread.handle, nullptr, threadMain, &thread))
      break; // the caller and those that run do the work
    ++pool.running;
  }
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

// ---- Pools and fork: a child has none of the threads
// --------------------------

pthread_mutex_t listMutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t forkOnce = PTHREAD_ONCE_INIT;
Pool *allPools;
Pool *sharedPool; // the default one

void renew(Sleep &sleep) {
  sleep.mutex = PTHREAD_MUTEX_INITIALIZER;
  sleep.condition = PTHREAD_COND_INITIALIZER;
  sleep.sleepers.store(0);
}

/// In a child: pools as they were made, whatever loop ran in the parent. Their
/// threads start with the next loop.
void renewAll() {
  for (Pool *pool = allPools; pool; pool = pool->next) {
    pool->busy = PTHREAD_MUTEX_INITIALIZER;
    renew(pool->idle);
    renew(pool->finish);
    pool->state.store(0);
    pool->running = 0;
  }
  inside = nullptr;
  listMutex = PTHREAD_MUTEX_INITIALIZER;
}

void watchForks() {
  pthread_once(&forkOnce, [] {
    pthread_atfork([] { pthread_mutex_lock(&listMutex); },
                   [] { pthread_mutex_unlock(&listMutex); }, renewAll);
  });
}

/// With the list locked.
Pool *makePool(int64_t count) {
  Pool *pool = make<Pool>();
  if (!pool || !pool->threads.resize(count - 1)) {
    if (pool)
      destroy(pool);
    return nullptr;
  }
  pool->next = allPools;
  if (allPools)
    allPools->former = pool;
  allPools = pool;
  return pool;
}

int64_t usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set))
    return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count;
}

} // namespace

int64_t poolThreads(const Pool &pool) { return pool.threads.size() + 1; }

Pool *defaultPool() {
  watchForks();
  static std::atomic<Pool *> known{nullptr};
  if (Pool *pool = known.load(std::memory_order_acquire))
    return pool;
  pthread_mutex_lock(&listMutex);
  if (!sharedPool)
    sharedPool = makePool(usableCores());
  Pool *pool = sharedPool;
  pthread_mutex_unlock(&listMutex);
  known.store(pool, std::memory_order_release);
  return pool;
}

void runOnPool(Pool &pool, int64_t workers, int64_t items, torsor_body body,
               void *argument) {
  if (workers > poolThreads(pool))
    workers = poolThreads(pool);
  // One worker or one item needs no other thread; a loop inside a loop of the
  // same pool would wait for itself.
  if (workers <= 1 || items <= 1 || inside == &pool) {
    if (items > 0)
      body(argument, 0, items, 0);
    return;
  }
  pthread_mutex_lock(&pool.busy);
  if (pool.running < pool.threads.size())
    startThreads(pool);
  pool.body = body, pool.argument = argument;
  pool.items = items, pool.workers = workers;
  pool.taken.store(0);
  uint64_t epoch = (epochOf(pool.state.load()) + 1) & 0xffffffff;
  pool.state.store((epoch ? epoch : 1) << 32 | openBit);
  pool.idle.wake();
  work(pool, 0);
  pool.state.fetch_and(~openBit);
  pool.finish.wait([&] { return !(pool.state.load() & joinedMask); });
  pthread_mutex_unlock(&pool.busy);
}

static void poolLoop(void *context, int64_t items, torsor_body body,
                     void *argument) {
  Pool &pool = *static_cast<Pool *>(context);
  runOnPool(pool, poolThreads(pool), items, body, argument);
}

Pool *poolOf(const torsor_executor &executor) {
  return executor.loop == poolLoop ? static_cast<Pool *>(executor.context)
                                   : nullptr;
}

static void destroyPool(Pool *pool) {
  pthread_mutex_lock(&listMutex);
  if (pool->former)
    pool->former->next = pool->next;
  else
    allPools = pool->next;
  if (pool->next)
    pool->next->former = pool->former;
  pthread_mutex_unlock(&listMutex);
  pool->stop.store(true);
  pool->idle.wake();
  for (int64_t n = 0; n < pool->running; ++n)
    pthread_join(pool->threads[n].handle, nullptr);
  destroy(pool);
}

} // namespace torsor

using namespace torsor;

extern "C" {

torsor_status torsor_pool_create(int64_t threads, torsor_executor *out) {
  if (!out)
    return fail(TORSOR_INVALID, "pool: out is null");
  *out = torsor_executor();
  if (threads < 1 || threads > threadLimit)
    return fail(TORSOR_INVALID, "pool: threads is %lld; it must be 1 to %lld",
                (long long)threads, (long long)threadLimit);
  watchForks();
  pthread_mutex_lock(&listMutex);
  Pool *pool = makePool(threads);
  pthread_mutex_unlock(&listMutex);
  if (!pool)
    return failMemory(threads * int64_t(sizeof(Pool::Thread)));
  pthread_mutex_lock(&pool->busy);
  startThreads(*pool);
  bool complete = pool->running == threads - 1;
  pthread_mutex_unlock(&pool->busy);
  if (!complete) {
    destroyPool(pool);
    return fail(TORSOR_MEMORY, "pool: cannot start %lld threads",
                (long long)threads - 1);
  }
  out->size = sizeof *out;
  out->workers = threads;
  out->context = pool;
  out->loop = poolLoop;
  return TORSOR_OK;
}

void torsor_pool_destroy(torsor_executor *pool) {
  if (!pool)
    return;
  if (Pool *own = poolOf(*pool))
    destroyPool(own);
  *pool = torsor_executor();
}

} // extern "C"
