// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of a row group against a panel of keys, in registers.
#ifndef TORSOR_CODEGEN_CPU_SCORETILE_H
#define TORSOR_CODEGEN_CPU_SCORETILE_H

#include "codegen/cpu/TileTest.h"

namespace torsor {

/// Writes the scores of all row groups against the keys from ... to - 1 of
/// the tile that begins at key `tile`, whole panels, each group up to its own
/// last key, and raises the row maxima by lane. `verdict`: what is known of the
/// tile.
void emitScores(const TileContext &c, Num groups, Num tile, Num from, Num to,
                const TileVerdict &verdict);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCORETILE_H
