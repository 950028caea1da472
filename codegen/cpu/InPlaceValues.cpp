// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that the attention kernels read where the caller has them.
#include "codegen/cpu/InPlaceValues.h"

#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/TileLayout.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

/// Rows further apart, in powers of two as they are, share so few sets of the
/// caches that a tile of them does not stay there.
static constexpr int64_t farthest = 2048;

/// Whether a register tile that walks down its columns loses nothing: they are
/// whole rows, or too many for the first cache also when they are packed. Else
/// rows of many panels crowd the few sets that a panel falls into.
static bool suitsPanels(const TileLayout &layout) {
  constexpr int64_t firstCache = 48 << 10;
  if (layout.valuePanels.size() == 1 && layout.valuePanels[0].count == 1)
    return true;
  return llvm::all_of(layout.valuePanels, [&](const ValuePanels &panels) {
    return layout.keys * panels.vectors * layout.lanes * 4 >= firstCache;
  });
}

Num areScattered(const Call &call) {
  return (call.flags & int64_t(TORSOR_STORAGE_PAGED | TORSOR_STORAGE_RING)) !=
         0;
}

Num areValuesInPlace(Emitter &e, const Call &call, AttentionOp op,
                     const TileLayout &layout) {
  Tensor v = valuesOf(call, op);
  if (layout.pairs || !layout.forms.values.empty() || v.data.element != e.f32 ||
      layout.value % layout.lanes || !suitsPanels(layout))
    return {};
  constexpr int64_t line = 64;
  Num bytes = v.stride(2) * v.data.elementBytes();
  Num address = addressOf(v.data.base);
  for (int64_t axis : {0, 1})
    address = address | v.stride(axis) * v.data.elementBytes();
  return (areScattered(call) ^ 1) & (((address | bytes) & (line - 1)) == 0) &
         (bytes <= farthest);
}

CallersRows::CallersRows(const Tensor &tensor, const Sequence &sequence,
                         Num group, int64_t width)
    : first(tensor.data +
            (sequence.keyRow * tensor.stride(0) + group * tensor.stride(1) +
             sequence.keyStart * tensor.stride(2))),
      stride(tensor.stride(2)),
      lines((width * first.elementBytes() + 63) / 64) {}

} // namespace torsor
