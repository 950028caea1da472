// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of a call's sequences: flags, runs, indices, no overlap.

#include "runtime/Call.h"

#include <algorithm>

namespace torsor {

torsor_status Call::checkSequences() {
  sequenceCount = hasBatch ? batch.count : rows;
  readStorage();
  plan.sequences.clear();
  if (!plan.sequences.reserve(sequenceCount))
    return failMemory(sequenceCount * int64_t(sizeof(torsor_sequence)));
  newTokens = 0;
  if (!hasBatch)
    if (torsor_status status = wholeRows())
      return status;
  for (int64_t n = 0; hasBatch && n < batch.count; ++n) {
    torsor_sequence s = batch.sequences[n];
    if (torsor_status status = rebases() ? resolveRebase(n, s) : resolve(n, s))
      return status;
    s.reserved = n;
    if (!rebases())
      s.shift = newTokens;
    newTokens += s.query_length;
    if (rebases() ? s.key_length && s.shift : s.query_length)
      plan.sequences.push(s);
  }
  if (rebases())
    return checkSpansDisjoint();
  if (torsor_status status = checkDisjoint())
    return status;
  if (op == TORSOR_ATTEND || op == TORSOR_STEP)
    return splitAttend();
  return TORSOR_OK;
}

/// Without a batch, sequence b is row b of queries and of fresh keys.
torsor_status Call::wholeRows() {
  int64_t keys = isKeyless() ? tokens : keyTokens;
  if (!isKeyless() && keyRows != rows)
    return fail(TORSOR_SHAPE,
                "%s: without a batch sequence b is row b, but q "
                "has %lld rows and k has %lld",
                name, (long long)rows, (long long)keyRows);
  if (tokens > INT32_MAX || keys > INT32_MAX)
    return fail(TORSOR_RANGE,
                "%s: %lld tokens and %lld keys: lengths must be "
                "below 2^31",
                name, (long long)tokens, (long long)keys);
  for (int64_t b = 0; b < rows && tokens; ++b) {
    torsor_sequence s = {};
    s.query_row = s.key_row = s.reserved = b;
    s.query_length = tokens, s.key_length = keys;
    s.query_index = keys - tokens, s.total = keys;
    s.flags = TORSOR_PLACED;
    s.shift = b * tokens;
    if (op == TORSOR_DECODE && tokens > scheme.descriptor.decode_queries)
      return failRun(b, s);
    plan.sequences.push(s);
  }
  newTokens = rows * tokens;
  return TORSOR_OK;
}

torsor_status Call::resolve(int64_t number, torsor_sequence &s) const {
  if (s.flags & ~uint64_t(TORSOR_PLACED | TORSOR_PARTIAL) || s.reserved)
    return fail(TORSOR_INVALID,
                "%s: sequence %lld: unknown flags 0x%llx, or "
                "reserved (%lld) is not 0",
                name, (long long)number, (unsigned long long)s.flags,
                (long long)s.reserved);
  if (s.shift)
    return fail(TORSOR_INVALID,
                "%s: sequence %lld: shift is %lld, but only "
                "rebase shifts",
                name, (long long)number, (long long)s.shift);
  if (torsor_status status = checkRuns(number, s))
    return status;
  if (embeds() && !(s.flags & TORSOR_PLACED) && s.query_length > s.key_length)
    return fail(TORSOR_RANGE,
                "embed: sequence %lld: its %lld tokens are the last of "
                "key_length %lld, so that the first would be padding; give the "
                "length of the text so far, or query_index with TORSOR_PLACED",
                (long long)number, (long long)s.query_length,
                (long long)s.key_length);
  if (torsor_status status = place(number, s))
    return status;
  if (storage.isRing())
    if (torsor_status status = checkRing(number, s))
      return status;
  // What is appended may bring its indices, padding among them.
  bool explicitKeys = present(batch.key_indices) || keysIndexed ||
                      (op == TORSOR_APPEND && present(batch.query_indices));
  if (!isKeyless() && !explicitKeys && s.key_length &&
      s.key_index + s.key_length > s.total)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: total is %lld, but its last "
                "key has index %lld; total is the largest index "
                "of a key + 1",
                name, (long long)number, (long long)s.total,
                (long long)(s.key_index + s.key_length - 1));
  if (s.flags & TORSOR_PARTIAL && op != TORSOR_APPEND && !present(call.lse) &&
      s.query_length)
    return fail(TORSOR_INVALID,
                "%s: sequence %lld is PARTIAL, so lse is "
                "required; it is absent",
                name, (long long)number);
  return TORSOR_OK;
}

/// Gives the sequence the indices that it has without TORSOR_PLACED, and checks
/// them.
torsor_status Call::place(int64_t number, torsor_sequence &s) const {
  if (!(s.flags & TORSOR_PLACED)) {
    if (s.query_index || s.key_index || s.total)
      return fail(TORSOR_INVALID,
                  "%s: sequence %lld: query_index %lld, "
                  "key_index %lld or total %lld is given "
                  "without TORSOR_PLACED",
                  name, (long long)number, (long long)s.query_index,
                  (long long)s.key_index, (long long)s.total);
    s.query_index = s.key_length - s.query_length;
    s.total = s.key_length;
    s.flags |= TORSOR_PLACED;
  }
  constexpr int64_t limit = INT64_C(1) << 31;
  auto outside = [](int64_t index, int64_t length) {
    return index < -limit || index > limit || index + length > limit;
  };
  if (outside(s.query_index, s.query_length) ||
      outside(s.key_index, s.key_length) || s.total < 0 || s.total > limit)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: query_index %lld, key_index "
                "%lld and total %lld must keep indices below "
                "2^31",
                name, (long long)number, (long long)s.query_index,
                (long long)s.key_index, (long long)s.total);
  return TORSOR_OK;
}

/// Says which of the rules of checkRuns does not hold.
torsor_status Call::failRun(int64_t number, const torsor_sequence &s) const {
  auto text = [&](const char *what, int64_t is, const char *rule,
                  int64_t bound) {
    return fail(TORSOR_RANGE, "%s: sequence %lld: %s is %lld, but %s %lld",
                name, (long long)number, what, (long long)is, rule,
                (long long)bound);
  };
  if (s.query_row < 0 || s.query_row >= rows)
    return text("query_row", s.query_row, "the rows of the tokens are", rows);
  if (s.query_length < 0 || s.query_length > INT32_MAX)
    return text("query_length", s.query_length, "it must be 0 to", INT32_MAX);
  if (s.query_start < 0 || s.query_length > tokens ||
      s.query_start > tokens - s.query_length)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: its %lld tokens begin at %lld of row %lld, "
                "but a row has %lld",
                name, (long long)number, (long long)s.query_length,
                (long long)s.query_start, (long long)s.query_row,
                (long long)tokens);
  if (s.key_length < 0 || s.key_length > INT32_MAX)
    return text("key_length", s.key_length, "it must be 0 to", INT32_MAX);
  if (!isKeyless() && !liesInStorage(s))
    return failStorage(number, s);
  if (op == TORSOR_DECODE && s.query_length > scheme.descriptor.decode_queries)
    return fail(TORSOR_UNSUPPORTED,
                "decode: sequence %lld has %lld queries, "
                "but this object decodes at most %lld; "
                "use attend",
                (long long)number, (long long)s.query_length,
                (long long)scheme.descriptor.decode_queries);
  return text("query_length", s.query_length,
              "the new tokens are the last of its keys, which are",
              s.key_length);
}

torsor_status Call::checkRuns(int64_t number, const torsor_sequence &s) const {
  bool good = s.query_row >= 0 && s.query_row < rows && s.query_start >= 0 &&
              s.query_length >= 0 && s.query_length <= tokens &&
              s.query_length <= INT32_MAX &&
              s.query_start <= tokens - s.query_length && s.key_length >= 0 &&
              s.key_length <= INT32_MAX;
  good = good && (isKeyless() || liesInStorage(s));
  if (op == TORSOR_DECODE)
    good = good && s.query_length <= scheme.descriptor.decode_queries;
  if (appends() && !batch.slots)
    good = good && s.query_length <= s.key_length;
  return good ? TORSOR_OK : failRun(number, s);
}

/// Linear where the runs come in order, as they nearly always do.
torsor_status Call::checkDisjoint() {
  const Array<torsor_sequence> &all = plan.sequences;
  auto before = [&](const torsor_sequence &a, const torsor_sequence &b) {
    return a.query_row < b.query_row ||
           (a.query_row == b.query_row &&
            a.query_start + a.query_length <= b.query_start);
  };
  bool sorted = true;
  for (int64_t n = 1; n < all.size() && sorted; ++n)
    sorted = before(all[n - 1], all[n]);
  if (sorted)
    return TORSOR_OK;
  if (!plan.order.resize(all.size()))
    return failMemory(all.size() * 8);
  for (int64_t n = 0; n < all.size(); ++n)
    plan.order[n] = n;
  std::sort(plan.order.begin(), plan.order.end(), [&](int64_t a, int64_t b) {
    const torsor_sequence &x = all[a], &y = all[b];
    return x.query_row != y.query_row ? x.query_row < y.query_row
                                      : x.query_start < y.query_start;
  });
  for (int64_t n = 1; n < all.size(); ++n) {
    const torsor_sequence &a = all[plan.order[n - 1]];
    const torsor_sequence &b = all[plan.order[n]];
    if (!before(a, b))
      return fail(TORSOR_RANGE,
                  "%s: the query runs of sequences %lld and %lld "
                  "overlap: both have token %lld of row %lld",
                  name, (long long)a.reserved, (long long)b.reserved,
                  (long long)b.query_start, (long long)b.query_row);
  }
  return TORSOR_OK;
}

/// ATTEND: each sequence by its own shape, whatever else is in the batch.
torsor_status Call::splitAttend() {
  bool canDecode = scheme.kernel(TORSOR_DECODE);
  int64_t most = canDecode ? scheme.descriptor.decode_queries : 0;
  int64_t few = 0;
  for (const torsor_sequence &s : plan.sequences)
    few += s.query_length <= most;
  plan.decodes.clear(), plan.prefills.clear();
  if (few == 0 || few == plan.sequences.size())
    return TORSOR_OK; // composePlan takes all of them as they are
  int64_t many = plan.sequences.size() - few;
  if (!plan.decodes.reserve(few) || !plan.prefills.reserve(many))
    return failMemory((few + many) * int64_t(sizeof(torsor_sequence)));
  for (const torsor_sequence &s : plan.sequences)
    (s.query_length <= most ? plan.decodes : plan.prefills).push(s);
  return TORSOR_OK;
}

} // namespace torsor
