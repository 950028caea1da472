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

/// Asks for share `part` of `parts` of the lines that begin at `from`.
static void prefetchShare(Pointer from, int64_t lines, Num part, Num parts) {
  Emitter &e = *part.e;
  e.loop(part * lines / parts, (part + 1) * lines / parts, 1,
         [&](Num line) { prefetch(from.bytes(line * 64)); });
}

/// The same of `rows` rows that lie `step` elements apart, `lines` lines each.
static void prefetchRows(Pointer from, int64_t rows, Num step, int64_t lines,
                         Num part, Num parts) {
  Emitter &e = *part.e;
  e.loop(part * rows / parts, (part + 1) * rows / parts, 1, [&](Num row) {
    Pointer at = from + row * step;
    for (int64_t line = 0; line < lines; ++line)
      prefetch(at.bytes(line * 64));
  });
}

void prefetchPanel(const TileContext &c, Num panel, Num group, Num groups) {
  int64_t words = c.layout.headWords * c.layout.panel;
  prefetchShare(c.keys + (panel + 1) * words, words / c.layout.lanes, group,
                groups);
  if (!c.inPlace.hold)
    return;
  Num step = c.inPlace.rows.stride(2);
  c.e.when(c.inPlace.hold, [&] {
    Pointer rows = c.inPlace.first(c.place.sequence, c.place.group);
    prefetchRows(rows + panel * c.layout.panel * step, c.layout.panel, step,
                 c.layout.value / c.layout.lanes, group, groups);
  });
}

void SteadyRequest::emit(Num turn) const {
  Num line = (first + turn * each) / 65536;
  prefetch(from.bytes(line / lines * step + line % lines * 64),
           /*intoFirst=*/false);
}

} // namespace torsor
