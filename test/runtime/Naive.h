// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled objects written by hand: plain attention in C++ behind the ABI of
// torsor_kernel.h. Two schemes in f32, head width 8 and value width 4:
//
//   plain  causal, no arguments
//   full   clock pos; inputs doc (per token), bonus (per sequence), gain[H]
//   (per
//          call); params slope[H], sink[H], turn[4]
//          key and query turned by pos * turn; logit = gain * (score / sqrt 8 -
//          slope * (pos_i - pos_j)) + bonus; causal and doc[i] == doc[j]; a
//          sink
#ifndef TORSOR_TEST_RUNTIME_NAIVE_H
#define TORSOR_TEST_RUNTIME_NAIVE_H

#include "runtime/torsor_kernel.h"

namespace naive {

constexpr int64_t head = 8, value = 4;
constexpr int64_t decodeQueries = 2;
/// Keys of one split of decode.
constexpr int64_t split = 5;

/// Numbers of the arguments of `full`.
enum { Pos, Doc, Bonus, Gain, Slope, Sink, Turn, ArgumentCount };
/// Numbers of its streams.
enum { K, V, PosStream, DocStream, Index, StreamCount };

/// Both schemes, and a stack of three layers: full, plain, none.
extern const torsor_module module;
extern const torsor_descriptor plain, full;
/// The operations of `plain` and `full`, to build other descriptors from.
extern const torsor_kernel_op plainOps[4], fullOps[4];

} // namespace naive

#endif // TORSOR_TEST_RUNTIME_NAIVE_H
