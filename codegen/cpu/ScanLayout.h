// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the running sums of a kernel lie.
#ifndef TORSOR_CODEGEN_CPU_SCANLAYOUT_H
#define TORSOR_CODEGEN_CPU_SCANLAYOUT_H

#include "codegen/cpu/Spec.h"

namespace torsor {

/// The sums of one `torsor.scan` of one sequence: for each head (or once)
///
///     prefix [keys + 1][members]   the sum at key n stands at n, exclusive, or
///                                  at n + 1
///     query  [queries][members]    the sum at each query
///     term   [keys][members]       where the keys' indices do not rise
struct ScanLayout {
  ScanLayout(Emitter &e, ScanOp op, const Call &call, const Sequence &sequence);

  int64_t members;
  bool exclusive;
  Num perHead; // f64 words of a head
  Num heads;   // 1 where there is one sum for all
  Num query, term;

  Num words() const { return perHead * heads; }
};

/// Words before scan `number` among those of its sequence.
Num scanOffset(Emitter &e, const Kernel &kernel, const Call &call,
               const Sequence &sequence, int64_t number);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCANLAYOUT_H
