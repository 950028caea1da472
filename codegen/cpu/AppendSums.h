// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running sums of new keys, which go on from what a cache holds.
#ifndef TORSOR_CODEGEN_CPU_APPENDSUMS_H
#define TORSOR_CODEGEN_CPU_APPENDSUMS_H

#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/TableReader.h"

namespace torsor {

/// A token that an append brings.
Place placeOfNew(Emitter &e, const Call &call, const Sequence &sequence,
                 Num number);

/// Where it goes; a negative slot: nowhere.
KeySlot slotOfNew(Emitter &e, const Kernel &kernel, const Call &call,
                  const Sequence &sequence, Num number);

/// Sums the tokens that are stored, on from the key before the first of them
/// in the sequence's run, or from 0 where they are the run; writes the streams
/// of the clocks. Items as scanItems has them.
void emitAppendSums(Emitter &e, const Kernel &kernel, const Call &call,
                    Num begin, Num end);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_APPENDSUMS_H
