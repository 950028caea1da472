// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds the clocks and inputs of a call by name.

#include "runtime/Call.h"

namespace torsor {

namespace {
/// Bits of torsor_plan::given beside TORSOR_QUERY and TORSOR_KEY.
constexpr uint8_t inBatch = 4, inCall = 8;
} // namespace

torsor_status Call::checkInputs() {
  int64_t count = scheme.arguments.size();
  if (!plan.given.resize(count))
    return failMemory(count);
  for (uint8_t &given : plan.given)
    given = 0;
  torsor_status status = bindList(batch.inputs, batch.input_count, true);
  if (!status)
    status = bindList(call.inputs, call.input_count, false);
  for (int64_t a = 0; a < scheme.firstParam && !status; ++a)
    status = checkMissing(a);
  for (int64_t a = scheme.firstParam; a < count && !status; ++a) {
    const torsor_tensor &param = instance.params[a - scheme.firstParam];
    plan.tensors[scheme.queryAt(a)] = param;
    if (appends())
      plan.appendTensors[scheme.queryAt(a)] = param;
  }
  if (!status && attends()) {
    plan.tensors[TORSOR_AT_QUERY_INDICES] = batch.query_indices;
    if (present(batch.key_indices))
      plan.tensors[TORSOR_AT_KEY_INDICES] = batch.key_indices;
  }
  if (!status && merges())
    plan.tensors[TORSOR_AT_QUERY_INDICES] = batch.query_indices;
  if (!status && appends())
    plan.appendTensors[TORSOR_AT_QUERY_INDICES] = batch.query_indices;
  return status;
}

torsor_status Call::bindList(const torsor_binding *list, int64_t count,
                             bool shared) {
  for (int64_t n = 0; n < count; ++n)
    if (torsor_status status = bind(list[n], shared))
      return status;
  return TORSOR_OK;
}

/// A batch is shared by layers, whose schemes may read different inputs: a
/// name of the batch may belong to any scheme of the library.
torsor_status Call::failName(const char *wrong, bool shared) const {
  const torsor_library &library = *scheme.library;
  for (int64_t n = 0; shared && n < library.schemeCount; ++n) {
    const torsor_scheme &other = library.schemes[n];
    if (int64_t a = other.findArgument(wrong); a >= 0 && a < other.firstParam)
      return TORSOR_OK;
  }
  Text names;
  appendNames(names, scheme, wrong, false);
  return fail(TORSOR_NAME, "%s: scheme '%s' has no clock or input '%s'; %s",
              name, orEmpty(scheme.descriptor.name), wrong, names.get());
}

torsor_status Call::bind(const torsor_binding &binding, bool shared) {
  if (!binding.name || binding.reserved)
    return fail(TORSOR_INVALID, "%s: an input of the %s has %s", name,
                shared ? "batch" : "call",
                binding.name ? "a reserved word that is not 0" : "no name");
  int64_t a = scheme.findArgument(binding.name);
  if (a < 0)
    return failName(binding.name, shared);
  if (a >= scheme.firstParam)
    return fail(TORSOR_NAME,
                "%s: '%s' is a param; it was bound when the "
                "instance was made",
                name, binding.name);
  if (!present(binding.tensor))
    return TORSOR_OK; // as if it were not there
  const torsor_field &field = scheme.arguments[a];
  bool perToken = field.stage == TORSOR_PER_TOKEN;
  uint32_t sides = binding.side;
  if (perToken ? !sides || sides > (TORSOR_QUERY | TORSOR_KEY) : sides != 0)
    return fail(TORSOR_INVALID, "%s: input '%s': side is %u, but it must be %s",
                name, binding.name, sides,
                perToken ? "TORSOR_QUERY, TORSOR_KEY or both"
                         : "0, since it is not per token");
  if (!perToken)
    sides = TORSOR_QUERY;
  uint8_t &given = plan.given[a];
  if (given & sides || (!shared && given & inBatch))
    return fail(TORSOR_NAME, "%s: input '%s' is given twice%s", name,
                binding.name,
                given & sides ? "" : ": in the batch and in the call");
  given |= uint8_t(sides | (shared ? inBatch : inCall));
  torsor_status status = TORSOR_OK;
  if (sides & TORSOR_QUERY)
    status = bindSide(a, binding, TORSOR_QUERY);
  if (!status && sides & TORSOR_KEY)
    status = bindSide(a, binding, TORSOR_KEY);
  return status;
}

torsor_status Call::bindSide(int64_t a, const torsor_binding &binding,
                             uint32_t side) {
  const torsor_field &field = scheme.arguments[a];
  TensorRule r = {name, field.name, field.dtype, field.rank, {}, {}, false};
  int32_t lead = field.stage == TORSOR_PER_TOKEN      ? 2
                 : field.stage == TORSOR_PER_SEQUENCE ? 1
                                                      : 0;
  r.rank += lead;
  resolveShape(field, instance.heads, instance.groups, r.shape + lead,
               r.what + lead);
  bool keys = side == TORSOR_KEY;
  if (lead == 1)
    r.shape[0] = sequenceCount, r.what[0] = "the number of sequences";
  if (lead == 2) {
    bool unknown = keys && merges();
    r.shape[0] = unknown ? -1 : keys ? keyRows : rows;
    r.shape[1] = unknown ? -1 : keys ? keyTokens : tokens;
    r.what[0] = keys ? "the number of rows of the keys" : "the number of rows";
    r.what[1] = !keys      ? "the number of tokens"
                : cached() ? "the number of slots of a row"
                           : "the number of keys";
  }
  torsor_tensor tensor = binding.tensor;
  if (torsor_status status = checkTensor(r, tensor))
    return status;
  if (keys && carried(a))
    return fail(TORSOR_NAME,
                "%s: '%s' is given at keys, but the cache stores "
                "it: give it with TORSOR_QUERY, for new tokens",
                name, field.name);
  plan.tensors[keys ? scheme.keyAt(a) : scheme.queryAt(a)] = tensor;
  if (appends() && !keys)
    plan.appendTensors[scheme.queryAt(a)] = tensor;
  return TORSOR_OK;
}

/// The cache stores this argument with each key.
bool Call::carried(int64_t a) const {
  return cached() && findStream(*call.cache, scheme.arguments[a].name);
}

/// The sides at which one kernel reads an argument in this call.
uint32_t Call::needs(int64_t a, int kernelOp) const {
  const torsor_kernel_op *kernel = scheme.kernel(kernelOp);
  if (!kernel)
    return 0;
  const torsor_field &field = scheme.arguments[a];
  bool perToken = field.stage == TORSOR_PER_TOKEN;
  uint32_t reads = kernel->reads ? kernel->reads[a]
                   : perToken    ? field.sides
                                 : uint32_t(TORSOR_READS_QUERY);
  if (kernelOp == TORSOR_APPEND) {
    // New keys are tokens of the call. Without a table: what keys have.
    if (perToken && !kernel->reads)
      reads &= ~uint32_t(TORSOR_READS_QUERY);
    return reads || (perToken && carried(a)) ? TORSOR_QUERY : 0;
  }
  if (reads & TORSOR_READS_FRESH && !cached())
    reads |= TORSOR_READS_KEY;
  return reads & (TORSOR_QUERY | TORSOR_KEY);
}

torsor_status Call::checkMissing(int64_t a) const {
  const torsor_field &field = scheme.arguments[a];
  uint32_t needed = 0;
  if (op == TORSOR_ATTEND || op == TORSOR_STEP)
    needed = needs(a, TORSOR_PREFILL) | needs(a, TORSOR_DECODE);
  if (op != TORSOR_ATTEND && op != TORSOR_STEP)
    needed = needs(a, op);
  if (op == TORSOR_STEP)
    needed |= needs(a, TORSOR_APPEND);
  uint32_t given = plan.given[a] & (TORSOR_QUERY | TORSOR_KEY);
  if (carried(a))
    given |= TORSOR_KEY;
  uint32_t missing = needed & ~given;
  if (!missing)
    return TORSOR_OK;
  // A clock left out is the index; but then it is so on both sides.
  bool optional =
      field.flags & TORSOR_ARG_OPTIONAL || !std::strcmp(field.name, "pos");
  bool oneSided = plan.given[a] & (TORSOR_QUERY | TORSOR_KEY) &&
                  needed == (TORSOR_QUERY | TORSOR_KEY);
  const char *where = missing == (TORSOR_QUERY | TORSOR_KEY)
                          ? " for queries and keys (TORSOR_QUERY, TORSOR_KEY)"
                      : field.stage != TORSOR_PER_TOKEN ? ""
                      : missing == TORSOR_KEY ? " for keys (TORSOR_KEY)"
                                              : " for the tokens of the call "
                                                "(TORSOR_QUERY)";
  if (optional && !oneSided)
    return TORSOR_OK;
  return fail(TORSOR_NAME, "%s: '%s' of scheme '%s' is missing%s%s", name,
              field.name, orEmpty(scheme.descriptor.name), where,
              optional ? "; give both sides or neither" : "");
}

} // namespace torsor
