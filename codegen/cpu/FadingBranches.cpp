// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of displacement some of which grow or fade, in the tiles of prefill.
#include "codegen/cpu/FadingBranches.h"

#include "codegen/cpu/Slots.h"

using namespace mlir;

namespace torsor {

FadingBranches::FadingBranches(const TileContext &c, const Indices &indices,
                               const Tensor &k, RowBlock rows,
                               ArrayRef<Bounds> rowBounds, Num used)
    : c(c), apart(c) {
  apart.scores = c.branchScores;
  for (size_t n = 0; n < c.layout.forms.branches.size(); ++n)
    branches.push_back(std::make_unique<Anchors>(apart, indices, k, rows,
                                                 rowBounds, used, int64_t(n)));
}

void FadingBranches::emit(Num tile, Num tileEnd, Num groups,
                          const TileVerdict &verdict) {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  apart.takePacked(c, e.index(0));
  for (size_t n = 0; n < branches.size(); ++n) {
    int64_t branch = n;
    auto compute = [&] {
      branches[n]->emitProducts(tile, tile, tileEnd, groups);
      e.loop(0, groups * c.layout.rowTile, 1, [&](Num row) {
        e.loop(tile, tileEnd, lanes, [&](Num key) {
          Num at = row * c.layout.keys + (key - tile);
          Num own = emitPair(c, op.getBranch(), row, key) == branch;
          c.scores.store(at, select(own, apart.scores.load(at, lanes),
                                    c.scores.load(at, lanes)));
        });
      });
    };
    if (verdict.lowBranch)
      e.when((verdict.lowBranch <= branch) & (verdict.highBranch >= branch),
             compute);
    else
      compute();
  }
}

} // namespace torsor
