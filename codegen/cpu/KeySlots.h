// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the keys of a sequence lie: in a row, in pages, or in a ring.
#ifndef TORSOR_CODEGEN_CPU_KEYSLOTS_H
#define TORSOR_CODEGEN_CPU_KEYSLOTS_H

#include "codegen/cpu/Call.h"
#include "codegen/cpu/Spec.h"
#include "dialect/TorsorDialect.h"

namespace torsor {

/// The place of one key in tensors [rows, G, slots, width] and [rows, slots].
struct KeySlot {
  Num row, slot;
};

/// Key `number` of the sequence's run:
///
///     n = key_start + number
///     contiguous  row key_row, slot n
///     paged       row pages[key_row + n / page], slot n % page
///     ring        row key_row, slot n if n < pinned,
///                 else pinned + (n - pinned) mod (page - pinned)
KeySlot locateKey(Emitter &e, const Call &call, const Sequence &sequence,
                  Num number);

/// What a cache holds of stream `number`, in the order of the interface: keys
/// [rows, G, slots, width] first.
Tensor cacheStream(const Call &call, const Kernel &kernel, int64_t number,
                   mlir::Type element);

/// The values of an attention: v, or lanes of k.
Tensor valuesOf(const Call &call, AttentionOp op);

/// Keys that lie one behind the other, from `number` on.
struct KeyRun {
  KeySlot first;
  Num count;
};

/// The longest such run among the keys number … end - 1; number < end.
KeyRun keyRunAt(Emitter &e, const Call &call, const Sequence &sequence,
                Num number, Num end);

/// Runs `body` over the runs that make up begin … end - 1; `body` gets the
/// number of the run's first key.
void forKeyRuns(Emitter &e, const Call &call, const Sequence &sequence,
                Num begin, Num end,
                llvm::function_ref<void(Num number, const KeyRun &)> body);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_KEYSLOTS_H
