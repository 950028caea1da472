// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the keys of a sequence lie: in a row, in pages, or in a ring.
#ifndef TORSOR_RUNTIME_STORAGE_H
#define TORSOR_RUNTIME_STORAGE_H

#include "runtime/Base.h"

namespace torsor {

/// How key runs lie in tensors [rows, slots, …], as kernels see it
/// (torsor_kernel_args).
struct Storage {
  int32_t layout = TORSOR_CONTIGUOUS;
  int64_t rows = 0, slots = 0, pinned = 0;
  const int32_t *pages = nullptr;
  int64_t pageCount = 0;

  bool isPaged() const { return layout == TORSOR_PAGED; }
  bool isRing() const { return layout == TORSOR_RING; }
  /// Slots of a ring that keys use again.
  int64_t turning() const { return slots - pinned; }
};

/// Keys number … number + length - 1 of a run, one behind the other.
struct KeySpan {
  int64_t number, row, slot, length;
};

/// The tokens of a sequence, which always lie one behind the other.
inline KeySpan queriesOf(const torsor_sequence &s) {
  return {0, s.query_row, s.query_start, s.query_length};
}

/// The longest span of the sequence's keys from `number` on, that is below
/// key_length. The sequence was checked.
inline KeySpan spanAt(const Storage &storage, const torsor_sequence &s,
                      int64_t number) {
  int64_t at = s.key_start + number, left = s.key_length - number;
  auto span = [&](int64_t row, int64_t slot, int64_t behind) -> KeySpan {
    return {number, row, slot, left < behind - slot ? left : behind - slot};
  };
  if (storage.isPaged())
    return span(storage.pages[s.key_row + at / storage.slots],
                at % storage.slots, storage.slots);
  if (!storage.isRing())
    return {number, s.key_row, at, left};
  if (at < storage.pinned)
    return span(s.key_row, at, storage.pinned);
  return span(s.key_row,
              storage.pinned + (at - storage.pinned) % storage.turning(),
              storage.slots);
}

/// Runs `body` over the spans of the keys that the storage still holds, until
/// it gives something else than TORSOR_OK, which is the result. A ring has lost
/// those between its pinned slots and the last that turn.
template <class Body>
torsor_status forKeySpans(const Storage &storage, const torsor_sequence &s,
                          Body body) {
  int64_t lost = s.key_length, held = s.key_length;
  if (storage.isRing()) {
    lost = storage.pinned > s.key_start ? storage.pinned - s.key_start : 0;
    held = s.key_length - storage.turning();
  }
  for (int64_t number = 0; number < s.key_length;) {
    if (number >= lost && number < held)
      number = held;
    KeySpan span = spanAt(storage, s, number);
    if (torsor_status status = body(span))
      return status;
    number += span.length;
  }
  return TORSOR_OK;
}

} // namespace torsor

#endif // TORSOR_RUNTIME_STORAGE_H
