// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Online softmax over a key tile.
#ifndef TORSOR_CODEGEN_CPU_SOFTMAXTILE_H
#define TORSOR_CODEGEN_CPU_SOFTMAXTILE_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// Raises the rows' maxima by what the score tiles found, gives the factors
/// `alphas` for what is summed so far, and puts the row maxima back.
void emitRowStatistics(const TileContext &c, Num groups);

/// Turns the scores of the tile into weights, and adds them to the row sums.
void emitWeights(const TileContext &c, Num groups, Num tile);

/// Vectors reduced to one: lane n is the reduction of vector n. As many
/// vectors as lanes.
Num reduceAcross(Emitter &e, Nums vectors,
                 llvm::function_ref<Num(Num, Num)> combine);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SOFTMAXTILE_H
