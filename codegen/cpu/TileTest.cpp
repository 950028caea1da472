// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The test that tells hidden, partial and visible tiles of pairs apart.
#include "codegen/cpu/TileTest.h"

using namespace mlir;

namespace torsor {

TileVerdict emitTileTest(const TileContext &c, const TileSide &queries,
                         const TileSide &keys) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  Num yes = e.constant(e.i1, int64_t(1)), no = e.constant(e.i1, int64_t(0));
  if (op.getTile().empty())
    return {yes, no, Num(), Num()};
  Nums arguments = {queries.indices.low, queries.indices.high, keys.indices.low,
                    keys.indices.high};
  Num strange = no; // a slot is NaN
  for (ArrayRef<Bounds> slots : {queries.slots, keys.slots})
    for (const Bounds &bounds : slots) {
      arguments.append({bounds.low, bounds.high});
      if (isa<FloatType>(bounds.low.type()))
        strange = strange | e.isNan(bounds.low);
    }
  Nums verdict = cloneRegion(op.getTile(), arguments, c.tables, c.place);
  Num low, high;
  if (!op.getBranch().empty()) {
    low = select(strange, 0, verdict[2]);
    high = select(strange, int64_t(op.getBranches().size()) - 1, verdict[3]);
  }
  // A key with an index below 0 is padding, whatever the mask says.
  return {verdict[0] | strange,
          verdict[1] & (strange ^ 1) & (keys.indices.low >= 0), low, high};
}

} // namespace torsor
