// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets, runs and sizes plans.

#include "runtime/Plan.h"

#include "runtime/Call.h"

using namespace torsor;

torsor_plan::~torsor_plan() {
  reset();
  std::free(own);
}

void torsor_plan::reset() {
  if (instance)
    releaseInstance(instance);
  if (cache)
    releaseCache(cache);
  instance = nullptr, cache = nullptr;
  kernelCount = 0;
  info = torsor_plan_info();
}

namespace torsor {

/// The host's memory, or our own, which grows only.
static torsor_status findWorkspace(torsor_plan &plan) {
  int64_t bytes = plan.info.workspace_bytes;
  if (plan.host) {
    if (bytes > plan.hostBytes)
      return fail(TORSOR_MEMORY,
                  "plan: the call needs a workspace of %lld "
                  "bytes, but the host gave %lld",
                  (long long)bytes, (long long)plan.hostBytes);
    plan.workspace = plan.host;
  } else {
    if (bytes > plan.ownBytes) {
      std::free(plan.own);
      plan.own = static_cast<char *>(allocateAligned(bytes));
      plan.ownBytes = plan.own ? bytes : 0;
      if (!plan.own)
        return failMemory(bytes);
    }
    plan.workspace = plan.own;
  }
  for (int32_t k = 0; k < plan.kernelCount; ++k)
    plan.kernels[k].args.workspace =
        plan.workspace ? plan.workspace + plan.kernels[k].workspaceAt : nullptr;
  return TORSOR_OK;
}

torsor_status setPlan(torsor_plan &plan, const torsor_instance &instance,
                      int32_t op, const torsor_call *call, int64_t workers) {
  plan.reset();
  constexpr int64_t limit = 1 << 20;
  if (workers < 1 || workers > limit)
    return fail(TORSOR_INVALID, "plan: workers is %lld; it must be 1 to %lld",
                (long long)workers, (long long)limit);
  Call checked(plan, instance, op);
  if (torsor_status status = checked.check(call))
    return status;
  plan.workers = workers;
  plan.instance = retain(&instance);
  plan.cache = call->cache;
  plan.keysCached = plan.cache;
  if (plan.cache)
    plan.cache->count.retain();
  torsor_status status =
      composePlan(plan, op, checked.batch.slots, checked.storage);
  if (!status)
    status = findWorkspace(plan);
  if (status)
    plan.reset();
  return status;
}

void runPlan(const torsor_plan &plan, uint32_t number, int64_t begin,
             int64_t end, int64_t worker) {
  const PlanPhase &phase = plan.phases[number];
  void *scratch = plan.scratchBytes ? plan.workspace + plan.scratchAt +
                                          worker * plan.scratchBytes
                                    : nullptr;
  int64_t first = 0; // of this part
  for (int32_t n = 0; n < phase.partCount; ++n) {
    const PlanPhase::Part &part = phase.parts[n];
    int64_t from = begin > first ? begin - first : 0;
    int64_t to = end - first < part.items ? end - first : part.items;
    if (from < to) {
      const PlanKernel &kernel = plan.kernels[part.kernel];
      kernel.op->run(&kernel.args, &kernel.plan, part.phase, from, to, scratch);
    }
    first += part.items;
  }
}

/// One shape for all sequences, planned by one kernel: its bytes.
static torsor_status sizeKernel(torsor_plan &plan, int32_t op,
                                int64_t sequences, int64_t queries,
                                int64_t keys, int64_t &bytes) {
  torsor_sequence s = {};
  // Tokens that an append leaves without a slot are no keys of its run.
  if (op == TORSOR_APPEND && keys < queries)
    keys = queries;
  s.query_length = queries, s.key_length = keys;
  s.query_index = keys - queries, s.total = keys, s.flags = TORSOR_PLACED;
  plan.sequences.clear();
  if (!plan.sequences.reserve(sequences))
    return failMemory(sequences * int64_t(sizeof s));
  for (int64_t n = 0; n < sequences; ++n) {
    s.reserved = s.query_row = s.key_row = n;
    s.shift = n * queries;
    plan.sequences.push(s);
  }
  if (torsor_status status = composePlan(plan, op, nullptr, Storage()))
    return status;
  bytes = plan.info.workspace_bytes;
  return TORSOR_OK;
}

/// Whether keys are fresh or cached, the larger.
static torsor_status sizeAttention(torsor_plan &plan, int32_t op,
                                   int64_t sequences, int64_t queries,
                                   int64_t keys, int64_t &bytes) {
  for (bool cached : {false, true}) {
    plan.keysCached = cached;
    int64_t one = 0;
    if (torsor_status status =
            sizeKernel(plan, op, sequences, queries, keys, one))
      return status;
    bytes = one > bytes ? one : bytes;
  }
  return TORSOR_OK;
}

/// A batch may mix prompts and short sequences, so that both kernels' parts lie
/// side by side: their sum is an upper bound, whatever the mix.
static torsor_status sizePlan(torsor_plan &plan, int32_t op, int64_t sequences,
                              int64_t queries, int64_t keys, int64_t &bytes) {
  const torsor_scheme &scheme = *plan.instance->scheme;
  int64_t count = scheme.tensorCount();
  if (!plan.tensors.resize(count) || !plan.appendTensors.resize(count))
    return failMemory(count * int64_t(sizeof(torsor_tensor)));
  std::memset(plan.tensors.data(), 0, size_t(count) * sizeof(torsor_tensor));
  std::memset(plan.appendTensors.data(), 0,
              size_t(count) * sizeof(torsor_tensor));
  int64_t append = 0, prefill = 0, decode = 0;
  torsor_status status = TORSOR_OK;
  bool attends = op == TORSOR_ATTEND || op == TORSOR_STEP;
  int64_t few =
      scheme.kernel(TORSOR_DECODE) ? scheme.descriptor.decode_queries : 0;
  if (op == TORSOR_STEP)
    status = sizeKernel(plan, TORSOR_APPEND, sequences, queries, keys, append);
  if (!status && attends && queries > few && scheme.kernel(TORSOR_PREFILL))
    status =
        sizeAttention(plan, TORSOR_PREFILL, sequences, queries, keys, prefill);
  if (!status && attends && few)
    status = sizeAttention(plan, TORSOR_DECODE, sequences,
                           queries < few ? queries : few, keys, decode);
  if (!status && !attends)
    return sizeAttention(plan, op, sequences, queries, keys, bytes);
  bytes = prefill + decode > append ? prefill + decode : append;
  return status;
}

} // namespace torsor

extern "C" {

torsor_status torsor_plan_create(torsor_plan **out) {
  if (!out)
    return fail(TORSOR_INVALID, "plan: out is null");
  *out = make<torsor_plan>();
  return *out ? TORSOR_OK : failMemory(sizeof(torsor_plan));
}

void torsor_plan_destroy(torsor_plan *plan) {
  if (plan)
    destroy(plan);
}

torsor_status torsor_plan_workspace(torsor_plan *plan, void *memory,
                                    int64_t bytes, torsor_device device,
                                    int32_t) {
  if (!plan)
    return fail(TORSOR_INVALID, "plan is null");
  if (device != TORSOR_HOST)
    return fail(TORSOR_UNSUPPORTED,
                "plan: a workspace on device %d is not in "
                "this version; use TORSOR_HOST",
                int(device));
  if (bytes < 0 || (!memory && bytes))
    return fail(TORSOR_INVALID, "plan: %lld bytes of workspace at %p",
                (long long)bytes, memory);
  if (reinterpret_cast<uintptr_t>(memory) & 63)
    return fail(TORSOR_STRIDE,
                "plan: the workspace at %p is not aligned to 64 "
                "bytes",
                memory);
  plan->reset();
  plan->host = static_cast<char *>(memory);
  plan->hostBytes = bytes;
  return TORSOR_OK;
}

torsor_status torsor_plan_set(torsor_plan *plan,
                              const torsor_instance *instance, torsor_op op,
                              const torsor_call *call, int64_t workers,
                              torsor_plan_info *info) {
  if (!plan)
    return fail(TORSOR_INVALID, "plan is null");
  torsor_status status = TORSOR_OK;
  if (!instance)
    status = fail(TORSOR_INVALID, "instance is null");
  if (!status)
    status = setPlan(*plan, *instance, numberOf(op), call, workers);
  else
    plan->reset();
  if (status) {
    if (info && info->size >= sizeof(plan->info))
      writeStruct(plan->info, info, "plan info");
    return status;
  }
  status = info ? writeStruct(plan->info, info, "plan info") : TORSOR_OK;
  if (status)
    plan->reset();
  return status;
}

torsor_status torsor_plan_run(const torsor_plan *plan, uint32_t phase,
                              int64_t begin, int64_t end, int64_t worker) {
  if (!plan || !plan->instance)
    return fail(TORSOR_INVALID, plan ? "plan: it was not set" : "plan is null");
  if (phase >= plan->info.phases || begin < 0 || begin > end ||
      end > plan->info.items[phase] || worker < 0 || worker >= plan->workers)
    return fail(
        TORSOR_RANGE,
        "plan: items %lld ... %lld of phase %u by worker "
        "%lld; the plan has %u phases, %lld items in "
        "this one and %lld workers",
        (long long)begin, (long long)end, phase, (long long)worker,
        plan->info.phases,
        (long long)(phase < plan->info.phases ? plan->info.items[phase] : 0),
        (long long)plan->workers);
  runPlan(*plan, phase, begin, end, worker);
  return TORSOR_OK;
}

torsor_status torsor_plan_bytes(const torsor_instance *instance,
                                torsor_op operation, int64_t sequences,
                                int64_t queries, int64_t keys, int64_t workers,
                                int64_t *bytes) {
  if (!bytes)
    return fail(TORSOR_INVALID, "plan: bytes is null");
  *bytes = 0;
  int32_t op = numberOf(operation);
  if (!instance)
    return fail(TORSOR_INVALID, "instance is null");
  constexpr int64_t limit = INT32_MAX;
  if (sequences < 0 || queries < 0 || keys < 0 || workers < 1 ||
      sequences > limit || queries > limit || keys > limit || workers > 1 << 20)
    return fail(TORSOR_INVALID,
                "plan: %lld sequences of %lld queries and %lld "
                "keys on %lld workers",
                (long long)sequences, (long long)queries, (long long)keys,
                (long long)workers);
  if (op < TORSOR_ATTEND || op > TORSOR_STEP)
    return fail(TORSOR_INVALID, "%d is no operation", op);
  if (!(instance->scheme->ops >> op & 1))
    return fail(TORSOR_UNSUPPORTED, "%s: scheme '%s' was compiled without it",
                opName(op), orEmpty(instance->scheme->descriptor.name));
  if (!sequences || !queries)
    return TORSOR_OK;
  torsor_plan plan;
  plan.instance = retain(instance);
  plan.workers = workers;
  return sizePlan(plan, op, sequences, queries, keys, *bytes);
}

} // extern "C"
