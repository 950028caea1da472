// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums over the keys of a sequence, made before a kernel.
#include "codegen/cpu/Scan.h"

#include "codegen/cpu/KeyPlaces.h"
#include "codegen/cpu/Phases.h"
#include "codegen/cpu/ScanLayout.h"
#include "codegen/cpu/ScanTerms.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

Num scanBytes(Emitter &e, const Kernel &kernel, const Call &call,
              const Sequence &sequence) {
  Num words =
      scanOffset(e, kernel, call, sequence, int64_t(kernel.scans.size()));
  return alignUp(words * 8, 64);
}

/// Heads that are summed one by one.
static Num headsOf(Emitter &e, const Kernel &kernel, const Call &call) {
  if (llvm::any_of(kernel.scans, [](ScanOp op) { return op.getByHead(); }))
    return call.heads;
  if (llvm::any_of(kernel.scans, [](ScanOp op) { return op.getByGroup(); }))
    return call.groups;
  return e.index(1);
}

Num scanItems(Emitter &e, const Kernel &kernel, const Call &call) {
  return call.count * headsOf(e, kernel, call);
}

void forScans(Emitter &e, const Kernel &kernel, const Call &call, Num begin,
              Num end,
              function_ref<void(ScanOp, int64_t, const Place &)> body) {
  walkItems(
      e, call, begin, end,
      [&](const Sequence &) { return headsOf(e, kernel, call); },
      [&](const Sequence &) { return e.index(0); },
      [&](const Sequence &sequence, Num head, Num) {
        for (auto [n, scan] : llvm::enumerate(kernel.scans)) {
          ScanOp op = scan;
          Num perGroup = call.heads / call.groups;
          Place place;
          place.sequence = sequence;
          place.head = op.getByGroup() ? head * perGroup : head;
          place.group = op.getByGroup() ? head : head / perGroup;
          Num heads = ScanLayout(e, op, call, sequence).heads;
          e.when(head < heads, [&] { body(op, int64_t(n), place); });
        }
      });
}

bool areAllEach(const Kernel &kernel) {
  return llvm::all_of(kernel.scans, [](ScanOp op) { return op.getEach(); });
}

Contents contentsOf(const Kernel &kernel, const Call &call,
                    const Place &place) {
  InterfaceOp interface = kernel.scheme->interface;
  Tensor keys = call.tensor(TORSOR_AT_K, interface.getK());
  Pointer row =
      keys.data + (place.row * keys.stride(0) + place.group * keys.stride(1) +
                   place.token * keys.stride(2));
  return {row, int64_t(interface.getHead())};
}

StoredSums::StoredSums(Emitter &e, const Kernel &kernel, const Call &call,
                       ScanOp op, const Place &head)
    : times(sumStream(e, kernel, call, op, false)),
      sums(sumStream(e, kernel, call, op, op.getExclusive())) {
  if (op.getByHead())
    this->head = head.head;
  else if (op.getByGroup())
    this->head = head.group;
}

Pointer StoredSums::place(const Tensor &tensor, KeySlot key) const {
  Num slotStride = tensor.stride(head ? 2 : 1);
  Pointer data =
      tensor.data + (key.row * tensor.stride(0) + key.slot * slotStride);
  return head ? data + head * tensor.stride(1) : data;
}

namespace {

/// One sum of one sequence and head.
class Scan {
public:
  Scan(Emitter &e, const TableReader &tables, ScanOp op, int64_t number,
       Place place)
      : e(e), tables(tables), op(op), place(place),
        layout(e, op, tables.call, place.sequence), terms(tables, op),
        keys(tables.call.tensor(TORSOR_AT_KEY_INDICES, e.i64)),
        queries(tables.call.tensor(TORSOR_AT_QUERY_INDICES, e.i64)) {
    all = tables.scans(place.sequence) +
          scanOffset(e, tables.kernel, tables.call, place.sequence, number);
    sums = all;
    if (op.getByHead() || op.getByGroup())
      sums = all + (op.getByHead() ? place.head : place.group) * layout.perHead;
  }

  void emit() {
    if (op.getEach())
      return e.when(areSumsStored(e, op, tables.call) ^ 1, [&] { emitEach(); });
    auto sum = [&] {
      e.when(rises(), [&] { emitInOrder(); }, [&] { emitInAnyOrder(); });
    };
    if (!op.getStream())
      return sum();
    e.when(areSumsStored(e, op, tables.call), [&] { emitStored(); }, sum);
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
  Num queryIndex(Num number) const {
    const Sequence &sequence = place.sequence;
    return tokenIndex(queries, sequence.queryRow, sequence.queryStart + number,
                      sequence.queryIndex + number);
  }
  /// The largest index that counts for a token of this index.
  Num reach(Num index) const { return layout.exclusive ? index - 1 : index; }

  /// Runs `body` for each query with the place of its sum, and gives that sum
  /// to the other heads of the group that share it.
  void forQueries(function_ref<void(Num number, Pointer to)> body) const {
    Pointer first = all + layout.query;
    if (op.getByHead() || op.getByGroup())
      first = first + place.head * layout.perQueryHead;
    e.loop(0, place.sequence.queryLength, 1, [&](Num number) {
      Pointer to = first + number * members();
      body(number, to);
      if (!op.getByGroup())
        return;
      e.loop(1, tables.call.heads / tables.call.groups, 1, [&](Num other) {
        copySums(members(), to, to + other * layout.perQueryHead);
      });
    });
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

  /// Runs `body` for whole vectors of keys; gives how many keys.
  Num forVectors(
      function_ref<Nums(Num number, const Place &at, ArrayRef<Num> carried)>
          body,
      ArrayRef<Num> start = {}) {
    int64_t lanes = tables.kernel.target->lanes;
    constexpr int64_t stretch = 256;
    Num whole = alignDown(place.sequence.keyLength, lanes);
    e.loop(0, whole, stretch, start,
           [&](Num first, ArrayRef<Num> outer) -> Nums {
             Num count = min(whole - first, stretch);
             KeyPlaces places(e, tables.call, place.sequence, first, count,
                              stretch, lanes);
             return e.loop(0, count, lanes, outer,
                           [&](Num n, ArrayRef<Num> carried) -> Nums {
                             return body(first + n, places.at(place, keys, n),
                                         carried);
                           });
           });
    return whole;
  }

  /// The sum of one member over whole vectors of keys; gives how many keys.
  Num emitVectors() {
    int64_t lanes = tables.kernel.target->lanes;
    Num zero = e.constant(e.vec(lanes, e.f64), 0.0);
    auto add = [&](Num number, const Place &at, ArrayRef<Num> carried) -> Nums {
      Num term = terms.at(at)[0];
      for (int64_t step = 1; step < lanes; step *= 2) {
        SmallVector<int32_t> before;
        for (int64_t lane = 0; lane < lanes; ++lane)
          before.push_back(int32_t(lanes + lane - step));
        term = term + e.shuffle(zero, term, before);
      }
      term = term + e.splat(carried[0], lanes);
      sums.store(number + 1, term);
      return {e.lane(term, lanes - 1)};
    };
    return forVectors(add, {e.constant(e.f64, 0.0)});
  }

  void emitInOrder() {
    Num count = place.sequence.keyLength;
    for (int64_t m = 0; m < members(); ++m)
      sums.store(m, e.constant(e.f64, 0.0));
    Num done = members() == 1 ? emitVectors() : e.index(0);
    e.loop(done, count, 1, [&](Num number) {
      Pointer before = sums + number * members();
      terms.add(placeOf(number), before, before + members());
    });
    forQueries([&](Num number, Pointer to) {
      Num last = reach(queryIndex(number));
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
      copySums(members(), sums + counted * members(), to);
    });
  }

  /// The products of the keys `number` … , one vector of them, with a row of a
  /// table.
  Num dotsOf(RowDotOp dot, Num row, Num number) {
    int64_t lanes = tables.kernel.target->lanes;
    Pointer products = frameSlots(e, e.f32, lanes);
    const Table &table = *tables.kernel.find(dot.getTable());
    e.loop(0, e.index(lanes), 1, [&](Num n) {
      Place key = placeOf(number + n);
      Contents contents = contentsOf(tables.kernel, tables.call, key);
      products.store(
          n, emitRowDot(tables, key, table, row, dot.getCount(), contents));
    });
    return products.load(0, lanes);
  }

  /// What follows from the vector of each key alone.
  void emitEach() {
    int64_t lanes = tables.kernel.target->lanes;
    auto put = [&](Num number, const Place &at, ArrayRef<Num>) -> Nums {
      auto special = [&](Operation &op, ArrayRef<Num> operands) -> Num {
        auto dot = dyn_cast<RowDotOp>(op);
        return dot ? dotsOf(dot, operands[1], number) : Num();
      };
      Num term = terms.at(at, {}, special)[0];
      sums.store(number + 1, term.isVector() ? term : e.splat(term, lanes));
      return {};
    };
    Num whole = forVectors(put);
    e.loop(whole, place.sequence.keyLength, 1, [&](Num number) {
      Place key = placeOf(number);
      Contents contents = contentsOf(tables.kernel, tables.call, key);
      sums.store(number + 1, terms.at(key, contents)[0]);
    });
  }

  /// Sums each token's keys one by one.
  void emitInAnyOrder() {
    Pointer own = sums + layout.term;
    e.loop(0, place.sequence.keyLength, 1, [&](Num number) {
      for (auto [m, term] : llvm::enumerate(terms.at(placeOf(number))))
        own.store(number * members() + int64_t(m), term);
    });
    auto sumUpTo = [&](Num last, Pointer to) {
      for (int64_t m = 0; m < members(); ++m)
        to.store(m, e.constant(e.f64, 0.0));
      e.loop(0, place.sequence.keyLength, 1, [&](Num key) {
        Num index = indexOf(key);
        e.when((index >= 0) & (index <= last), [&] {
          for (int64_t m = 0; m < members(); ++m)
            to.store(m, to.load(m) + own.load(key * members() + m));
        });
      });
    };
    e.loop(0, place.sequence.keyLength, 1, [&](Num number) {
      Num at = layout.exclusive ? number : number + 1;
      sumUpTo(reach(indexOf(number)), sums + at * members());
    });
    forQueries([&](Num number, Pointer to) {
      sumUpTo(reach(queryIndex(number)), to);
    });
  }

  /// The key with the greatest index up to this one, and that index; -1: none.
  std::pair<Num, Num> lastUpTo(Num index, Num query) const {
    const Sequence &sequence = place.sequence;
    Num count = sequence.keyLength;
    auto counting = [&]() -> Nums {
      Num number = max(min(index - sequence.keyIndex, count - 1), -1);
      return {number, number + sequence.keyIndex};
    };
    auto search = [&]() -> Nums {
      return e.loop(0, count, 1, {e.index(-1), e.index(-1)},
                    [&](Num number, ArrayRef<Num> carried) -> Nums {
                      Num at = indexOf(number);
                      Num later = (at > carried[1]) & (at <= index);
                      return {select(later, number, carried[0]),
                              select(later, at, carried[1])};
                    });
    };
    // Where the queries are the last of the keys, as they mostly are.
    auto given = [&]() -> Nums {
      Num number = max(count - sequence.queryLength + query, 0);
      Num isOwn = e.choose(
          number < count, [&]() -> Nums { return {indexOf(number) == index}; },
          [&]() -> Nums { return {e.constant(e.i1, int64_t(0))}; })[0];
      return e.choose(isOwn, [&]() -> Nums { return {number, index}; }, search);
    };
    Nums found = e.choose(keys.isAbsent(), counting, given);
    return {found[0], found[1]};
  }

  /// The times of the queries: what the cache holds at their own tokens, or
  /// behind the last before them.
  void emitStored() {
    StoredSums stored(e, tables.kernel, tables.call, op, place);
    forQueries([&](Num number, Pointer to) {
      Num index = queryIndex(number);
      auto [key, at] = lastUpTo(index, number);
      e.when(
          key >= 0,
          [&, key = key, at = at] {
            KeySlot slot = locateKey(e, tables.call, place.sequence, key);
            e.when(
                at == index, [&] { copySums(members(), stored.at(slot), to); },
                [&] { copySums(members(), stored.next(slot), to); });
          },
          [&] {
            for (int64_t m = 0; m < members(); ++m)
              to.store(m, e.constant(e.f64, 0.0));
          });
    });
  }

  Emitter &e;
  const TableReader &tables;
  mutable ScanOp op;
  Place place;
  ScanLayout layout;
  ScanTerms terms;
  Pointer all, sums; // of the sequence, and of the head
  Tensor keys, queries;
};

} // namespace

void emitScans(Emitter &e, const Kernel &kernel, const Call &call, Num begin,
               Num end) {
  TableReader tables(e, kernel, call);
  forScans(e, kernel, call, begin, end,
           [&](ScanOp op, int64_t number, const Place &head) {
             Scan(e, tables, op, number, head).emit();
           });
}

} // namespace torsor
