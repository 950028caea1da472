// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Causal Llama 3.1 attention on the library's pool, on threads of the host and
// on those of OpenMP, as multiples of one thread: wall time, in turn, the least
// of many.  bench-executors [THREADS]
#include "bench/Meters.h"

#include "examples/example.h"
extern "C" {
#include "examples/engine_pool.h"
}
#include <algorithm>
#include <array>
#include <omp.h>

#include "llama31.h"

namespace {

constexpr int64_t heads = 8, groups = 2, width = 128;

/// A parallel loop of OpenMP: items in the order in which threads ask.
void loopOpenMp(void *context, int64_t items, torsor_body body,
                void *argument) {
  const int threads = *static_cast<int *>(context);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t item = 0; item < items; ++item)
    body(argument, item, item + 1, omp_get_thread_num());
}

/// The least wall time of a call of `length` tokens on each executor.
template <size_t N>
std::array<double, N> timeAll(const torsor_instance *instance, int64_t length,
                              const std::array<torsor_executor, N> &executors) {
  float *q = numbers(length * heads * width, 1);
  float *k = numbers(length * groups * width, 2);
  float *v = numbers(length * groups * width, 3);
  float *o = numbers(length * heads * width, 4);
  torsor_call call = {};
  call.size = sizeof call;
  call.q = torsor_token_major(q, TORSOR_F32, 1, length, heads, width);
  call.k = torsor_token_major(k, TORSOR_F32, 1, length, groups, width);
  call.v = torsor_token_major(v, TORSOR_F32, 1, length, groups, width);
  call.o = torsor_token_major(o, TORSOR_F32, 1, length, heads, width);
  std::array<double, N> least;
  least.fill(1e9);
  const double end = torsor::getWallSeconds() + 4;
  for (int round = 0; round < 20 || torsor::getWallSeconds() < end; ++round)
    for (size_t e = 0; e < N; ++e) {
      const double start = torsor::getWallSeconds();
      check(torsor_run(instance, TORSOR_ATTEND, &call, &executors[e]));
      least[e] = std::min(least[e], torsor::getWallSeconds() - start);
    }
  free(q), free(k), free(v), free(o);
  return least;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10))
                         : omp_get_num_procs();
  torsor_library *library;
  torsor_scheme *scheme;
  torsor_instance *instance;
  check(torsor_library_link(&torsor_module_llama31, nullptr, &library));
  check(torsor_library_find(library, "llama31", TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, heads, groups, nullptr, 0, &instance));
  torsor_executor one, pool, own, openMp;
  check(torsor_pool_create(1, &one));
  check(torsor_pool_create(threads, &pool));
  ::pool *threadsOfHost = pool_create(threads);
  own = openMp = pool;
  own.context = threadsOfHost;
  own.loop = [](void *context, int64_t items, torsor_body body,
                void *argument) {
    pool_for(static_cast<::pool *>(context), items, body, argument);
  };
  openMp.context = &threads;
  openMp.loop = loopOpenMp;
  printf("| %d threads, times one | the library's pool | threads of the host | "
         "OpenMP |\n|---|---|---|---|\n",
         threads);
  for (int64_t length : {128, 512, 2048}) {
    auto least = timeAll<4>(instance, length, {one, pool, own, openMp});
    printf("| L = %d | %.2f | %.2f | %.2f |\n", int(length),
           least[0] / least[1], least[0] / least[2], least[0] / least[3]);
  }
  pool_destroy(threadsOfHost);
  torsor_pool_destroy(&pool);
  torsor_pool_destroy(&one);
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  return 0;
}
