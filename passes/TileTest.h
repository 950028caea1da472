// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derives the test that tells empty, partial and full tiles apart.
#ifndef TORSOR_PASSES_TILETEST_H
#define TORSOR_PASSES_TILETEST_H

#include "dialect/TorsorDialect.h"

namespace torsor {

/// Fills the region `tile` of `op` from its region `mask`: the mask in interval
/// arithmetic over the box of indices i0 .. i1, j0 .. j1 and the least and the
/// greatest value of each slot. `some` is false only if the box holds no
/// visible pair, `all` is true only if it holds no hidden pair, whatever the
/// values; both are exact where each index and slot stands once and only
/// comparisons and conjunctions are made of them. What cannot be bounded
/// counts as undecided and is remarked at its operation. With a region `branch`
/// it also yields the least and the greatest branch of the box. Does nothing
/// without a mask or a branch region. Returns false, and leaves no region, if
/// the test could never decide anything.
bool deriveTileRegion(AttentionOp op);

} // namespace torsor

#endif
