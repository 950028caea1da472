// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums over the keys of a sequence, made before a kernel.
#ifndef TORSOR_CODEGEN_CPU_SCAN_H
#define TORSOR_CODEGEN_CPU_SCAN_H

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/TableReader.h"

namespace torsor {

/// Bytes of the workspace that the sums of a sequence take.
Num scanBytes(Emitter &e, const Kernel &kernel, const Call &call,
              const Sequence &sequence);

/// Items of the phase that sums: one for each sequence, and for each head where
/// a sum differs between them.
Num scanItems(Emitter &e, const Kernel &kernel, const Call &call);

/// Runs `body` for each sum among the items begin … end-1, with its number, its
/// sequence and its head.
void forScans(
    Emitter &e, const Kernel &kernel, const Call &call, Num begin, Num end,
    llvm::function_ref<void(ScanOp, int64_t, const Place &head)> body);

/// Sums fresh keys, or reads what a cache holds at the queries' tokens: the
/// items begin … end-1.
void emitScans(Emitter &e, const Kernel &kernel, const Call &call, Num begin,
               Num end);

/// Do all scans stand for keys alone, not for sums over them?
bool areAllEach(const Kernel &kernel);

/// The vector of the key or new token at `place`.
Contents contentsOf(const Kernel &kernel, const Call &call, const Place &place);

/// The sums of one head that a cache holds beside its keys.
class StoredSums {
public:
  StoredSums(Emitter &e, const Kernel &kernel, const Call &call, ScanOp op,
             const Place &head);

  /// The times of a key, and of the token behind it.
  Pointer at(KeySlot key) const { return place(times, key); }
  Pointer next(KeySlot key) const { return place(sums, key); }

private:
  Pointer place(const Tensor &tensor, KeySlot key) const;

  Tensor times, sums;
  Num head; // null: one sum for all
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCAN_H
