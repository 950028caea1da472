// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of where a sequence's keys lie: rows, pages, rings.

#include "runtime/Call.h"

namespace torsor {

void Call::readStorage() {
  storage = Storage();
  storage.rows = keyRows, storage.slots = keyTokens;
  if (!cached())
    return;
  storage.layout = call.cache->layout;
  storage.pinned = call.cache->pinned;
  storage.pages = batch.pages, storage.pageCount = batch.page_count;
}

/// Whether the run lies in the storage. Runs to the end in the good case.
bool Call::liesInStorage(const torsor_sequence &s) const {
  // An empty run lies nowhere: its row may be that of an empty tensor.
  if (!s.key_length && !s.key_start && !s.key_row)
    return true;
  constexpr int64_t limit = INT64_C(1) << 31;
  if (s.key_row < 0 || s.key_start < 0 || s.key_start > limit)
    return false;
  if (storage.isPaged()) {
    if (!s.key_length)
      return s.key_row <= storage.pageCount;
    if (!storage.slots)
      return false;
    int64_t first = s.key_start / storage.slots;
    int64_t last = (s.key_start + s.key_length - 1) / storage.slots;
    if (s.key_row >= storage.pageCount || last >= storage.pageCount - s.key_row)
      return false;
    // A negative page is a large unsigned one.
    uint32_t largest = 0;
    for (int64_t n = s.key_row + first; n <= s.key_row + last; ++n) {
      uint32_t page = uint32_t(storage.pages[n]);
      largest = page > largest ? page : largest;
    }
    return int64_t(largest) < storage.rows;
  }
  if (s.key_row >= storage.rows)
    return false;
  if (storage.isRing())
    return true;
  return s.key_length <= storage.slots &&
         s.key_start <= storage.slots - s.key_length;
}

torsor_status Call::failStorage(int64_t number,
                                const torsor_sequence &s) const {
  auto text = [&](const char *what, int64_t is, const char *rule,
                  int64_t bound) {
    return fail(TORSOR_RANGE, "%s: sequence %lld: %s is %lld, but %s %lld",
                name, (long long)number, what, (long long)is, rule,
                (long long)bound);
  };
  constexpr int64_t limit = INT64_C(1) << 31;
  if (s.key_start < 0 || s.key_start > limit)
    return text("key_start", s.key_start, "it must be 0 to", limit);
  if (!storage.isPaged() && (s.key_row < 0 || s.key_row >= storage.rows))
    return text("key_row", s.key_row,
                cached() ? "the rows of the cache are"
                         : "the rows of the keys are",
                storage.rows);
  if (!storage.isPaged())
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: its %lld keys begin at %lld of row %lld, "
                "but a row has %lld %s",
                name, (long long)number, (long long)s.key_length,
                (long long)s.key_start, (long long)s.key_row,
                (long long)storage.slots, cached() ? "slots" : "keys");
  if (s.key_row < 0 || s.key_row > storage.pageCount)
    return text("key_row", s.key_row,
                "its pages begin there in the page tables, which are",
                storage.pageCount);
  if (!storage.slots)
    return text("key_length", s.key_length,
                "the pages of the cache have slots:", 0);
  int64_t last = (s.key_start + s.key_length - 1) / storage.slots;
  if (last >= storage.pageCount - s.key_row)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: its %lld slots need %lld pages from entry "
                "%lld of the page tables on, but page_count is %lld",
                name, (long long)number,
                (long long)(s.key_start + s.key_length), (long long)(last + 1),
                (long long)s.key_row, (long long)storage.pageCount);
  int64_t page = s.key_start / storage.slots;
  while (page < last &&
         uint32_t(storage.pages[s.key_row + page]) < uint64_t(storage.rows))
    ++page;
  return fail(TORSOR_RANGE,
              "%s: sequence %lld: page %lld of its table is %d, but the cache "
              "has %lld pages",
              name, (long long)number, (long long)page,
              int(storage.pages[s.key_row + page]), (long long)storage.rows);
}

/// A ring holds the pinned slots and the last `turning`; whatever else the run
/// names is lost, and no query may still see it.
torsor_status Call::checkRing(int64_t number, const torsor_sequence &s) const {
  int64_t end = s.key_start + s.key_length;
  int64_t first = std::max(storage.pinned, s.key_start);
  int64_t behind = end - storage.turning();
  int64_t turned = end - std::max(end - s.query_length, storage.pinned);
  if (appends() && !batch.slots && turned > storage.turning())
    return fail(TORSOR_RANGE,
                "%s: sequence %lld appends %lld keys behind the %lld pinned "
                "slots of the ring, which has room for %lld: they would take "
                "each other's place; append them in pieces",
                name, (long long)number, (long long)turned,
                (long long)storage.pinned, (long long)storage.turning());
  if (!attends() || !s.query_length || behind <= first)
    return TORSOR_OK;
  const char *why = nullptr;
  if (present(batch.key_indices) || keysIndexed)
    why = "their indices are explicit, so that a slot would count twice";
  else if (present(batch.query_indices))
    why = "the indices of the queries are explicit";
  else if (scheme.descriptor.window < 0)
    why = "the scheme sees keys at any distance";
  int64_t lowest = s.key_index + (first - s.key_start);
  int64_t highest = s.key_index + (behind - 1 - s.key_start);
  if (why)
    return fail(TORSOR_RANGE,
                "%s: sequence %lld: the ring has lost the keys of slots %lld "
                "to %lld, and %s; let the run be the keys it still holds",
                name, (long long)number, (long long)first,
                (long long)(behind - 1), why);
  if (highest < s.query_index - scheme.descriptor.window &&
      lowest >= scheme.descriptor.first)
    return TORSOR_OK;
  return fail(
      TORSOR_RANGE,
      "%s: sequence %lld: the ring has lost the keys of indices %lld "
      "to %lld, but query %lld sees those from %lld on%s; the ring "
      "needs more slots, or the call fewer queries",
      name, (long long)number, (long long)lowest, (long long)highest,
      (long long)s.query_index,
      (long long)std::max<int64_t>(0, s.query_index - scheme.descriptor.window),
      lowest < scheme.descriptor.first ? " and the first ones" : "");
}

} // namespace torsor
