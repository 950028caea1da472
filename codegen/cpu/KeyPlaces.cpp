// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a stretch of keys lies, for code that takes a vector of keys at a time.
#include "codegen/cpu/KeyPlaces.h"

#include "codegen/cpu/Contents.h"

using namespace mlir;

namespace torsor {

KeyPlaces::KeyPlaces(Emitter &e, const Call &call, const Sequence &sequence,
                     Num first, Num count, int64_t most, int64_t lanes)
    : e(e), lanes(lanes), first(first), count(count),
      rows(frameSlots(e, e.i64, most + lanes)),
      slots(frameSlots(e, e.i64, most + lanes)) {
  Num up = e.iota(e.i64, lanes);
  forKeyRuns(e, call, sequence, first, first + count,
             [&](Num number, const KeyRun &run) {
               Num to = number - first;
               e.loop(0, run.count, lanes, [&](Num n) {
                 rows.store(to + n, e.splat(run.first.row, lanes));
                 slots.store(to + n, e.splat(run.first.slot + n, lanes) + up);
               });
             });
  e.loop(count, alignUp(count, lanes), 1, [&](Num n) {
    rows.store(n, rows.load(count - 1));
    slots.store(n, slots.load(count - 1));
  });
}

Place KeyPlaces::at(Place place, const Tensor &indices, Num number) const {
  place.keyRows = rows.load(number, lanes);
  place.keyTokens = slots.load(number, lanes);
  place.number = min(e.splat(first + number, lanes) + e.iota(e.i64, lanes),
                     e.splat(first + count - 1, lanes));
  auto given = [&]() -> Nums {
    Num found = e.undef(e.vec(lanes, e.i64));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Num row = e.lane(place.keyRows, lane),
          slot = e.lane(place.keyTokens, lane);
      found = e.insert(
          found,
          indices.data.load(row * indices.stride(0) + slot * indices.stride(1)),
          lane);
    }
    return {found};
  };
  place.index = e.choose(
      indices.isAbsent(),
      [&]() -> Nums {
        return {place.number + e.splat(place.sequence.keyIndex, lanes)};
      },
      given)[0];
  return place;
}

} // namespace torsor
