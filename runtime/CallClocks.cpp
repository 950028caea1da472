// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clocks that must not run backwards from a key that a query sees.

#include "runtime/Call.h"

#include <algorithm>
#include <cmath>

namespace torsor {

/// Inputs that tell segments apart beyond so many are not read: then fewer
/// pairs count as hidden.
static constexpr int mostSegments = 4;

/// One side of a clock.
struct TickSource {
  torsor_tensor clock = {}, indices = {}; // without data: the run's own indices
  torsor_tensor segments[mostSegments] = {};
  int segmentCount = 0;

  uint64_t segmentAt(int64_t row, int64_t token) const {
    uint64_t mixed = 0;
    for (int n = 0; n < segmentCount; ++n) {
      double value =
          readElement(elementAt(segments[n], row, token), segments[n].dtype);
      uint64_t bits;
      value += 0.0; // -0 is 0
      std::memcpy(&bits, &value, sizeof bits);
      mixed = (mixed ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
      mixed ^= mixed >> 32;
    }
    return mixed;
  }
};

/// The clock `a` and what tells segments apart, at the tokens of the call or at
/// the keys.
TickSource Call::tickSource(int64_t a, bool keys) const {
  const Array<torsor_tensor> &given =
      op == TORSOR_APPEND ? plan.appendTensors : plan.tensors;
  auto at = [&](int64_t argument, bool ofKeys) -> const torsor_tensor & {
    if (!ofKeys)
      return given[scheme.queryAt(argument)];
    if (carried(argument))
      return *findStream(*call.cache, scheme.arguments[argument].name);
    return plan.tensors[scheme.keyAt(argument)];
  };
  TickSource source;
  source.clock = at(a, keys);
  source.indices = batch.query_indices;
  if (keys)
    source.indices =
        keysIndexed ? *findStream(*call.cache, "index") : batch.key_indices;
  for (int64_t n = 0; n < scheme.firstParam; ++n)
    if (scheme.arguments[n].flags & TORSOR_ARG_SEGMENT &&
        source.segmentCount < mostSegments && at(n, false).data &&
        at(n, true).data)
      source.segments[source.segmentCount++] = at(n, keys);
  return source;
}

/// Adds the ticks of a span, the first of which has index `first`; padding is
/// left out.
static bool addTicks(const TickSource &from, const KeySpan &span, int64_t first,
                     Array<Tick> &out) {
  if (!out.reserve(out.size() + span.length))
    return false;
  for (int64_t n = 0; n < span.length; ++n) {
    int64_t at = span.slot + n;
    int64_t index =
        from.indices.data ? readIndex(from.indices, span.row, at) : first + n;
    if (index >= 0)
      out.push(
          {from.segmentAt(span.row, at), index,
           readElement(elementAt(from.clock, span.row, at), from.clock.dtype)});
  }
  return true;
}

static void sortTicks(Array<Tick> &ticks) {
  auto before = [](const Tick &a, const Tick &b) {
    return a.segment != b.segment ? a.segment < b.segment : a.index < b.index;
  };
  if (!std::is_sorted(ticks.begin(), ticks.end(), before))
    std::sort(ticks.begin(), ticks.end(), before);
}

/// The first query whose clock is behind that of a key of its segment with an
/// index up to its own; `key` is that key. Both sides are sorted.
static const Tick *findBackwards(const Array<Tick> &keys,
                                 const Array<Tick> &queries, Tick &key) {
  int64_t k = 0;
  key = {0, -1, -INFINITY};
  for (const Tick &query : queries) {
    if (query.segment != key.segment)
      key = {query.segment, -1, -INFINITY};
    for (; k < keys.size(); ++k) {
      const Tick &next = keys[k];
      if (next.segment > query.segment ||
          (next.segment == query.segment && next.index > query.index))
        break;
      if (next.segment == query.segment &&
          !(next.time <= key.time)) // NaN, too, is found
        key = next;
    }
    if (!(query.time >= key.time))
      return &query;
  }
  return nullptr;
}

/// Whether the slot is one that this step fills: its index is not there yet.
bool Call::isUnwritten(const torsor_sequence &s, const KeySpan &span) const {
  if (!batch.slots)
    return span.number >= s.key_length - s.query_length;
  int64_t slot = span.row * storage.slots + span.slot;
  const int64_t *own = batch.slots + s.shift;
  return std::find(own, own + s.query_length, slot) != own + s.query_length;
}

/// Fresh keys, and keys whose clock the call brings, are all checked; stored
/// clocks were, when they were appended: but for the one before the new tokens.
bool Call::gatherKeys(const torsor_sequence &s, const TickSource &from,
                      bool stored, Array<Tick> &keys) const {
  bool room = true, steps = op == TORSOR_STEP && keysIndexed;
  auto add = [&](KeySpan span) {
    room = room && addTicks(from, span, s.key_index + span.number, keys);
  };
  if (stored && appends() && !batch.slots && s.key_length > s.query_length) {
    KeySpan last = spanAt(storage, s, s.key_length - s.query_length - 1);
    last.length = 1;
    add(last);
  }
  if (stored || !attends() || !from.clock.data)
    return room;
  forKeySpans(storage, s, [&](const KeySpan &span) {
    if (!steps) {
      add(span);
      return TORSOR_OK;
    }
    for (int64_t n = 0; n < span.length; ++n) {
      KeySpan one = {span.number + n, span.row, span.slot + n, 1};
      if (!isUnwritten(s, one))
        add(one);
    }
    return TORSOR_OK;
  });
  return room;
}

torsor_status Call::failRising(int64_t a, const torsor_sequence &s,
                               const Tick &query, const Tick &key) const {
  const char *clock = scheme.arguments[a].name;
  bool isKey = std::isnan(key.time);
  if (isKey || std::isnan(query.time))
    return fail(TORSOR_VALUE,
                "%s: sequence %lld: clock '%s' must not run backwards, but "
                "it is nan at the %s of index %lld",
                name, (long long)s.reserved, clock, isKey ? "key" : "query",
                (long long)(isKey ? key : query).index);
  return fail(TORSOR_VALUE,
              "%s: sequence %lld: clock '%s' runs backwards: it is %s at the "
              "key of index %lld, but %s at the query of index %lld",
              name, (long long)s.reserved, clock, Number(key.time).text,
              (long long)key.index, Number(query.time).text,
              (long long)query.index);
}

/// A clock that must not run backwards belongs to schemes whose keys are not
/// after their queries.
torsor_status Call::checkRising(int64_t a) const {
  TickSource atQueries = tickSource(a, false), atKeys = tickSource(a, true);
  if (!atQueries.clock.data || atQueries.clock.rank != 2)
    return TORSOR_OK; // the index
  bool stored = carried(a);
  // New tokens are keys of one another, which the cache does not hold yet.
  bool fresh =
      stored || op == TORSOR_APPEND || (op == TORSOR_STEP && keysIndexed);
  Array<Tick> &queries = plan.queryTicks, &keys = plan.keyTicks;
  for (const torsor_sequence &s : plan.sequences) {
    queries.clear(), keys.clear();
    bool room = addTicks(atQueries, queriesOf(s), s.query_index, queries) &&
                gatherKeys(s, atKeys, stored, keys);
    for (int64_t n = 0; fresh && n < queries.size(); ++n)
      room = room && keys.push(queries[n]);
    if (!room)
      return failMemory((s.key_length + s.query_length) *
                        int64_t(sizeof(Tick)));
    sortTicks(queries);
    sortTicks(keys);
    Tick key;
    if (const Tick *query = findBackwards(keys, queries, key))
      return failRising(a, s, *query, key);
  }
  return TORSOR_OK;
}

} // namespace torsor
