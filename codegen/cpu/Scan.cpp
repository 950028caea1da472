// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums over the keys of a sequence, made before a kernel.
#include "codegen/cpu/Scan.h"

#include "codegen/cpu/KeyPlaces.h"
#include "codegen/cpu/PackedValues.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/ScanLayout.h"
#include "codegen/cpu/Slots.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

ScanLayout::ScanLayout(Emitter &e, ScanOp op, const Call &call,
                       const Sequence &sequence)
    : members(yieldedTypes(op.getTerm()).size()), exclusive(op.getExclusive()),
      heads(op.getByHead() ? call.heads : e.index(1)) {
  query = (sequence.keyLength + 1) * members;
  term = query + sequence.queryLength * members;
  perHead = term + sequence.keyLength * members;
}

Num scanOffset(Emitter &e, const Kernel &kernel, const Call &call,
               const Sequence &sequence, int64_t number) {
  Num offset = e.index(0);
  for (ScanOp op : ArrayRef<ScanOp>(kernel.scans).take_front(number))
    offset = offset + ScanLayout(e, op, call, sequence).words();
  return offset;
}

Num scanBytes(Emitter &e, const Kernel &kernel, const Call &call,
              const Sequence &sequence) {
  Num words =
      scanOffset(e, kernel, call, sequence, int64_t(kernel.scans.size()));
  return alignUp(words * 8, 64);
}

/// Heads that are summed one by one.
static Num headsOf(Emitter &e, const Kernel &kernel, const Call &call) {
  bool byHead =
      llvm::any_of(kernel.scans, [](ScanOp op) { return op.getByHead(); });
  return byHead ? call.heads : e.index(1);
}

Num scanItems(Emitter &e, const Kernel &kernel, const Call &call) {
  return call.count * headsOf(e, kernel, call);
}

namespace {

/// One sum of one sequence and head.
class Scan {
public:
  Scan(Emitter &e, const TableReader &tables, ScanOp op, Place place,
       const ScanLayout &layout, Pointer sums)
      : e(e), tables(tables), op(op), place(place), layout(layout), sums(sums),
        keys(tables.call.tensor(TORSOR_AT_KEY_INDICES, e.i64)),
        queries(tables.call.tensor(TORSOR_AT_QUERY_INDICES, e.i64)) {}

  void emit() {
    e.when(rises(), [&] { emitInOrder(); }, [&] { emitInAnyOrder(); });
  }

private:
  int64_t members() const { return layout.members; }
  Place placeOf(Num number) const {
    Place at = place;
    KeySlot slot = locateKey(e, tables.call, place.sequence, number);
    at.row = slot.row;
    at.token = slot.slot;
    at.number = number;
    at.index = keyIndex(number, slot);
    return at;
  }
  Num keyIndex(Num number, const KeySlot &slot) const {
    return tokenIndex(keys, slot.row, slot.slot,
                      place.sequence.keyIndex + number);
  }
  Num indexOf(Num number) const {
    return keyIndex(number, locateKey(e, tables.call, place.sequence, number));
  }
  /// The largest index that counts for a token of this index.
  Num reach(Num index) const { return layout.exclusive ? index - 1 : index; }
  Num queryReach(Num number) const {
    const Sequence &sequence = place.sequence;
    return reach(tokenIndex(queries, sequence.queryRow,
                            sequence.queryStart + number,
                            sequence.queryIndex + number));
  }
  Nums terms(Num number) const {
    Place at = placeOf(number);
    Nums found = emitSlots(op.getTerm(), tables, at, true, false);
    for (Num &term : found)
      term = select(at.index >= 0, term, 0.0);
    return found;
  }

  /// Do the keys that exist stand in the order of their indices?
  Num rises() const {
    return e.choose(
        keys.isAbsent(),
        [&]() -> Nums { return {e.constant(e.i1, int64_t(1))}; },
        [&]() -> Nums {
          Nums found = e.loop(
              0, place.sequence.keyLength, 1,
              {e.constant(e.i1, int64_t(1)), e.index(-1)},
              [&](Num number, ArrayRef<Num> carried) -> Nums {
                Num index = indexOf(number);
                return {carried[0] & ((index < 0) | (index > carried[1])),
                        max(carried[1], index)};
              });
          return {found[0]};
        })[0];
  }

  /// The terms of members that share a vector.
  SmallVector<Value> packOf(int64_t first) {
    auto terms = op.getTerm().front().getTerminator()->getOperands();
    return SmallVector<Value>(terms.slice(first, tables.kernel.target->lanes));
  }
  /// Whether members are summed by vectors.
  bool isPacked() {
    int64_t lanes = tables.kernel.target->lanes;
    if (members() % lanes)
      return false;
    for (int64_t m = 0; m < members(); m += lanes)
      if (!canPack(packOf(m)))
        return false;
    return true;
  }
  void emitPackedTerms(Num number, Pointer before) {
    int64_t lanes = tables.kernel.target->lanes;
    Place at = placeOf(number);
    Nums arguments =
        slotArguments(op.getTerm(), tables, at, /*isKey=*/true, false);
    for (int64_t m = 0; m < members(); m += lanes) {
      Num term = emitPacked(packOf(m), arguments, tables, at);
      if (!term.isVector())
        term = e.splat(term, lanes);
      term = select(e.splat(at.index >= 0, lanes), term, 0.0);
      before.store(m + members(), before.load(m, lanes) + term);
    }
  }

  /// The sum of one member over whole vectors of keys; gives how many keys.
  Num emitVectors() {
    int64_t lanes = tables.kernel.target->lanes;
    constexpr int64_t stretch = 256;
    Num whole = alignDown(place.sequence.keyLength, lanes);
    Num zero = e.constant(e.vec(lanes, e.f64), 0.0);
    e.loop(0, whole, stretch, {e.constant(e.f64, 0.0)},
           [&](Num first, ArrayRef<Num> outer) -> Nums {
             Num count = min(whole - first, stretch);
             KeyPlaces places(e, tables.call, place.sequence, first, count,
                              stretch, lanes);
             return e.loop(0, count, lanes, outer,
                           [&](Num n, ArrayRef<Num> carried) -> Nums {
                             Place at = places.at(place, keys, n);
                             Num term = emitSlots(op.getTerm(), tables, at,
                                                  true, false)[0];
                             if (!term.isVector())
                               term = e.splat(term, lanes);
                             term = select(at.index >= 0, term, 0.0);
                             for (int64_t step = 1; step < lanes; step *= 2) {
                               SmallVector<int32_t> before;
                               for (int64_t lane = 0; lane < lanes; ++lane)
                                 before.push_back(int32_t(lanes + lane - step));
                               term = term + e.shuffle(zero, term, before);
                             }
                             term = term + e.splat(carried[0], lanes);
                             sums.store(first + n + 1, term);
                             return {e.lane(term, lanes - 1)};
                           });
           });
    return whole;
  }

  void emitInOrder() {
    Num count = place.sequence.keyLength;
    for (int64_t m = 0; m < members(); ++m)
      sums.store(m, e.constant(e.f64, 0.0));
    Num done = members() == 1 ? emitVectors() : e.index(0);
    e.loop(done, count, 1, [&](Num number) {
      Pointer before = sums + number * members();
      if (isPacked())
        return emitPackedTerms(number, before);
      for (auto [m, term] : llvm::enumerate(terms(number)))
        before.store(int64_t(m) + members(), before.load(int64_t(m)) + term);
    });
    e.loop(0, place.sequence.queryLength, 1, [&](Num number) {
      Num last = queryReach(number);
      // How many keys count: all that stand up to the last of them.
      Num counted = e.choose(
          keys.isAbsent(),
          [&]() -> Nums {
            return {min(max(last - place.sequence.keyIndex + 1, 0), count)};
          },
          [&]() -> Nums {
            return e.loop(0, count, 1, {e.index(0)},
                          [&](Num key, ArrayRef<Num> carried) -> Nums {
                            Num index = indexOf(key);
                            Num counts = (index >= 0) & (index <= last);
                            return {select(counts, key + 1, carried[0])};
                          });
          })[0];
      copy(sums + counted * members(),
           sums + (layout.query + number * members()));
    });
  }

  /// Sums each token's keys one by one.
  void emitInAnyOrder() {
    Pointer all = sums + layout.term;
    e.loop(0, place.sequence.keyLength, 1, [&](Num number) {
      for (auto [m, term] : llvm::enumerate(terms(number)))
        all.store(number * members() + int64_t(m), term);
    });
    auto sumUpTo = [&](Num last, Pointer to) {
      for (int64_t m = 0; m < members(); ++m)
        to.store(m, e.constant(e.f64, 0.0));
      e.loop(0, place.sequence.keyLength, 1, [&](Num key) {
        Num index = indexOf(key);
        e.when((index >= 0) & (index <= last), [&] {
          for (int64_t m = 0; m < members(); ++m)
            to.store(m, to.load(m) + all.load(key * members() + m));
        });
      });
    };
    e.loop(0, place.sequence.keyLength, 1, [&](Num number) {
      Num at = layout.exclusive ? number : number + 1;
      sumUpTo(reach(indexOf(number)), sums + at * members());
    });
    e.loop(0, place.sequence.queryLength, 1, [&](Num number) {
      sumUpTo(queryReach(number), sums + (layout.query + number * members()));
    });
  }

  void copy(Pointer from, Pointer to) {
    for (int64_t m = 0; m < members(); ++m)
      to.store(m, from.load(m));
  }

  Emitter &e;
  const TableReader &tables;
  mutable ScanOp op;
  Place place;
  const ScanLayout &layout;
  Pointer sums;
  Tensor keys, queries;
};

} // namespace

void emitScans(Emitter &e, const Kernel &kernel, const Call &call, Num begin,
               Num end) {
  TableReader tables(e, kernel, call);
  walkItems(
      e, call, begin, end,
      [&](const Sequence &) { return headsOf(e, kernel, call); },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num head, Num) {
        Place place;
        place.sequence = sequence;
        place.head = head;
        place.group = head / (call.heads / call.groups);
        for (auto [n, scan] : llvm::enumerate(kernel.scans)) {
          ScanOp op = scan;
          ScanLayout layout(e, op, call, sequence);
          Pointer sums = tables.scans(sequence) +
                         (scanOffset(e, kernel, call, sequence, n) +
                          head * layout.perHead);
          e.when(head < layout.heads,
                 [&] { Scan(e, tables, op, place, layout, sums).emit(); });
        }
      });
}

} // namespace torsor
