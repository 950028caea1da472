// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one call costs beside its kernel: decode of one token through a kernel
// that does nothing. Prints nanoseconds; with --most N it fails above N.

#include "test/runtime/Naive.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

using namespace naive;

namespace {

void plan(const torsor_kernel_args *args, torsor_kernel_plan *out) {
  out->phases = 2, out->items[0] = 8 * args->count, out->items[1] = args->count;
  out->workspace_bytes = 4096 * args->count;
  out->flops = 1000; // small: the caller runs it
}
void run(const torsor_kernel_args *, const torsor_kernel_plan *, uint32_t,
         int64_t, int64_t, void *) {}

double threadNanoseconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

void check(torsor_status status) {
  if (!status)
    return;
  std::fprintf(stderr, "%s: %s\n", torsor_status_name(status), torsor_error());
  std::exit(1);
}

template <class Body> double least(Body body) {
  double best = 1e30;
  for (int round = 0; round < 400; ++round) {
    double begin = threadNanoseconds();
    for (int n = 0; n < 20; ++n)
      body();
    double each = (threadNanoseconds() - begin) / 20;
    best = each < best ? each : best;
  }
  return best;
}

struct Bench {
  torsor_kernel_op ops[4];
  torsor_variant variant = full.variants[1];
  torsor_descriptor scheme = full;
  const torsor_descriptor *list[1] = {&scheme};
  torsor_module made = naive::module;
  torsor_library *library;
  torsor_scheme *found;
  torsor_instance *instance;
  torsor_cache *cache;
  torsor_plan *prepared;

  Bench() {
    for (int n = 0; n < 4; ++n) {
      ops[n] = fullOps[n];
      ops[n].plan = plan, ops[n].run = run;
    }
    variant.ops = ops;
    scheme.variants = &variant, scheme.variant_count = 1;
    made.schemes = list, made.scheme_count = 1, made.layers = 0;
    static float params[64] = {};
    torsor_binding bound[] = {
        {"slope", 0, 0, torsor_array(params, TORSOR_F32, 32, 0, 0)},
        {"sink", 0, 0, torsor_array(params, TORSOR_F32, 32, 0, 0)},
        {"turn", 0, 0, torsor_array(params, TORSOR_F32, 4, 0, 0)}};
    check(torsor_library_link(&made, nullptr, &library));
    check(torsor_library_at(library, 0, &found));
    check(torsor_instance_create(found, 32, 8, bound, 3, &instance));
    check(torsor_plan_create(&prepared));
    torsor_binding stream = {"doc", 0, 0, {}};
    torsor_cache_options options = {};
    options.size = sizeof options;
    options.rows = 16, options.slots = 4096;
    options.streams = &stream, options.stream_count = 1;
    check(torsor_cache_create(instance, &options, &cache));
  }
  ~Bench() {
    torsor_plan_destroy(prepared), torsor_cache_destroy(cache);
    torsor_instance_destroy(instance), torsor_scheme_destroy(found);
    torsor_library_destroy(library);
  }

  /// A step of `count` sequences, one token each; ns for run and for set.
  double measure(int64_t count, const char *what, torsor_op op) {
    std::vector<float> memory(size_t(count * 32 * head));
    std::vector<int32_t> doc(static_cast<size_t>(count));
    std::vector<float> bonus(size_t(count), 0.f), gain(32, 1.f);
    std::vector<float> out(memory.size()), lse(size_t(count * 32));
    std::vector<torsor_sequence> sequences(static_cast<size_t>(count));
    for (int64_t b = 0; b < count; ++b)
      sequences[size_t(b)] = {0, b, 1, b, 0, 4096};
    torsor_binding inputs[] = {
        {"doc", TORSOR_QUERY, 0,
         torsor_array(doc.data(), TORSOR_I32, 1, count, 0)},
        {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, count, 0, 0)},
        {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, 32, 0, 0)}};
    torsor_batch batch = {};
    batch.size = sizeof batch, batch.count = count;
    batch.sequences = sequences.data();
    batch.inputs = inputs, batch.input_count = 3;
    torsor_call call = {};
    call.size = sizeof call, call.batch = &batch, call.cache = cache;
    float *m = memory.data();
    call.q = torsor_token_major(m, TORSOR_F32, 1, count, 32, head);
    if (op == TORSOR_STEP) {
      call.k = torsor_token_major(m, TORSOR_F32, 1, count, 8, head);
      call.v = torsor_token_major(m, TORSOR_F32, 1, count, 8, value);
    }
    call.o = torsor_token_major(out.data(), TORSOR_F32, 1, count, 32, value);
    call.lse = torsor_array(lse.data(), TORSOR_F32, 1, 32, count);
    torsor_plan_info info = {};
    info.size = sizeof info;
    double whole =
        least([&] { check(torsor_run(instance, op, &call, nullptr)); });
    double set = least([&] {
      check(torsor_plan_set(prepared, instance, op, &call, 8, &info));
    });
    double execute =
        least([&] { check(torsor_plan_execute(prepared, nullptr)); });
    std::printf("%s of %lld sequences, lse, 3 inputs by name: run %.0f ns, "
                "plan_set %.0f ns, execute %.0f ns\n",
                what, (long long)count, whole, set, execute);
    return whole;
  }
};

} // namespace

int main(int argc, char **argv) {
  Bench bench;
  double single = bench.measure(1, "decode", TORSOR_ATTEND);
  bench.measure(16, "decode", TORSOR_ATTEND);
  double step = bench.measure(1, "step", TORSOR_STEP);
  bench.measure(16, "step", TORSOR_STEP);
  if (argc == 3 && !std::strcmp(argv[1], "--most")) {
    double most = std::atof(argv[2]);
    if (single > most || step > most) {
      std::printf("a call costs more than %.0f ns\n", most);
      return 1;
    }
  }
  return 0;
}
