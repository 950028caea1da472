// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts a plan together out of kernels: ATTEND out of prefill and decode side by
// side, STEP out of append and then those, phase by phase.

#include "runtime/Plan.h"

namespace torsor {

namespace {

struct Composer {
  torsor_plan &plan;
  const torsor_scheme &scheme;
  int32_t op;
  const int64_t *slots;
  const Storage &storage;
  int64_t shared = 0; // bytes of the workspace so far

  torsor_status add(int kernelOp, const Array<torsor_sequence> &sequences,
                    const Array<torsor_tensor> &tensors);
  torsor_status addAttention();
  torsor_status checkAbilities(const torsor_kernel_op &kernel,
                               const Array<torsor_sequence> &sequences) const;
  torsor_status failPartial(const torsor_kernel_op &kernel,
                            const torsor_sequence &s) const;
  torsor_status checkOrder(const torsor_sequence &s) const;
  torsor_status checkNewTokens(const torsor_sequence &s) const;
  torsor_status join(int32_t first, int32_t count);
  torsor_status compose();
};

torsor_status
Composer::checkAbilities(const torsor_kernel_op &kernel,
                         const Array<torsor_sequence> &sequences) const {
  const char *lacking = nullptr;
  if (storage.isPaged() && !(kernel.flags & TORSOR_CAN_PAGED))
    lacking = "paged caches";
  if (storage.isRing() && !(kernel.flags & TORSOR_CAN_RING))
    lacking = "rings";
  if (!lacking && kernel.op == TORSOR_APPEND) {
    if (kernel.flags & TORSOR_NEEDS_ORDER)
      for (const torsor_sequence &s : sequences)
        if (torsor_status status = checkNewTokens(s))
          return status;
    return TORSOR_OK;
  }
  if (plan.tensors[TORSOR_AT_LSE].data && !(kernel.flags & TORSOR_CAN_LSE))
    lacking = "lse";
  if (lacking)
    return fail(TORSOR_UNSUPPORTED, "%s: scheme '%s' was compiled without %s",
                opName(kernel.op), orEmpty(scheme.descriptor.name), lacking);
  if (!(kernel.flags & TORSOR_CAN_PARTIAL))
    for (const torsor_sequence &s : sequences)
      if (s.flags & TORSOR_PARTIAL)
        return failPartial(kernel, s);
  if (kernel.flags & TORSOR_NEEDS_ORDER)
    for (const torsor_sequence &s : sequences)
      if (torsor_status status = checkOrder(s))
        return status;
  return TORSOR_OK;
}

/// What sums over tokens has to see them all.
torsor_status Composer::failPartial(const torsor_kernel_op &kernel,
                                    const torsor_sequence &s) const {
  bool paths = kernel.flags & TORSOR_NEEDS_ORDER;
  return fail(
      TORSOR_UNSUPPORTED,
      "%s: sequence %lld is PARTIAL, but scheme '%s' sums over the tokens %s, "
      "and a part of the keys does not know the others: give all keys in one "
      "call%s",
      opName(kernel.op), (long long)s.reserved, orEmpty(scheme.descriptor.name),
      paths ? "between key and query" : "before each token (a running clock)",
      paths ? ""
            : ", or declare the clock as given ('clock c: f64') and pass the "
              "sums");
}

/// Sums over the keys between two tokens follow the keys as they lie. Stored
/// indices of the tokens that STEP appends are those of its queries.
torsor_status Composer::checkOrder(const torsor_sequence &s) const {
  const torsor_tensor &given = plan.tensors[TORSOR_AT_KEY_INDICES];
  if (!given.data)
    return TORSOR_OK; // they count up
  bool appended = op == TORSOR_STEP;
  auto failAt = [&](int64_t number, const char *what) {
    return fail(TORSOR_UNSUPPORTED,
                "%s: sequence %lld: key %lld %s, but scheme '%s' sums over the "
                "tokens between key and query and needs keys in the order of "
                "their indices",
                opName(op), (long long)s.reserved, (long long)number, what,
                orEmpty(scheme.descriptor.name));
  };
  if (appended && slots)
    return failAt(s.key_length - s.query_length, "is put into a given slot");
  int64_t stored = s.key_length - (appended ? s.query_length : 0), last = -1;
  auto follows = [&](int64_t number, int64_t index) {
    if (index >= 0 && index <= last)
      return failAt(number, "has an index that is not above those before it");
    last = index > last ? index : last;
    return TORSOR_OK;
  };
  auto indexOf = [](const torsor_tensor &t, int64_t row, int64_t token) {
    return static_cast<const int64_t *>(
        t.data)[row * t.strides[0] + token * t.strides[1]];
  };
  torsor_status status =
      forKeySpans(storage, s, [&](const KeySpan &span) -> torsor_status {
        for (int64_t n = 0; n < span.length; ++n)
          if (span.number + n < stored)
            if (torsor_status wrong = follows(
                    span.number + n, indexOf(given, span.row, span.slot + n)))
              return wrong;
        return TORSOR_OK;
      });
  const torsor_tensor &fresh = plan.appendTensors[TORSOR_AT_QUERY_INDICES];
  for (int64_t n = 0; !status && appended && n < s.query_length; ++n)
    status = follows(stored + n,
                     fresh.data ? indexOf(fresh, s.query_row, s.query_start + n)
                                : s.query_index + n);
  return status;
}

/// Running sums of new tokens go on from the key before them: it must be known
/// where that lies, and the tokens must stand in the order of their indices.
torsor_status Composer::checkNewTokens(const torsor_sequence &s) const {
  auto isStored = [&](int64_t number) {
    return !slots || slots[s.shift + number] >= 0;
  };
  auto indexOf = [](const torsor_tensor &t, int64_t row, int64_t token) {
    return static_cast<const int64_t *>(
        t.data)[row * t.strides[0] + token * t.strides[1]];
  };
  int64_t count = 0;
  for (int64_t n = 0; n < s.query_length; ++n)
    count += isStored(n);
  if (count > s.key_length)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld puts %lld tokens into given slots, but its "
                "run has %lld keys; scheme '%s' keeps running sums, which go "
                "on from the key before them: the run ends with the new keys, "
                "in given slots, too",
                opName(op), (long long)s.reserved, (long long)count,
                (long long)s.key_length, orEmpty(scheme.descriptor.name));
  int64_t last = -1, stream = scheme.findStream("index");
  const torsor_tensor none = {},
                      &held = stream < 0
                                  ? none
                                  : plan.appendTensors[scheme.streamAt(stream)];
  if (held.data && count < s.key_length) {
    KeySpan before = spanAt(storage, s, s.key_length - count - 1);
    last = indexOf(held, before.row, before.slot);
  }
  const torsor_tensor &given = plan.appendTensors[TORSOR_AT_QUERY_INDICES];
  for (int64_t n = 0; n < s.query_length; ++n) {
    int64_t index = given.data ? indexOf(given, s.query_row, s.query_start + n)
                               : s.query_index + n;
    if (!isStored(n) || index < 0)
      continue;
    if (index <= last)
      return fail(TORSOR_UNSUPPORTED,
                  "%s: sequence %lld: token %lld has index %lld behind a key "
                  "of index %lld, but scheme '%s' keeps running sums and needs "
                  "keys appended in the order of their indices",
                  opName(op), (long long)s.reserved, (long long)n,
                  (long long)index, (long long)last,
                  orEmpty(scheme.descriptor.name));
    last = index;
  }
  return TORSOR_OK;
}

torsor_status Composer::add(int kernelOp,
                            const Array<torsor_sequence> &sequences,
                            const Array<torsor_tensor> &tensors) {
  const torsor_kernel_op *kernel = scheme.kernel(kernelOp);
  if (!kernel)
    return fail(TORSOR_UNSUPPORTED,
                "%s: sequence %lld has %lld queries, which need %s, but scheme "
                "'%s' was compiled without it",
                opName(op), (long long)sequences[0].reserved,
                (long long)sequences[0].query_length, opName(kernelOp),
                orEmpty(scheme.descriptor.name));
  if (torsor_status status = checkAbilities(*kernel, sequences))
    return status;
  PlanKernel &made = plan.kernels[plan.kernelCount++];
  made.op = kernel;
  torsor_kernel_args &args = made.args;
  args = torsor_kernel_args();
  args.size = sizeof args;
  bool attends = kernelOp == TORSOR_PREFILL || kernelOp == TORSOR_DECODE;
  args.flags = plan.keysCached && attends ? uint32_t(TORSOR_KEYS_ACTED) : 0;
  args.heads = plan.instance->heads, args.groups = plan.instance->groups;
  args.sequences = sequences.data(), args.count = sequences.size();
  args.tensors = tensors.data(), args.tensor_count = tensors.size();
  if (storage.isPaged())
    args.flags |= TORSOR_STORAGE_PAGED, args.pages = storage.pages;
  if (storage.isRing())
    args.flags |= TORSOR_STORAGE_RING, args.pinned = storage.pinned;
  args.page = storage.slots;
  args.slots = kernelOp == TORSOR_APPEND ? slots : nullptr;
  if (kernelOp == TORSOR_MERGE)
    args.parts = plan.parts.data(), args.part_count = plan.parts.size();
  args.tables = plan.instance->tables;
  torsor_kernel_plan &p = made.plan;
  p = torsor_kernel_plan();
  p.size = sizeof p;
  kernel->plan(&args, &p);
  bool good = p.phases >= 1 && p.phases <= TORSOR_MAX_PHASES &&
              p.workspace_bytes >= 0 && p.scratch_bytes >= 0 &&
              p.workspace_bytes < INT64_MAX / 8 &&
              p.scratch_bytes < INT64_MAX / 8 / plan.workers;
  for (uint32_t n = 0; good && n < p.phases; ++n)
    good = p.items[n] >= 0;
  if (!good)
    return fail(TORSOR_INTERNAL,
                "%s: the kernel of scheme '%s' plans %u "
                "phases, %lld and %lld bytes",
                opName(kernelOp), orEmpty(scheme.descriptor.name), p.phases,
                (long long)p.workspace_bytes, (long long)p.scratch_bytes);
  made.workspaceAt = shared;
  shared += alignUp(p.workspace_bytes);
  if (alignUp(p.scratch_bytes) > plan.scratchBytes)
    plan.scratchBytes = alignUp(p.scratch_bytes);
  plan.info.flops += p.flops;
  plan.info.read_bytes += p.read_bytes;
  plan.info.written_bytes += p.written_bytes;
  return TORSOR_OK;
}

/// All of one kind are used as they lie; a mixed batch was split before.
torsor_status Composer::addAttention() {
  const Array<torsor_sequence> &all = plan.sequences;
  if (plan.decodes.size() && plan.prefills.size()) {
    torsor_status status = add(TORSOR_PREFILL, plan.prefills, plan.tensors);
    return status ? status : add(TORSOR_DECODE, plan.decodes, plan.tensors);
  }
  bool few = scheme.kernel(TORSOR_DECODE) &&
             all[0].query_length <= scheme.descriptor.decode_queries;
  return add(few ? TORSOR_DECODE : TORSOR_PREFILL, all, plan.tensors);
}

/// Runs the kernels first … first + count - 1 side by side: their n-th phases
/// become one, so that a long prompt and many short sequences share workers.
torsor_status Composer::join(int32_t first, int32_t count) {
  uint32_t phases = 0;
  for (int32_t k = first; k < first + count; ++k)
    phases = phases > plan.kernels[k].plan.phases ? phases
                                                  : plan.kernels[k].plan.phases;
  if (plan.info.phases + phases > TORSOR_MAX_PHASES)
    return fail(TORSOR_INTERNAL,
                "%s: the kernels of scheme '%s' need %u "
                "phases; %d are possible",
                opName(op), orEmpty(scheme.descriptor.name),
                plan.info.phases + phases, TORSOR_MAX_PHASES);
  for (uint32_t n = 0; n < phases; ++n) {
    PlanPhase &phase = plan.phases[plan.info.phases];
    phase.items = 0, phase.partCount = 0;
    for (int32_t k = first; k < first + count; ++k) {
      const torsor_kernel_plan &p = plan.kernels[k].plan;
      if (n >= p.phases || !p.items[n])
        continue;
      if (__builtin_add_overflow(phase.items, p.items[n], &phase.items))
        return fail(TORSOR_INTERNAL, "%s: too many items", opName(op));
      phase.parts[phase.partCount++] = {k, n, p.items[n]};
    }
    plan.info.items[plan.info.phases++] = phase.items;
  }
  return TORSOR_OK;
}

torsor_status Composer::compose() {
  const Array<torsor_sequence> &all = plan.sequences;
  if (!all.size())
    return TORSOR_OK;
  int32_t attention = 0;
  int64_t sharedByAppend = 0;
  torsor_status status = TORSOR_OK;
  if (op == TORSOR_APPEND || op == TORSOR_STEP) {
    status = add(TORSOR_APPEND, all, plan.appendTensors);
    attention = plan.kernelCount;
    if (!status)
      status = join(0, attention);
    // A barrier lies between: attention uses the same memory again.
    sharedByAppend = shared, shared = 0;
  }
  if (!status && (op == TORSOR_ATTEND || op == TORSOR_STEP))
    status = addAttention();
  else if (!status && op != TORSOR_APPEND)
    status = add(op, all, plan.tensors);
  if (!status && plan.kernelCount > attention)
    status = join(attention, plan.kernelCount - attention);
  plan.scratchAt = shared > sharedByAppend ? shared : sharedByAppend;
  return status;
}

} // namespace

torsor_status composePlan(torsor_plan &plan, int32_t op, const int64_t *slots,
                          const Storage &storage) {
  plan.kernelCount = 0;
  plan.info = torsor_plan_info();
  plan.scratchAt = plan.scratchBytes = 0;
  Composer composer{plan, *plan.instance->scheme, op, slots, storage};
  torsor_status status = composer.compose();
  plan.info.workspace_bytes = plan.scratchAt + plan.workers * plan.scratchBytes;
  return status;
}

} // namespace torsor
