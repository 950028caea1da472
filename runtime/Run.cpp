// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs plans on the library's pool or on a loop of the host.

#include "runtime/Plan.h"
#include "runtime/Pool.h"

namespace torsor {

namespace {

/// The threads a plan runs on: a pool of ours, which may use fewer of its
/// threads, or a loop of the host, which uses all its workers.
struct Threads {
  Pool *pool = nullptr;
  torsor_executor executor = {};
  int64_t workers = 1;

  torsor_status take(const torsor_executor *from) {
    if (!from) {
      pool = defaultPool();
      if (!pool)
        return fail(TORSOR_MEMORY, "cannot make the pool of the process");
      workers = poolThreads(*pool);
      return TORSOR_OK;
    }
    if (torsor_status status = readStruct(from, executor, "executor"))
      return status;
    if (executor.workers < 1 || !executor.loop || executor.reserved)
      return fail(TORSOR_INVALID,
                  "executor: workers is %lld, loop is %s and "
                  "reserved is %u",
                  (long long)executor.workers, executor.loop ? "given" : "null",
                  executor.reserved);
    pool = poolOf(executor);
    workers = pool ? poolThreads(*pool) : executor.workers;
    return TORSOR_OK;
  }
};

struct Job {
  const torsor_plan *plan;
  uint32_t phase;
};

void runJob(void *argument, int64_t begin, int64_t end, int64_t worker) {
  const Job &job = *static_cast<const Job *>(argument);
  runPlan(*job.plan, job.phase, begin, end, worker);
}

/// Work that ends before another thread has woken: about 5 µs at rates any
/// core reaches. Kernels that do not say what they cost count as large.
bool isSmall(const torsor_plan_info &info) {
  double bytes = info.read_bytes + info.written_bytes;
  return (info.flops > 0 || bytes > 0) && info.flops < 100e3 && bytes < 50e3;
}

void execute(const torsor_plan &plan, Threads &threads) {
  int64_t workers =
      threads.workers < plan.workers ? threads.workers : plan.workers;
  if (threads.pool && isSmall(plan.info))
    workers = 1;
  for (uint32_t phase = 0; phase < plan.info.phases; ++phase) {
    int64_t items = plan.info.items[phase];
    Job job = {&plan, phase};
    if (!items)
      continue;
    if (threads.pool)
      runOnPool(*threads.pool, workers, items, runJob, &job);
    else
      threads.executor.loop(threads.executor.context, items, runJob, &job);
  }
}

torsor_plan *takePlan(const torsor_instance &constant) {
  auto &instance = const_cast<torsor_instance &>(constant);
  for (auto &place : instance.idle)
    if (place.load(std::memory_order_relaxed))
      if (torsor_plan *plan = place.exchange(nullptr))
        return plan;
  return make<torsor_plan>();
}

void givePlan(const torsor_instance &constant, torsor_plan *plan) {
  plan->reset(); // an idle plan must not keep its own instance alive
  auto &instance = const_cast<torsor_instance &>(constant);
  for (auto &place : instance.idle) {
    torsor_plan *none = nullptr;
    if (!place.load(std::memory_order_relaxed) &&
        place.compare_exchange_strong(none, plan))
      return;
  }
  destroy(plan);
}

} // namespace

} // namespace torsor

using namespace torsor;

extern "C" {

torsor_status torsor_plan_execute(const torsor_plan *plan,
                                  const torsor_executor *executor) {
  if (!plan || !plan->instance)
    return fail(TORSOR_INVALID, plan ? "plan: it was not set" : "plan is null");
  Threads threads;
  if (torsor_status status = threads.take(executor))
    return status;
  if (!threads.pool && threads.workers > plan->workers)
    return fail(TORSOR_INVALID,
                "plan: it was set for %lld workers, but the "
                "executor has %lld",
                (long long)plan->workers, (long long)threads.workers);
  execute(*plan, threads);
  return TORSOR_OK;
}

torsor_status torsor_run(const torsor_instance *instance, torsor_op op,
                         const torsor_call *call,
                         const torsor_executor *executor) {
  if (!instance)
    return fail(TORSOR_INVALID, "instance is null");
  Threads threads;
  if (torsor_status status = threads.take(executor))
    return status;
  torsor_plan *plan = takePlan(*instance);
  if (!plan)
    return failMemory(sizeof(torsor_plan));
  torsor_status status =
      setPlan(*plan, *instance, numberOf(op), call, threads.workers);
  if (!status)
    execute(*plan, threads);
  givePlan(*instance, plan);
  return status;
}

} // extern "C"
