// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The phase of prefill that packs keys and values.
#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/PrefillKernel.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

bool Prefill::runsShareTurns() const {
  if (!layout.forms.isOne())
    return false;
  ArrayRef<BlockAttr> acting = layout.forms.keys[0];
  // They lie where the scores and outputs will.
  int64_t bytes = layout.keys * 2 * countTurns(acting) * 4;
  return shareTurns(op.getColumns(), kernel, acting, /*onQuery=*/false) &&
         bytes <= layout.rowMax - layout.scores;
}

Num Prefill::partsOf(const Call &call, Num tiles) const {
  Num runs = layout.runs(call);
  if (!runsShareTurns())
    return runs;
  constexpr int64_t leastItems = 16;
  Num together = max(min(tiles * runs / leastItems, runs), 1);
  return (runs + together - 1) / together;
}

void Prefill::packTile(const Call &call, const TileContext &c,
                       const Indices &indices, Num isActed, Num tile,
                       Pointer scratch, const KeptTurns *turns) const {
  Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
  Tensor v = valuesOf(call, op);
  Num first = tile * layout.keys;
  Num last = min(first + layout.keys, c.keyCount);
  emitPackKeys(c, indices, k, isActed, tile, first, last, scratch, turns);
  auto packValues = [&] { emitPackValues(c, v, isActed, first, last); };
  Num inPlace = InPlaceValues::read(e, call, op, layout).hold;
  if (!inPlace)
    return packValues();
  e.when(inPlace ^ 1, packValues);
}

void Prefill::pack(const Call &call, Num begin, Num end,
                   Pointer scratch) const {
  TableReader tables = tablesOf(call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  Num isActed = emitKeysActed(e, kernel, call, blocks);
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return packsOf(call, sequence, indices);
      },
      [&](const Sequence &sequence) { return bytesOf(call, sequence); },
      [&](const Sequence &sequence, Num item, Num base) {
        Range tiles = tilesOf(sequence, indices);
        Num count = tiles.end - tiles.begin;
        Num parts = partsOf(call, count), runs = layout.runs(call);
        auto packItem = [&] {
          Num tile = tiles.begin + item % count, part = item / count;
          Num first = part * runs / parts;
          e.loop(first, (part + 1) * runs / parts, 1, [&](Num run) {
            TileContext c = context(call, tables, sequence, run, base);
            c.placeScratch(scratch);
            KeptTurns turns = {c.scores, run == first};
            packTile(call, c, indices, isActed, tile, scratch,
                     runsShareTurns() ? &turns : nullptr);
          });
        };
        if (!bias.exists())
          return packItem();
        Num stretch = item - count * parts;
        e.when(stretch < 0, packItem, [&] {
          TileContext c = context(call, tables, sequence, e.index(0), base);
          bias.fill(c, indices, biasTableOf(call, sequence, base), stretch);
        });
      });
}

} // namespace torsor
