// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A vector added to values, a row of a table by pair: weights are summed by row
// of the table, and the table is multiplied once for each query.
#ifndef TORSOR_CODEGEN_CPU_VALUEROWS_H
#define TORSOR_CODEGEN_CPU_VALUEROWS_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// Adds the weights of row `row` for the keys begin ... end - 1, which lie at
/// `weights` and are the pair regions' keys from `firstKey` on, to its sums by
/// row of the table; those before shrink by the row's alpha.
void emitRowWeights(const TileContext &c, Num row, Pointer weights, Num begin,
                    Num end, Num firstKey);

/// The same for all row groups of a block and the tile that begins at `tile`.
void emitValueWeights(const TileContext &c, Num groups, Num tile);

/// outputs += sums by row of the table * table, for `rows` rows.
void emitValueRows(const TileContext &c, Num rows);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_VALUEROWS_H
