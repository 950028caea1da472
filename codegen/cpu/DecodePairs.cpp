// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of bf16 as f32, evens and odds.
#include "codegen/cpu/DecodePairs.h"

using namespace mlir;

namespace torsor {

std::pair<Num, Num> separate(Num a, Num b) {
  Emitter &e = *a.e;
  SmallVector<int32_t> even, odd;
  for (int32_t lane = 0; lane < int32_t(a.lanes()); ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  return {e.shuffle(a, b, even), e.shuffle(a, b, odd)};
}

static std::pair<Num, Num> interleave(Emitter &e, Num even, Num odd) {
  int32_t lanes = int32_t(even.lanes());
  SmallVector<int32_t> low, high;
  for (int32_t lane = 0; lane < lanes; ++lane) {
    low.push_back(lane / 2 + lane % 2 * lanes);
    high.push_back(lanes / 2 + lane / 2 + lane % 2 * lanes);
  }
  return {e.shuffle(even, odd, low), e.shuffle(even, odd, high)};
}

std::pair<Num, Num> loadPair(Pointer row, Operand at, int64_t lanes) {
  Emitter &e = *row.base.e;
  Pointer from = row + at;
  if (!row.element.isBF16())
    return separate(from.load(0, lanes), from.load(lanes, lanes));
  Num both = from.as(e.i32).load(0, lanes);
  return {e.bitcast(both << 16, e.f32), e.bitcast(both & -65536, e.f32)};
}

void emitPairOrder(Pointer rows, Num count, int64_t stride, int64_t width,
                   int64_t lanes, bool back) {
  Emitter &e = *rows.base.e;
  e.loop(0, count, 1, [&](Num row) {
    Pointer from = rows + row * stride;
    e.loop(0, e.index(width), 2 * lanes, [&](Num at) {
      Num a = from.load(at, lanes), b = from.load(at + lanes, lanes);
      auto [first, second] = back ? interleave(e, a, b) : separate(a, b);
      from.store(at, first);
      from.store(at + lanes, second);
    });
  });
}

} // namespace torsor
