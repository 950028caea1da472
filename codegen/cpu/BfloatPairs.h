// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bf16 two at a time (vdpbf16ps), and what is packed for them.
#ifndef TORSOR_CODEGEN_CPU_BFLOATPAIRS_H
#define TORSOR_CODEGEN_CPU_BFLOATPAIRS_H

#include "codegen/cpu/TileLayout.h"

namespace torsor {

// With `pairs` a word of 4 bytes, an f32 by type, holds two bf16: of q and k
// two neighbouring lanes of the head, of weights and v two neighbouring keys.
// Such words are only moved.

/// sum + a * b, or with `pairs` sum + a1 * b1 + a0 * b0, lane by lane. Denormal
/// bf16 count as 0 there.
Num multiplyAdd(Num a, Num b, Num sum, bool pairs);

/// The same, but a value whose weight is 0 is left out, whatever it is.
Num addWeighted(Num weights, Num values, Num sum, bool pairs);

/// Fills a row of q or k, `head` lanes wide, up to whole words.
void padRow(const TileLayout &layout, Pointer row);

/// Packs the values into panels [panel][key / 2][columns][key % 2] of bf16, the
/// last columns and a last key without partner filled up with 0. `begin` is
/// even.
void emitPackValuePairs(const TileContext &c, const Tensor &v, Num begin,
                        Num end);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_BFLOATPAIRS_H
