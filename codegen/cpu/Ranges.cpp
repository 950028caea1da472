// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranges of keys that a tile of queries sees, as code.
#include "codegen/cpu/Ranges.h"

#include "codegen/cpu/Regions.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

Indices Indices::read(Emitter &e, const Call &call, const TableReader &tables,
                      bool byPosition) {
  Indices indices = {call.tensor(TORSOR_AT_QUERY_INDICES, e.i64),
                     call.tensor(TORSOR_AT_KEY_INDICES, e.i64), Num(),
                     e.constant(e.i1, int64_t(1))};
  if (byPosition)
    indices.mapsTell = tables.positionsAreIndices();
  indices.mapsHold = indices.keys.isAbsent() & indices.mapsTell;
  return indices;
}

static Num extreme(Emitter &e, AffineMap map, ArrayRef<Num> dims,
                   ArrayRef<Num> symbols, Num (*better)(Num, Operand)) {
  Num result;
  for (AffineExpr expression : map.getResults()) {
    Num value = emitAffine(e, expression, dims, symbols);
    result = result ? better(result, value) : value;
  }
  return result;
}

SmallVector<Range> emitIndexRanges(Emitter &e, ArrayAttr intervals,
                                   const Sequence &sequence, Num first,
                                   Num last) {
  SmallVector<Range> ranges;
  for (auto interval : intervals.getAsRange<IntervalAttr>()) {
    Num lower = extreme(e, interval.getLower(), {first, last}, {sequence.total},
                        torsor::max);
    Num upper = extreme(e, interval.getUpper(), {first, last}, {sequence.total},
                        torsor::min);
    // A key with an index below 0 is padding.
    ranges.push_back({max(lower, 0), upper});
  }
  return ranges;
}

SmallVector<Range> emitRanges(Emitter &e, ArrayAttr intervals,
                              const Sequence &sequence, Num mapsHold,
                              bool otherwise, Num first, Num last) {
  SmallVector<Range> ranges;
  Num none = e.index(0);
  auto number = [&](Num index) {
    return min(max(index - sequence.keyIndex, 0), sequence.keyLength);
  };
  for (Range range : emitIndexRanges(e, intervals, sequence, first, last)) {
    Num all = otherwise && ranges.empty() ? sequence.keyLength : none;
    ranges.push_back({select(mapsHold, number(range.begin), none),
                      select(mapsHold, number(range.end), all)});
  }
  return ranges;
}

Range hullOf(Emitter &e, ArrayRef<Range> ranges) {
  Num far = e.index(int64_t(1) << 62);
  Num begin = far, end = e.index(0);
  for (const Range &range : ranges) {
    begin = min(begin, select(range.isEmpty(), far, range.begin));
    end = max(end, select(range.isEmpty(), e.index(0), range.end));
  }
  return {min(begin, end), end};
}

Range emitSequenceHull(Emitter &e, ArrayAttr visible, const Sequence &sequence,
                       const Indices &indices) {
  Num known = indices.mapsHold & indices.queries.isAbsent();
  Num first = sequence.queryIndex;
  return hullOf(e, emitRanges(e, visible, sequence, known, true, first,
                              first + sequence.queryLength - 1));
}

} // namespace torsor
