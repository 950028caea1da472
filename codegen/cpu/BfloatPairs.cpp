// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bf16 two at a time (vdpbf16ps), and what is packed for them.
#include "codegen/cpu/BfloatPairs.h"

#include "codegen/cpu/KeySlots.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace torsor {

/// The bf16 (or their bits, i16) in a vector of words.
static Num halves(Num words, Type element) {
  Emitter &e = *words.e;
  return e.num(LLVM::BitcastOp::create(e.b, e.vec(2 * words.lanes(), element),
                                       words.value));
}

Num multiplyAdd(Num a, Num b, Num sum, bool pairs) {
  if (!pairs)
    return fma(a, b, sum);
  Emitter &e = *a.e;
  return e.call("llvm.x86.avx512bf16.dpbf16ps.512", sum.type(),
                {sum, halves(a, e.bf16), halves(b, e.bf16)});
}

Num addWeighted(Num weights, Num values, Num sum, bool pairs) {
  if (!pairs)
    return select(weights != 0.0, fma(weights, values, sum), sum);
  Emitter &e = *weights.e;
  Num kept = select(halves(weights, e.i16) != 0, halves(values, e.i16), 0);
  Num words = e.num(LLVM::BitcastOp::create(e.b, values.type(), kept.value));
  return multiplyAdd(weights, words, sum, pairs);
}

void padRow(const TileLayout &layout, Pointer row) {
  Emitter &e = *row.base.e;
  if (layout.head != layout.packedHead())
    row.store(layout.head, e.constant(row.element, 0.0));
}

namespace {

/// Rows of v of two neighbouring keys.
class ValuePair {
public:
  ValuePair(const TileContext &c, const Tensor &v, Num even, Num end)
      : e(c.e), lanes(c.lanes()), width(c.layout.value) {
    auto rowOf = [&](Num number) {
      KeySlot slot = locateKey(e, c.tables.call, c.place.sequence, number);
      return v.data + (slot.row * v.stride(0) + c.place.group * v.stride(1) +
                       slot.slot * v.stride(2));
    };
    rows[0] = rowOf(even);
    // A key without partner is read twice and cleared once.
    Num odd = even + 1;
    rows[1] = rowOf(min(odd, end - 1));
    Num kept = e.constant(e.i16, int64_t(0)) - e.convert(odd < end, e.i16);
    partner = e.splat(kept, lanes);
  }

  /// Columns column … column + lanes - 1 of both, interleaved.
  Num at(int64_t column) const {
    Num first = vectorAt(rows[0], column);
    Num second = vectorAt(rows[1], column) & partner;
    SmallVector<int32_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane)
      mask.append({int32_t(lane), int32_t(lane + lanes)});
    return e.shuffle(first, second, mask);
  }

private:
  Num vectorAt(Pointer row, int64_t column) const {
    Pointer bits = row.as(e.i16);
    int64_t left = width - column;
    if (left >= lanes)
      return bits.load(column, lanes);
    Num vector = e.constant(e.vec(lanes, e.i16), int64_t(0));
    for (int64_t n = 0; n < left; ++n)
      vector = e.insert(vector, bits.load(column + n), n);
    return vector;
  }

  Emitter &e;
  int64_t lanes, width;
  Pointer rows[2];
  Num partner;
};

} // namespace

void emitPackValuePairs(const TileContext &c, const Tensor &v, Num begin,
                        Num end) {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  e.loop(begin, end, 2, [&](Num number) {
    ValuePair pair(c, v, number, end);
    for (const ValuePanels &panels : c.layout.valuePanels)
      for (int64_t p = 0; p < panels.count; ++p) {
        int64_t vector = panels.first + p * panels.vectors;
        Pointer to = c.packedValues(e.index(vector * lanes), number,
                                    panels.vectors * lanes)
                         .as(e.i16);
        for (int64_t n = 0; n < panels.vectors; ++n)
          to.store(2 * n * lanes, pair.at((vector + n) * lanes));
      }
  });
}

} // namespace torsor
