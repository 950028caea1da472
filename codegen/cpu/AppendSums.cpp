// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums of new keys, which go on from what a cache holds.
#include "codegen/cpu/AppendSums.h"

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/ScanTerms.h"
#include "runtime/torsor_kernel.h"

#include <cstddef>

using namespace mlir;

namespace torsor {

static Num givenSlots(Emitter &e, const Call &call) {
  return call.field(offsetof(torsor_kernel_args, slots), e.pointer);
}

Place placeOfNew(Emitter &e, const Call &call, const Sequence &sequence,
                 Num number) {
  Tensor indices = call.tensor(TORSOR_AT_QUERY_INDICES, e.i64);
  Place place;
  place.sequence = sequence;
  place.brought = true;
  place.row = sequence.queryRow;
  place.token = sequence.queryStart + number;
  place.index =
      tokenIndex(indices, place.row, place.token, sequence.queryIndex + number);
  return place;
}

KeySlot slotOfNew(Emitter &e, const Kernel &kernel, const Call &call,
                  const Sequence &sequence, Num number) {
  Num given = givenSlots(e, call);
  Nums found = e.choose(
      given == e.null(),
      [&]() -> Nums {
        Num first = sequence.keyLength - sequence.queryLength;
        KeySlot slot = locateKey(e, call, sequence, first + number);
        return {slot.row, slot.slot};
      },
      [&]() -> Nums {
        Num slot = e.at(given, e.i64).load(sequence.shift + number);
        Num perRow = cacheStream(call, kernel, 0, e.i8).shape(2);
        Num isStored = slot >= 0;
        return {select(isStored, slot / perRow, 0),
                select(isStored, slot % perRow, -1)};
      });
  return {found[0], found[1]};
}

/// Keys of the run before the tokens that are stored.
static Num keysBefore(Emitter &e, const Call &call, const Sequence &sequence) {
  Num given = givenSlots(e, call);
  Num stored = e.choose(
      given == e.null(), [&]() -> Nums { return {sequence.queryLength}; },
      [&]() -> Nums {
        return e.loop(0, sequence.queryLength, 1, {e.index(0)},
                      [&](Num number, ArrayRef<Num> carried) -> Nums {
                        Num slot =
                            e.at(given, e.i64).load(sequence.shift + number);
                        return {select(slot >= 0, carried[0] + 1, carried[0])};
                      });
      })[0];
  return sequence.keyLength - stored;
}

/// Runs `body` for each new token that is stored, with its slot.
static void forStored(const TableReader &tables, const Place &head,
                      function_ref<void(const Place &, KeySlot)> body) {
  Emitter &e = tables.e;
  const Sequence &sequence = head.sequence;
  e.loop(0, sequence.queryLength, 1, [&](Num number) {
    KeySlot to = slotOfNew(e, tables.kernel, tables.call, sequence, number);
    e.when(to.slot >= 0, [&] {
      Place place = placeOfNew(e, tables.call, sequence, number);
      place.head = head.head;
      place.group = head.group;
      body(place, to);
    });
  });
}

/// What follows from the vector of each key, for one sequence and head.
static void emitEach(const TableReader &tables, ScanOp op, const Place &head) {
  ScanTerms terms(tables, op);
  StoredSums stored(tables.e, tables.kernel, tables.call, op, head);
  forStored(tables, head, [&](const Place &place, KeySlot to) {
    Contents contents = contentsOf(tables.kernel, tables.call, place);
    stored.at(to).store(0, terms.at(place, contents)[0]);
  });
}

/// One sum of one sequence and head.
static void emitSum(const TableReader &tables, ScanOp op, const Place &head) {
  Emitter &e = tables.e;
  const Call &call = tables.call;
  const Sequence &sequence = head.sequence;
  ScanTerms terms(tables, op);
  StoredSums stored(e, tables.kernel, call, op, head);
  Pointer sum = frameSlots(e, e.f64, terms.members);
  Num before = keysBefore(e, call, sequence);
  e.when(
      before > 0,
      [&] {
        KeySlot last = locateKey(e, call, sequence, before - 1);
        copySums(terms.members, stored.next(last), sum);
      },
      [&] {
        for (int64_t m = 0; m < terms.members; ++m)
          sum.store(m, e.constant(e.f64, 0.0));
      });
  forStored(tables, head, [&](const Place &place, KeySlot to) {
    if (op.getExclusive())
      copySums(terms.members, sum, stored.at(to));
    terms.add(place, sum, sum);
    copySums(terms.members, sum, stored.next(to));
  });
}

void emitAppendSums(Emitter &e, const Kernel &kernel, const Call &call,
                    Num begin, Num end) {
  TableReader tables(e, kernel, call);
  forScans(
      e, kernel, call, begin, end, [&](ScanOp op, int64_t, const Place &head) {
        op.getEach() ? emitEach(tables, op, head) : emitSum(tables, op, head);
      });
}

} // namespace torsor
