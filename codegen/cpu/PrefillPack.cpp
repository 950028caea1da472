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

void Prefill::packTile(const Call &call, const Sequence &sequence, Num run,
                       Num tile, Pointer packed, Num inBlock, Num isFirst,
                       Pointer scratch) const {
  e.callFunction(packName(),
                 {call.address(), sequence.number, sequence.scanBase, run, tile,
                  packed.base, inBlock, isFirst, scratch.base});
}

void Prefill::emitPackFunction() const {
  SmallVector<Type> types = {e.i64,     e.i64, e.i64, e.i64,
                             e.pointer, e.i1,  e.i1,  e.pointer};
  auto body = [&](const Call &call, ArrayRef<Num> arguments) {
    Sequence sequence = call.sequence(arguments[0]);
    sequence.scanBase = arguments[1];
    Num run = arguments[2], tile = arguments[3], inBlock = arguments[5];
    TableReader tables = tablesOf(call);
    Indices indices = Indices::read(e, call, tables, op.getByPosition());
    TileContext c = context(call, tables, sequence, run);
    Pointer scratch = e.at(arguments[7], e.i8);
    c.placeScratch(scratch);
    c.contents = scratch.bytes(layout.keyContents).as(e.f32);
    c.placePacked(call, e.at(arguments[4], e.i8),
                  select(inBlock, layout.keys, c.keyCount));
    c.packsInOrder = inBlock & (areScattered(call) ^ 1);
    c.takePacked(TileContext(c), select(inBlock, tile * layout.keys, 0));
    emitPackedTile(call, c, indices, tile, inBlock, arguments[6], scratch);
  };
  emitInnerFunction(e, kernel, packName(), types, body);
}

void Prefill::emitPackedTile(const Call &call, const TileContext &c,
                             const Indices &indices, Num tile, Num inBlock,
                             Num isFirst, Pointer scratch) const {
  Tensor k = call.tensor(TORSOR_AT_K, elementOf(op.getK()));
  Tensor v = valuesOf(call, op);
  Num isActed = emitKeysActed(e, kernel, call, blocks);
  Num first = tile * layout.keys;
  Num last = min(first + layout.keys, c.keyCount);
  TileTurns turns;
  if (runsShareTurns()) {
    int64_t words = 2 * countTurns(layout.forms.keys[0]);
    turns = {c.scores, isFirst, select(inBlock, 0, e.index(words))};
  }
  emitPackKeys(c, indices, k, isActed, first, last,
               scratch.bytes(layout.keyRows),
               runsShareTurns() ? &turns : nullptr);
  auto packValues = [&] { emitPackValues(c, v, isActed, first, last); };
  Num inPlace = areValuesInPlace(e, call, op, layout);
  if (!inPlace)
    return packValues();
  e.when(inPlace ^ 1, packValues);
}

void Prefill::pack(const Call &call, Num begin, Num end,
                   Pointer scratch) const {
  TableReader tables = tablesOf(call);
  Indices indices = Indices::read(e, call, tables, op.getByPosition());
  walkItems(
      e, call, begin, end,
      [&](const Sequence &sequence) {
        return packsOf(call, sequence, indices);
      },
      [&](const Sequence &sequence) { return bytesOf(call, sequence); },
      [&](const Sequence &sequence, Num item, Num base) {
        Range tiles = tilesOf(call, sequence, indices);
        Num count = tiles.end - tiles.begin;
        Num parts = partsOf(call, count), runs = layout.runs(call);
        auto packItem = [&] {
          Num tile = tiles.begin + item % count, part = item / count;
          Num first = part * runs / parts;
          e.loop(first, (part + 1) * runs / parts, 1, [&](Num run) {
            packTile(call, sequence, run, tile,
                     packedAt(call, sequence, run, base),
                     e.constant(e.i1, int64_t(0)), run == first, scratch);
          });
        };
        if (!bias.exists())
          return packItem();
        Num stretch = item - count * parts;
        e.when(stretch < 0, packItem, [&] {
          TileContext c = context(call, tables, sequence, e.index(0));
          bias.fill(c, indices, biasTableOf(call, sequence, base), stretch);
        });
      });
}

} // namespace torsor
