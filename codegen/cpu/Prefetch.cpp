// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for memory before it is read.
#include "codegen/cpu/Prefetch.h"

namespace torsor {

void prefetch(Pointer address, bool intoFirst) {
  Emitter &e = *address.base.e;
  auto word = [&](int64_t value) { return e.constant(e.i32, value); };
  e.call("llvm.prefetch.p0", mlir::Type(),
         {address.base, word(0), word(intoFirst ? 3 : 2), word(1)});
}

void prefetchShare(Pointer from, int64_t lines, Num part, Num parts) {
  Emitter &e = *part.e;
  e.loop(part * lines / parts, (part + 1) * lines / parts, 1,
         [&](Num line) { prefetch(from.bytes(line * 64)); });
}

void prefetchRows(Pointer from, int64_t rows, Num step, int64_t lines, Num part,
                  Num parts) {
  Emitter &e = *part.e;
  e.loop(part * rows / parts, (part + 1) * rows / parts, 1, [&](Num row) {
    Pointer at = from + row * step;
    for (int64_t line = 0; line < lines; ++line)
      prefetch(at.bytes(line * 64));
  });
}

void SteadyRequest::emit(Num turn) const {
  Num line = (first + turn * each) / 65536;
  prefetch(from.bytes(line / lines * step + line % lines * 64),
           /*intoFirst=*/false);
}

} // namespace torsor
