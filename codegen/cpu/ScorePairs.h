// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pair regions on the scores of a register tile, a row after the other.
#ifndef TORSOR_CODEGEN_CPU_SCOREPAIRS_H
#define TORSOR_CODEGEN_CPU_SCOREPAIRS_H

#include "codegen/cpu/Slots.h"

namespace torsor {

/// A register tile of scores: rowTile rows from `firstRow` on, `vectors`
/// vectors of the panel's keys; they lie in c.scores, whose first key is
/// `tile`.
struct ScorePanel {
  Num firstRow, panel, tile;
  int64_t vectors;

  /// The first key of vector v.
  Num key(const TileContext &c, int64_t v) const {
    return panel * c.layout.panel + v * c.lanes();
  }
};

/// Makes logits of the raw scores: sums over paths, the region `logit`, the
/// mask; raises the row maxima by lane. Panels of a row come from the last to
/// the first, if there are sums over paths. `partial`: whether some pair may be
/// hidden; null: it is. A loop over the rows, since the regions may be long:
/// the vectors of one row fill the machine.
void emitLogits(const TileContext &c, const ScorePanel &at, Num partial);

/// Hides what rows do not see of the scores, which are logits; raises the row
/// maxima by lane.
void emitMasked(const TileContext &c, const ScorePanel &at);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCOREPAIRS_H
