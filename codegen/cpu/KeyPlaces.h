// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a stretch of keys lies, for code that takes a vector of keys at a time.
#ifndef TORSOR_CODEGEN_CPU_KEYPLACES_H
#define TORSOR_CODEGEN_CPU_KEYPLACES_H

#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/TableReader.h"

namespace torsor {

/// The keys first … first + count - 1 of a run, at most `most`. Those behind
/// the last are taken to be the last, up to whole vectors.
class KeyPlaces {
public:
  KeyPlaces(Emitter &e, const Call &call, const Sequence &sequence, Num first,
            Num count, int64_t most, int64_t lanes);

  /// The keys `number` … of the stretch, one vector of them: `place` with rows,
  /// tokens, numbers and indices. `indices`: those of all keys.
  Place at(Place place, const Tensor &indices, Num number) const;

private:
  Emitter &e;
  int64_t lanes;
  Num first, count;
  Pointer rows, slots;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_KEYPLACES_H
