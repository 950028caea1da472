// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the bounds of a mask come to, in words and in numbers.
#ifndef TORSOR_RUNTIME_JIT_MASKFACTS_H
#define TORSOR_RUNTIME_JIT_MASKFACTS_H

#include "dialect/TorsorDialect.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace torsor {

/// "max(0, i0 - 1023) … min(i1, N - 1)", both ends inclusive, of the queries
/// i0 … i1 of a tile.
std::string describeInterval(IntervalAttr interval);

/// The keys [first, second) of one interval for the queries i0 … i1 of a
/// sequence of `total`.
std::pair<int64_t, int64_t> evaluateInterval(IntervalAttr interval, int64_t i0,
                                             int64_t i1, int64_t total);

/// Tiles of `rows` queries by `keys` keys over a sequence that attends to
/// itself.
struct TileCounts {
  int64_t skipped = 0, partial = 0, full = 0;
};
TileCounts countTiles(llvm::ArrayRef<IntervalAttr> visible,
                      llvm::ArrayRef<IntervalAttr> full, int64_t length,
                      int64_t rows, int64_t keys);

/// Keys that the bounds let the query at index i see, of `total` keys.
double countKeys(llvm::ArrayRef<IntervalAttr> visible, int64_t i,
                 int64_t total);

/// Pairs of query and key that the bounds let through, of a sequence that
/// attends to itself: exact where the bounds are, else too many.
double countPairs(llvm::ArrayRef<IntervalAttr> visible, int64_t length);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_MASKFACTS_H
