// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of the integers that a pair region takes.
#ifndef TORSOR_PASSES_PAIRRANGES_H
#define TORSOR_PASSES_PAIRRANGES_H

#include "dialect/TorsorDialect.h"
#include "passes/IntervalAnalysis.h"

namespace torsor {

/// The range of each slot of a kernel, row slots first: what its region
/// `rows` or `columns` yields, where tokens, heads, sequences and lengths lie
/// in 0 .. 2^31 - 1, and positions in the discardable attributes `position_low`
/// and `position_high` of `op` (else they may be any integer).
llvm::SmallVector<IntRange> getSlotRanges(AttentionOp op);

/// Tells `ranges` of the arguments of `block`, a pair region of `op`.
void setPairRanges(AttentionOp op, mlir::Block &block,
                   IntervalAnalysis &ranges);

} // namespace torsor

#endif
