// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of a call that moves cached keys.

#include "runtime/Call.h"

#include <algorithm>

namespace torsor {

/// The keys of the run and how far they move: nothing else.
torsor_status Call::resolveRebase(int64_t number, torsor_sequence &s) const {
  if (s.flags & ~uint64_t(TORSOR_PLACED) || s.reserved)
    return fail(TORSOR_INVALID,
                "rebase: sequence %lld: flags are 0x%llx and reserved is %lld; "
                "both must be 0",
                (long long)number, (unsigned long long)s.flags,
                (long long)s.reserved);
  if (s.query_row || s.query_start || s.query_length)
    return fail(TORSOR_INVALID,
                "rebase: sequence %lld: query_row %lld, query_start %lld or "
                "query_length %lld is given, but only keys move",
                (long long)number, (long long)s.query_row,
                (long long)s.query_start, (long long)s.query_length);
  constexpr int64_t limit = INT64_C(1) << 31;
  if (s.shift <= -limit || s.shift >= limit)
    return fail(TORSOR_RANGE,
                "rebase: sequence %lld: shift is %lld, but it must be less "
                "than 2^31 either way",
                (long long)number, (long long)s.shift);
  if (s.key_length < 0 || s.key_length > INT32_MAX)
    return fail(TORSOR_RANGE,
                "rebase: sequence %lld: key_length is %lld, but it must be 0 "
                "to %d",
                (long long)number, (long long)s.key_length, INT32_MAX);
  if (!liesInStorage(s))
    return failStorage(number, s);
  int64_t end = s.key_start + s.key_length;
  if (!storage.isRing() ||
      end - std::max(s.key_start, storage.pinned) <= storage.turning())
    return checkMovedIndices(number, s);
  return fail(TORSOR_RANGE,
              "rebase: sequence %lld: its %lld keys from slot %lld on lie over "
              "one another: the ring has %lld slots behind the pinned ones",
              (long long)number, (long long)s.key_length,
              (long long)s.key_start, (long long)storage.turning());
}

/// Indices that the cache stores move along; those below 0 are padding and
/// stay so.
torsor_status Call::checkMovedIndices(int64_t number,
                                      const torsor_sequence &s) const {
  const torsor_tensor *indices = findStream(*call.cache, "index");
  constexpr int64_t limit = INT64_C(1) << 31;
  if (!indices || !indices->data || !s.shift)
    return TORSOR_OK;
  return forKeySpans(storage, s, [&](const KeySpan &span) {
    const int64_t *index = static_cast<const int64_t *>(indices->data) +
                           span.row * indices->strides[0] +
                           span.slot * indices->strides[1];
    for (int64_t n = 0; n < span.length; ++n, index += indices->strides[1])
      if (*index >= 0 && *index + s.shift >= limit)
        return fail(TORSOR_RANGE,
                    "rebase: sequence %lld: shift %lld takes the key of index "
                    "%lld beyond 2^31 - 1",
                    (long long)number, (long long)s.shift, (long long)*index);
    return TORSOR_OK;
  });
}

/// A key that two runs name would move twice, in some order.
torsor_status Call::checkSpansDisjoint() {
  Array<KeySpan> &spans = plan.spans;
  spans.clear();
  for (const torsor_sequence &s : plan.sequences)
    for (int64_t number = 0; number < s.key_length;) {
      KeySpan span = spanAt(storage, s, number);
      number += span.length;
      span.number = s.reserved; // whose span it is
      if (!spans.push(span))
        return failMemory(spans.size() * int64_t(sizeof span));
    }
  std::sort(spans.begin(), spans.end(), [](const KeySpan &a, const KeySpan &b) {
    return a.row != b.row ? a.row < b.row : a.slot < b.slot;
  });
  for (int64_t n = 1; n < spans.size(); ++n) {
    const KeySpan &a = spans[n - 1], &b = spans[n];
    if (a.row == b.row && a.slot + a.length > b.slot)
      return fail(TORSOR_RANGE,
                  "rebase: sequences %lld and %lld both move slot %lld of %s "
                  "%lld; a key that is shared can move only once",
                  (long long)a.number, (long long)b.number, (long long)b.slot,
                  storage.isPaged() ? "page" : "row", (long long)b.row);
  }
  return TORSOR_OK;
}

} // namespace torsor
