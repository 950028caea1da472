// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks that pass over arrays: explicit indices, slots, declared ranges.

#include "runtime/Call.h"

#include <cmath>

namespace torsor {

torsor_status Call::checkValues() {
  torsor_status status = TORSOR_OK;
  if (present(batch.query_indices))
    status = checkIndices(batch.query_indices, plan.queryIndices, false);
  if (!status && present(batch.key_indices) && attends())
    status = checkIndices(batch.key_indices, plan.keyIndices, true);
  if (!status && appends() && batch.slots)
    status = checkSlots();
  for (int64_t a = 0; a < scheme.firstParam && !status; ++a)
    if (scheme.arguments[a].flags & TORSOR_ARG_RISING &&
        (attends() || appends()))
      status = checkRising(a);
  // A table of positions has an end, which an encoding must not pass unseen.
  bool ranges = batch.flags & TORSOR_CHECK_VALUES || embeds();
  bool places = ranges && (attends() || appends() || embeds());
  for (int64_t a = 0; places && a < scheme.firstParam && !status; ++a)
    status = checkPlaces(a);
  for (int64_t a = 0; ranges && a < scheme.firstParam && !status; ++a)
    status = checkRanges(a);
  return status;
}

torsor_status Call::failIndex(const torsor_sequence &s, const char *what,
                              int64_t row, int64_t token, int64_t index,
                              int64_t bound) const {
  constexpr int64_t limit = INT64_C(1) << 31;
  bool beyond = index >= limit || index < -limit;
  return fail(TORSOR_RANGE,
              "%s: sequence %lld: %s[%lld, %lld] is %lld, but %s %lld", name,
              (long long)s.reserved, what, (long long)row, (long long)token,
              (long long)index,
              beyond ? "an index must be below"
                     : "an index of a key must be below its total",
              (long long)(beyond ? limit : bound));
}

/// Kernels see i64: an i32 array is widened into the plan's memory, laid
/// compactly, where runs use it.
torsor_status Call::checkIndices(torsor_tensor &tensor, Array<int64_t> &widened,
                                 bool keys) {
  int64_t limit = INT64_C(1) << 31;
  torsor_tensor wide = tensor;
  if (tensor.dtype == TORSOR_I32) {
    int64_t count;
    if (__builtin_mul_overflow(tensor.shape[0], tensor.shape[1], &count) ||
        !widened.resize(count))
      return failMemory(count * 8);
    wide.data = widened.data(), wide.dtype = TORSOR_I64;
    wide.strides[0] = tensor.shape[1], wide.strides[1] = 1;
  }
  for (const torsor_sequence &s : plan.sequences) {
    int64_t bound = keys ? s.total : limit;
    auto check = [&](const KeySpan &span) {
      for (int64_t n = span.slot; n < span.slot + span.length; ++n) {
        int64_t index = readIndex(tensor, span.row, n);
        if (index >= bound || index < -limit)
          return failIndex(s, keys ? "key_indices" : "query_indices", span.row,
                           n, index, bound);
        if (wide.data != tensor.data)
          widened[span.row * tensor.shape[1] + n] = index;
      }
      return TORSOR_OK;
    };
    torsor_status status =
        keys ? forKeySpans(storage, s, check) : check(queriesOf(s));
    if (status)
      return status;
  }
  Array<torsor_tensor> *users[] = {&plan.tensors,
                                   appends() ? &plan.appendTensors : nullptr};
  int place = keys ? TORSOR_AT_KEY_INDICES : TORSOR_AT_QUERY_INDICES;
  for (Array<torsor_tensor> *user : users)
    if (user && (*user)[place].data == tensor.data)
      (*user)[place] = wide;
  tensor = wide;
  return TORSOR_OK;
}

torsor_status Call::checkSlots() const {
  int64_t limit = call.cache->rows * call.cache->slots;
  for (const torsor_sequence &s : plan.sequences)
    for (int64_t n = 0; n < s.query_length; ++n) {
      int64_t slot = batch.slots[s.shift + n];
      if (slot >= -1 && slot < limit)
        continue;
      return fail(TORSOR_RANGE,
                  "%s: sequence %lld: slots[%lld] is %lld, but "
                  "the cache has %lld rows of %lld slots; -1 "
                  "stores nothing",
                  name, (long long)s.reserved, (long long)(s.shift + n),
                  (long long)slot, (long long)call.cache->rows,
                  (long long)call.cache->slots);
    }
  return TORSOR_OK;
}

/// The declared range of a clock that is not given: then it is the index.
torsor_status Call::checkPlaces(int64_t a) const {
  const torsor_field &field = scheme.arguments[a];
  const Array<torsor_tensor> &given =
      op == TORSOR_APPEND ? plan.appendTensors : plan.tensors;
  constexpr uint32_t isPlace = TORSOR_ARG_CLOCK | TORSOR_ARG_OPTIONAL;
  if ((field.flags & isPlace) != isPlace || given[scheme.queryAt(a)].data)
    return TORSOR_OK;
  for (const torsor_sequence &s : plan.sequences)
    for (int64_t n = 0; n < s.query_length; ++n) {
      int64_t index = s.query_index + n;
      if (present(batch.query_indices)) {
        const torsor_tensor &t = batch.query_indices;
        index = static_cast<const int64_t *>(
            t.data)[s.query_row * t.strides[0] +
                    (s.query_start + n) * t.strides[1]];
      }
      if (index < 0 ||
          (double(index) >= field.low && double(index) <= field.high))
        continue;
      return fail(TORSOR_VALUE,
                  "%s: sequence %lld: token %lld stands at %lld, but '%s' is "
                  "declared in %s .. %s",
                  name, (long long)s.reserved, (long long)n, (long long)index,
                  field.name, Number(field.low).text, Number(field.high).text);
    }
  return TORSOR_OK;
}

/// Declared ranges, where runs read them: padding may hold anything.
torsor_status Call::checkRanges(int64_t a) const {
  const torsor_field &field = scheme.arguments[a];
  if (field.low == -INFINITY && field.high == INFINITY)
    return TORSOR_OK;
  const Array<torsor_tensor> &from =
      op == TORSOR_APPEND ? plan.appendTensors : plan.tensors;
  if (field.stage != TORSOR_PER_TOKEN) {
    const torsor_tensor &tensor = from[scheme.queryAt(a)];
    return tensor.data ? checkRange(name, "input", field.name, tensor,
                                    field.low, field.high)
                       : TORSOR_OK;
  }
  for (int side = 0; side < 2; ++side) {
    const torsor_tensor &tensor =
        from[side ? scheme.keyAt(a) : scheme.queryAt(a)];
    if (!tensor.data || (side && (carried(a) || !attends())))
      continue;
    for (const torsor_sequence &s : plan.sequences) {
      auto check = [&](const KeySpan &span) {
        torsor_tensor run = tensor; // [1, length, shape…] of the span
        run.shape[0] = 1, run.shape[1] = span.length;
        run.data =
            static_cast<char *>(tensor.data) +
            (span.row * tensor.strides[0] + span.slot * tensor.strides[1]) *
                elementBytes(tensor.dtype);
        Text owner;
        owner.appendf("%s: sequence %lld (row %lld, from %lld on, at %s)", name,
                      (long long)s.reserved, (long long)span.row,
                      (long long)span.slot, side ? "keys" : "queries");
        return checkRange(owner.get(), "input", field.name, run, field.low,
                          field.high);
      };
      torsor_status status =
          side ? forKeySpans(storage, s, check) : check(queriesOf(s));
      if (status)
        return status;
    }
  }
  return TORSOR_OK;
}

} // namespace torsor
