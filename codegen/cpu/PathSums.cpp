// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over the keys between a key and its query.
#include "codegen/cpu/PathSums.h"

using namespace mlir;

namespace torsor {

Nums emitPathTerms(const TileContext &c, Num row, Num key, Num score,
                   Num seen) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Nums terms = emitPairs(c, op.getPath(), row, {{key, score}})[0];
  Num end = e.splat(e.convert(c.indices.load(row), e.i32), c.lanes());
  Num counts = c.keyIndices.load(key, c.lanes()) <= end;
  if (seen)
    counts = counts & seen;
  for (Num &term : terms)
    term = select(counts, term, 0.0);
  return terms;
}

/// Lane n: the sum of the lanes from n on.
static Num suffixSums(const TileContext &c, Num terms) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  Num zero = e.constant(terms.type(), 0.0);
  for (int64_t step = 1; step < lanes; step *= 2) {
    SmallVector<int32_t> further;
    for (int64_t lane = 0; lane < lanes; ++lane)
      further.push_back(lane + step);
    terms = terms + e.shuffle(terms, zero, further);
  }
  return terms;
}

Nums emitPathSums(const TileContext &c, Num row, ArrayRef<Num> terms) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Nums sums;
  for (auto [n, term] : llvm::enumerate(terms)) {
    Pointer carried = c.pathSums + (row + int64_t(n) * c.layout.rows);
    Num behind = carried.load(0), sum = suffixSums(c, term);
    carried.store(0, behind + e.lane(sum, 0));
    Num total = sum + e.splat(behind, c.lanes());
    sums.push_back(op.getPathAfter() >> n & 1 ? total - term : total);
  }
  return sums;
}

} // namespace torsor
