// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How decode cuts keys and values, and where it keeps what.
#include "codegen/cpu/DecodeLayout.h"

#include <algorithm>

namespace torsor {

/// The rows of a tile stay within this, a small part of the first cache.
static constexpr int64_t tileBytes = 2048;

DecodeTile::DecodeTile(const Target &target, int64_t rowBytes)
    : keyAccumulators(target.lanes == 16 ? 16 : 8),
      mostKeys(rowBytes <= tileBytes / 4   ? 4
               : rowBytes <= tileBytes / 2 ? 2
                                           : 1) {
  if (target.lanes == 16) {
    valueVectors = 4;
    streams = 4;
    return;
  }
  valueVectors = 2;
  streams = 1;
}

int64_t DecodeTile::keysBeside(int64_t rows) const {
  return std::clamp<int64_t>(keyAccumulators / rows, 1, mostKeys);
}

Num loadTail(Pointer from, int64_t lanes, int64_t count) {
  Emitter &e = *from.base.e;
  Num vector = e.constant(e.vec(lanes, e.f32), 0.0);
  for (int64_t n = 0; n < count; ++n)
    vector = e.insert(vector, e.convert(from.load(n), e.f32), n);
  return vector;
}

/// The lanes of rows of v that `blocks` change, in whole vectors but at the
/// end of the row.
static LaneSpan lanesActedOn(llvm::ArrayRef<BlockAttr> blocks, int64_t width,
                             int64_t lanes) {
  LaneSpan span = {width, 0};
  for (BlockAttr block : blocks) {
    if (!changesValues(block))
      continue;
    if (block.getKind() != BlockKind::Turn)
      return {0, width};
    PairsAttr at = block.getLanes();
    int64_t behind = (at.getCount() - 1) * at.getStep() + 1;
    for (int64_t first : {at.getFirst(), at.getSecond()}) {
      if (first < 0)
        continue;
      span.begin = std::min(span.begin, first);
      span.end = std::max(span.end, first + behind);
    }
  }
  if (span.size() <= 0)
    return {};
  return {span.begin / lanes * lanes,
          std::min(roundUp(span.end, lanes), width)};
}

DecodeScratch::DecodeScratch(const TileLayout &layout, int64_t stepBytes,
                             int64_t dots)
    : queryWidth(roundUp(layout.head, layout.lanes)),
      rowCount(layout.keys + 2 * decodeChunk) {
  int64_t next = layout.scratchBytes;
  auto take = [&](int64_t size) {
    int64_t begin = next;
    next = roundUp(next + size, 64);
    return begin;
  };
  formBytes = layout.rows * queryWidth * 4;
  queries = take(formBytes * int64_t(layout.forms.queries.size()));
  anchorBytes =
      layout.anchors * 8 * (layout.actsByHead ? layout.rows : int64_t(1));
  anchors = take(anchorBytes * int64_t(layout.forms.keys.size()));
  steps = take(stepBytes);
  dotRows = take(dots * layout.rows * queryWidth * 4);
  dotScores = take(dots * layout.rows * decodeChunk * 4);
  acted = lanesActedOn(layout.forms.values, layout.value, layout.lanes);
  actedValues = take(decodeChunk * acted.size() * 4);
  merged = layout.forms.isOne() ? 0 : take(layout.rows * decodeChunk * 4);
  sums = take(sumRows * layout.lanes * layout.lanes * 4);
  keys = take(decodeChunk * layout.head * 4);
  // Stores to one must not look like those to lines of the other that are
  // loaded next: processors compare the last 12 bits of addresses.
  int64_t page = 4096;
  next = layout.outputs % page + roundUp(next - layout.outputs % page, page);
  kept = take(layout.rows * layout.valueWidth() * 4);
  keyRows = take(rowCount * 8);
  valueRows = take(rowCount * 8);
  keyIndices = take(decodeChunk * 4);
  // Each row has its own, as it has a head.
  slotBytes = decodeChunk * 8 * (layout.slotsByHead ? layout.rows : 1);
  slots = take(slotBytes * layout.columnSlots.size());
  bytes = next;
}

} // namespace torsor
