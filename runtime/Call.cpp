// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of a call itself: structs, operation, what is there, the cache.

#include "runtime/Call.h"

namespace torsor {

torsor_status Call::check(const torsor_call *from) {
  torsor_status status = readCall(from);
  if (!status)
    status = readBatch();
  if (!status)
    status = checkOp();
  if (!status)
    status = checkPresence();
  if (!status)
    status = checkCache();
  if (!status)
    status = checkTensors();
  if (!status)
    status = checkSequences();
  if (!status)
    status = checkInputs();
  if (!status)
    status = checkValues();
  return status;
}

torsor_status Call::readCall(const torsor_call *from) {
  if (op < TORSOR_ATTEND || op > TORSOR_STEP)
    return fail(TORSOR_INVALID, "%d is no operation", op);
  if (torsor_status status = readStruct(from, call, "call"))
    return status;
  if (call.flags)
    return fail(TORSOR_INVALID, "%s: unknown flags 0x%x", name, call.flags);
  if (call.input_count < 0 || (call.input_count && !call.inputs))
    return fail(TORSOR_INVALID,
                "%s: inputs is null or their count, %lld, is "
                "negative",
                name, (long long)call.input_count);
  if (call.part_count < 0 || (call.part_count && !call.parts))
    return fail(TORSOR_INVALID,
                "%s: parts is null or their count, %lld, is "
                "negative",
                name, (long long)call.part_count);
  return TORSOR_OK;
}

torsor_status Call::readBatch() {
  hasBatch = call.batch;
  if (!hasBatch) {
    if (call.cache)
      return fail(TORSOR_INVALID,
                  "%s: a call with a cache needs a batch, "
                  "which says what lies where",
                  name);
    return TORSOR_OK;
  }
  if (torsor_status status = readStruct(call.batch, batch, "batch"))
    return status;
  if (batch.flags & ~uint32_t(TORSOR_CHECK_VALUES))
    return fail(TORSOR_INVALID, "batch: unknown flags 0x%x", batch.flags);
  if (batch.count < 0 || batch.count > INT32_MAX ||
      (batch.count && !batch.sequences))
    return fail(TORSOR_INVALID,
                "batch: sequences is null or count, %lld, is "
                "not 0 to 2^31 - 1",
                (long long)batch.count);
  if (batch.input_count < 0 || (batch.input_count && !batch.inputs))
    return fail(TORSOR_INVALID,
                "batch: inputs is null or their count, %lld, "
                "is negative",
                (long long)batch.input_count);
  bool isPaged = call.cache && call.cache->layout == TORSOR_PAGED;
  if (!isPaged && (batch.page_count || batch.pages))
    return fail(TORSOR_INVALID, "batch: page tables are given, but %s",
                !call.cache ? "there is no cache"
                : call.cache->layout == TORSOR_CONTIGUOUS
                    ? "the cache is contiguous"
                    : "the cache is a ring");
  if (batch.page_count < 0 || (batch.page_count && !batch.pages))
    return fail(TORSOR_INVALID,
                "batch: pages is null or page_count, %lld, is negative",
                (long long)batch.page_count);
  return TORSOR_OK;
}

torsor_status Call::checkOp() const {
  bool known = op == TORSOR_ATTEND || op == TORSOR_PREFILL ||
               op == TORSOR_DECODE || op == TORSOR_APPEND ||
               op == TORSOR_MERGE || op == TORSOR_REBASE ||
               op == TORSOR_EMBED || op == TORSOR_STEP;
  if (!known)
    return fail(TORSOR_UNSUPPORTED, "%s is not in this version", name);
  if (scheme.ops >> op & 1)
    return TORSOR_OK;
  if (rebases() && scheme.descriptor.no_rebase)
    return fail(TORSOR_UNSUPPORTED,
                "rebase: keys that scheme '%s' has left in a cache cannot be "
                "moved: %s",
                orEmpty(scheme.descriptor.name), scheme.descriptor.no_rebase);
  Text compiled;
  for (uint32_t other = 1; other < uint32_t(opLimit); ++other)
    if (scheme.ops >> other & 1)
      compiled.appendf("%s%s", compiled.size() ? ", " : "", opName(other));
  return fail(TORSOR_UNSUPPORTED,
              "%s: scheme '%s' was compiled without it; compiled are: %s", name,
              orEmpty(scheme.descriptor.name),
              compiled.size() ? compiled.get() : "none");
}

torsor_status Call::failAbsent(const char *tensor, const char *why) const {
  return fail(TORSOR_INVALID, "%s: %s %s", name, tensor, why);
}

torsor_status Call::checkPresence() const {
  bool freshKeys = appends() || (attends() && !cached());
  bool hasV = freshKeys && !scheme.valueInKey();
  struct Row {
    const char *tensor;
    bool is, must, may;
    const char *whyNot;
  };
  const torsor_kernel_op *merge = scheme.kernel(TORSOR_MERGE);
  bool mergeReadsQ = merges() && merge && merge->flags & TORSOR_NEEDS_Q;
  const char *noUse = "is given, but this operation does not use it";
  const char *keysCached =
      cached() ? "must be absent: the keys come from the cache" : noUse;
  const Row table[] = {
      {"q", present(call.q), attends() || mergeReadsQ, attends() || merges(),
       noUse},
      {"k", present(call.k), freshKeys, freshKeys, keysCached},
      {"v", present(call.v), hasV, hasV,
       freshKeys ? "must be absent: v is a part of k" : keysCached},
      {"o", present(call.o), attends() || merges() || embeds(),
       attends() || merges() || embeds(), noUse},
      {"lse", present(call.lse), false, attends() || merges(), noUse},
      {"cache", call.cache != nullptr, appends() || rebases(),
       attends() || appends() || rebases(), noUse},
      {"parts", call.part_count > 0, merges(), merges(), noUse},
  };
  for (const Row &row : table) {
    if (row.must && !row.is)
      return failAbsent(row.tensor, row.tensor[0] == 'q' && merges()
                                        ? "is absent, but the sink reads it"
                                        : "is absent");
    if (row.is && !row.may)
      return failAbsent(row.tensor, row.whyNot);
  }
  return checkMoveAlone();
}

/// Keys move by the shift of their sequence and nothing else.
torsor_status Call::checkMoveAlone() const {
  const char *unused = batch.slots                    ? "slots"
                       : present(batch.query_indices) ? "query_indices"
                       : present(batch.key_indices)   ? "key_indices"
                       : batch.input_count            ? "inputs"
                                                      : nullptr;
  if (rebases() && unused)
    return fail(TORSOR_INVALID,
                "rebase: the batch gives %s, but keys move by the shift of "
                "their sequence alone; leave it out",
                unused);
  return TORSOR_OK;
}

torsor_status Call::checkCache() const {
  if (!cached())
    return TORSOR_OK;
  const torsor_contract &held = call.cache->contract();
  const torsor_contract &own = *instance.contract;
  if (&held == &own || held.fingerprint == own.fingerprint ||
      call.cache->agreed.load(std::memory_order_relaxed) == own.fingerprint)
    return TORSOR_OK;
  Text cacheName, callName;
  cacheName.appendf("the cache (scheme '%s')",
                    orEmpty(call.cache->scheme().descriptor.name));
  callName.appendf("%s by scheme '%s'", name, orEmpty(scheme.descriptor.name));
  torsor_status status =
      compareContracts(held, own, cacheName.get(), callName.get());
  if (!status)
    call.cache->agreed.store(own.fingerprint, std::memory_order_relaxed);
  return status;
}

} // namespace torsor
