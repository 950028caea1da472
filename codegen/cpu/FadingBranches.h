// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of displacement some of which grow or fade, in the tiles of prefill.
#ifndef TORSOR_CODEGEN_CPU_FADINGBRANCHES_H
#define TORSOR_CODEGEN_CPU_FADINGBRANCHES_H

#include "codegen/cpu/Anchors.h"
#include "codegen/cpu/TileTest.h"

#include <memory>
#include <vector>

namespace torsor {

/// The branches of a kernel and the rows of one block. One anchor cannot serve
/// all branches of packed keys: the products of a tile are computed key by key,
/// for each branch that the tile has, and each pair takes its own.
class FadingBranches {
public:
  FadingBranches(const TileContext &c, const Indices &indices, const Tensor &k,
                 RowBlock rows, llvm::ArrayRef<Bounds> rowBounds, Num used);

  /// Computes the products of the keys tile … tileEnd-1 into the scores.
  void emit(Num tile, Num tileEnd, Num groups, const TileVerdict &verdict);

private:
  const TileContext &c; // of the tile at hand
  TileContext apart;    // with scores of one branch
  std::vector<std::unique_ptr<Anchors>> branches;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_FADINGBRANCHES_H
