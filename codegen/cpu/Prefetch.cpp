// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for memory before it is read.
#include "codegen/cpu/Prefetch.h"

#include "codegen/cpu/TileLayout.h"

namespace torsor {

void prefetch(Pointer address, bool intoFirst) {
  Emitter &e = *address.base.e;
  auto word = [&](int64_t value) { return e.constant(e.i32, value); };
  e.call("llvm.prefetch.p0", mlir::Type(),
         {address.base, word(0), word(intoFirst ? 3 : 2), word(1)});
}

void SteadyRequest::emit(Num turn) const {
  Num line = (first + turn * each) / 65536;
  prefetch(from.bytes(line / lines * step + line % lines * 64),
           /*intoFirst=*/false);
}

SteadyRequest requestOf(const TileContext &c, Num panel, Num group, Num groups,
                        int64_t turns) {
  Emitter &e = c.e;
  const TileLayout &layout = c.layout;
  Num key = panel * layout.panel;
  int64_t lines = layout.valueVectors;
  auto callers = [&](const CallersRows &rows, Num number, Num isThere,
                     Pointer &from, Num &step) {
    // As if a row had `lines` lines.
    Num own = rows.stride * (lines * rows.first.elementBytes()) / rows.lines;
    from.base =
        select(isThere, (rows.first + number * rows.stride).base, from.base);
    step = select(isThere, own, step);
  };
  Num half = max((groups + 1) / 2, 1), forKeys = group < half;
  Num share = select(forKeys, group, group - half);
  // Packed values lie in panels of columns, of which a group takes one.
  int64_t columns = layout.valuePanels[0].vectors;
  int64_t parts = (lines + columns - 1) / columns;
  int64_t width = columns * layout.lanes;
  Pointer values = c.packedValues(share % parts * width, key, width);
  Num valueStep = e.index(lines * 64), valueShare = share / parts;
  Num inPlace =
      c.valuesInPlace ? c.valuesInPlace : e.constant(e.i1, int64_t(0));
  Num areCallers = inPlace | c.packsInOrder;
  callers(c.callersValues, key + select(inPlace, 0, e.index(layout.keys)),
          areCallers, values, valueStep);
  Pointer keys = c.keys + (panel + 1) * (layout.headWords * layout.panel);
  Num keyStep = e.index(lines * 64);
  callers(c.callersKeys, key + layout.keys, c.packsInOrder, keys, keyStep);
  int64_t keyLines = (layout.headWords + 15) / 16;
  Num count = select(forKeys, e.index(layout.panel * keyLines * 65536 / turns),
                     layout.panel * lines * 65536 / turns);
  Num each = count / half;
  share = select(forKeys | areCallers, share, valueShare);
  return {.from = e.at(select(forKeys, keys.base, values.base), e.i8),
          .lines = lines,
          .step = select(forKeys, keyStep, valueStep),
          .first = share * turns * each,
          .each = each};
}

} // namespace torsor
