// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the running sums of a kernel lie.
#ifndef TORSOR_CODEGEN_CPU_SCANLAYOUT_H
#define TORSOR_CODEGEN_CPU_SCANLAYOUT_H

#include "codegen/cpu/Spec.h"

namespace torsor {

/// Whether the keys of the call lie in a cache, and their times with them.
Num areSumsStored(Emitter &e, ScanOp op, const Call &call);

/// The stream of a clock that has one, [rows, slots, members], with the heads,
/// if it is of each, before the slots; `next`: the time of the token behind
/// each key.
Tensor sumStream(Emitter &e, const Kernel &kernel, const Call &call, ScanOp op,
                 bool next);

/// The sums of one `torsor.scan` of one sequence: where keys are fresh, for
/// each head (or once)
///
///     prefix [keys + 1][members]   the sum at key n stands at n, exclusive, or
///                                  at n + 1
///     term   [keys][members]       where the keys' indices do not rise
///
/// and behind all of them, for each query head (or once)
///
///     query  [queries][members]    the sum at each query
struct ScanLayout {
  ScanLayout(Emitter &e, ScanOp op, const Call &call, const Sequence &sequence);

  int64_t members;
  bool exclusive;
  /// A sum for each query head or for each key head.
  bool byHead, byGroup;
  Num heads, perHead;           // sums of keys, f64 words of one
  Num queryHeads, perQueryHead; // the same of queries
  Num term, query;

  Num words() const { return query + perQueryHead * queryHeads; }
};

/// Words before scan `number` among those of its sequence.
Num scanOffset(Emitter &e, const Kernel &kernel, const Call &call,
               const Sequence &sequence, int64_t number);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCANLAYOUT_H
