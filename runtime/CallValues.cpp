// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks that pass over arrays: explicit indices, slots, clocks that must
// not run backwards, declared ranges.

#include "runtime/Call.h"

#include <algorithm>
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
  for (int64_t a = 0; embeds() && a < scheme.firstParam && !status; ++a)
    status = checkPlaces(a);
  for (int64_t a = 0; ranges && a < scheme.firstParam && !status; ++a)
    status = checkRanges(a);
  return status;
}

namespace {

/// Element n of a run of an array [rows, tokens].
template <class T>
const T *runOf(const torsor_tensor &tensor, int64_t row, int64_t start) {
  return static_cast<const T *>(tensor.data) + row * tensor.strides[0] +
         start * tensor.strides[1];
}

int64_t strideOf(const torsor_tensor &tensor) { return tensor.strides[1]; }

int64_t readIndex(const torsor_tensor &tensor, int64_t row, int64_t token) {
  if (tensor.dtype == TORSOR_I64)
    return *runOf<int64_t>(tensor, row, token);
  return *runOf<int32_t>(tensor, row, token);
}

} // namespace

/// The tokens of a sequence, which always lie one behind the other.
static KeySpan queriesOf(const torsor_sequence &s) {
  return {0, s.query_row, s.query_start, s.query_length};
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

namespace {

/// Adds the ticks of a span, the first of which has index `first`; padding is
/// left out.
bool addTicks(const torsor_tensor &clock, const torsor_tensor &indices,
              const KeySpan &span, int64_t first, Array<Tick> &out) {
  if (!out.reserve(out.size() + span.length))
    return false;
  int64_t bytes = elementBytes(clock.dtype);
  const char *at =
      static_cast<const char *>(clock.data) +
      (span.row * clock.strides[0] + span.slot * clock.strides[1]) * bytes;
  for (int64_t n = 0; n < span.length; ++n, at += strideOf(clock) * bytes) {
    int64_t index =
        indices.data ? readIndex(indices, span.row, span.slot + n) : first + n;
    if (index >= 0)
      out.push({index, readElement(at, clock.dtype)});
  }
  return true;
}

void sortTicks(Array<Tick> &ticks) {
  auto before = [](const Tick &a, const Tick &b) { return a.index < b.index; };
  if (!std::is_sorted(ticks.begin(), ticks.end(), before))
    std::sort(ticks.begin(), ticks.end(), before);
}

/// The first query whose clock is behind that of a key with an index up to its
/// own; `key` is that key. Both sides are in the order of indices.
const Tick *findBackwards(const Array<Tick> &keys, const Array<Tick> &queries,
                          Tick &key) {
  key = {-1, -INFINITY};
  int64_t k = 0;
  for (const Tick &query : queries) {
    for (; k < keys.size() && keys[k].index <= query.index; ++k)
      if (!(keys[k].time <= key.time)) // NaN, too, is found
        key = keys[k];
    if (!(query.time >= key.time))
      return &query;
  }
  return nullptr;
}

} // namespace

/// A clock that must not run backwards belongs to schemes whose keys are not
/// after their queries. Fresh keys, and keys whose clock the call brings, are
/// checked against every query; stored clocks are checked when they are
/// appended: among the new tokens, and against the slot before them.
torsor_status Call::checkRising(int64_t a) const {
  const torsor_tensor &queryClock =
      (op == TORSOR_APPEND ? plan.appendTensors
                           : plan.tensors)[scheme.queryAt(a)];
  if (!queryClock.data || queryClock.rank != 2)
    return TORSOR_OK; // the index
  bool stored = carried(a);
  const torsor_tensor &keyClock =
      stored ? *findStream(*call.cache, scheme.arguments[a].name)
             : plan.tensors[scheme.keyAt(a)];
  Array<Tick> &queries = plan.queryTicks, &keys = plan.keyTicks;
  for (const torsor_sequence &s : plan.sequences) {
    queries.clear(), keys.clear();
    bool room = addTicks(queryClock, batch.query_indices, queriesOf(s),
                         s.query_index, queries);
    sortTicks(queries);
    if (stored && appends() && !batch.slots && s.key_length > s.query_length) {
      KeySpan last = spanAt(storage, s, s.key_length - s.query_length - 1);
      last.length = 1;
      room = room && addTicks(keyClock, torsor_tensor(), last, 0, keys);
    }
    if (!stored && attends() && keyClock.data)
      forKeySpans(storage, s, [&](const KeySpan &span) {
        room = room && addTicks(keyClock, batch.key_indices, span,
                                s.key_index + span.number, keys);
        return TORSOR_OK;
      });
    sortTicks(keys);
    if (stored || op == TORSOR_APPEND) // new tokens are keys of one another
      for (const Tick &tick : queries)
        room = room && keys.push(tick);
    if (!room)
      return failMemory((s.key_length + s.query_length) *
                        int64_t(sizeof(Tick)));
    Tick key;
    const Tick *query = findBackwards(keys, queries, key);
    if (query && (std::isnan(key.time) || std::isnan(query->time)))
      return fail(TORSOR_VALUE,
                  "%s: sequence %lld: clock '%s' must not run backwards, but "
                  "it is nan at the %s of index %lld",
                  name, (long long)s.reserved, scheme.arguments[a].name,
                  std::isnan(key.time) ? "key" : "query",
                  (long long)(std::isnan(key.time) ? key : *query).index);
    if (query)
      return fail(TORSOR_VALUE,
                  "%s: sequence %lld: clock '%s' runs backwards: "
                  "it is %s at the key of index %lld, but %s at "
                  "the query of index %lld",
                  name, (long long)s.reserved, scheme.arguments[a].name,
                  Number(key.time).text, (long long)key.index,
                  Number(query->time).text, (long long)query->index);
  }
  return TORSOR_OK;
}

/// The declared range of a clock that is not given: then it is the index.
torsor_status Call::checkPlaces(int64_t a) const {
  const torsor_field &field = scheme.arguments[a];
  if (!(field.flags & TORSOR_ARG_CLOCK) || plan.tensors[scheme.queryAt(a)].data)
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
