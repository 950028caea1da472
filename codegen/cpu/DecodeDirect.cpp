// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of rows of q with keys that tables act on as they are read: the
// action and the product are one.
#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/Prefetch.h"

using namespace mlir;

namespace torsor {

/// Where the pairs p … stand in rows of q: those of neighbours as two vectors,
/// firsts and seconds.
static Nums pairColumns(PairsAttr pairs, Num p, int64_t lanes) {
  if (pairs.getStep() == 1)
    return {p + pairs.getFirst(), p + pairs.getSecond()};
  Num first = p * 2 + pairs.getFirst();
  return {first, first + lanes};
}

/// The pairs p … of a key, turned by each of its tables.
static Nums turnPairs(const KeySource::Key &key, PairsAttr pairs, Num p,
                      int64_t lanes) {
  CosSin turn;
  for (Pointer own : key.tables) {
    Num c = own.load(p, lanes), s = own.load(p + pairs.getCount(), lanes);
    turn = turn.cos ? composed(turn, {c, s}) : CosSin{c, s};
  }
  auto [x, y] = loadPairs(key.row, pairs, p, lanes);
  std::tie(x, y) = turned(turn, x, y);
  return {x, y};
}

KeySource DecodeChunk::directSource(int64_t branch, Num row) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), head = c.layout.head;
  const KeySteps &steps = split.steps;
  Pointer stepsAt = split.stepsAt();
  KeyRows cached = cachedRows();
  Num tables = steps.tablesOf(c, row), last = count - 1;
  PairsAttr pairs = steps.pairsOf(branch);
  KeySource source;
  source.open = [=, &steps](Num number) {
    number = min(number, last);
    KeySource::Key key = {cached.row(number), {}};
    if (!pairs)
      key.tables = {steps.mapTable(branch, number, tables, stepsAt)};
    else
      for (BlockAttr block : steps.blocks(branch))
        if (block.acts())
          key.tables.push_back(steps.factors(block, number, tables, stepsAt));
    return key;
  };
  const StepMap *map = pairs ? nullptr : &steps.map(branch);
  auto load = [=](const KeySource::Key &key, Num at) {
    return map ? map->apply(key.tables[0], key.row, at)
               : turnPairs(key, pairs, at, lanes);
  };
  if (PairsAttr turned = map ? map->pairs() : pairs) {
    addPlainParts(source, 0, turned.getFirst(), /*inPairs=*/false);
    source.parts.push_back(
        {turned.getCount(), lanes,
         [=](Num p) { return pairColumns(turned, p, lanes); }, load});
    addPlainParts(source, turned.getFirst() + 2 * turned.getCount(), head,
                  /*inPairs=*/false);
    return source;
  }
  int64_t whole = head / lanes * lanes;
  if (whole)
    source.parts.push_back(
        {whole, lanes, [](Num at) { return Nums{at}; }, load});
  if (whole < head)
    source.parts.push_back({1, 1, [=, &e](Num) { return Nums{e.index(whole)}; },
                            [=](const KeySource::Key &key, Num) {
                              return Nums{
                                  map->applyTail(key.tables[0], key.row)};
                            }});
  return source;
}

bool DecodeChunk::computesInProducts(int64_t branch) const {
  int64_t head = c.layout.head;
  ArrayRef<BlockAttr> blocks =
      c.layout.forms.keys[c.layout.forms.branches[branch].key];
  if (!c.layout.actsByHead || blocks.empty() || !keyLanes(c.op).isEmpty() ||
      head % c.lanes() != 0)
    return false;
  PairsAttr lanes = blocks[0].getLanes();
  bool fades = blocks[0].getKind() == BlockKind::Decay;
  bool isWhole =
      fades ? lanes.getCount() == head && lanes.getStep() == 1
            : 2 * lanes.getCount() == head && areVectorPairs(lanes, c.lanes());
  return isWhole && llvm::all_of(blocks, [&](BlockAttr block) {
           // Phases that are rounded as elsewhere are rounded one by one.
           bool isRounded =
               !fades && c.kernel.tables[block.getRates()].element.isF32();
           return block.getLanes() == lanes && block.kGain() == 1 &&
                  block.getKeys() != KeyPlace::Cached && !isRounded &&
                  block.getKind() ==
                      (fades ? BlockKind::Decay : BlockKind::Turn);
         });
}

/// What fades lane by lane, from the lane `at` on, on key `number` at `own`.
Num DecodeChunk::computedFactors(int64_t branch, Num row, const Place &own,
                                 Num number, Num at) const {
  Emitter &e = c.e;
  int64_t form = c.layout.forms.branches[branch].key;
  ArrayRef<BlockAttr> blocks = c.layout.forms.keys[form];
  Pointer anchors =
      split.scratch.bytes(row * (c.layout.anchors * 8) +
                          (split.at.anchors + form * split.at.anchorBytes));
  auto time = [&](int64_t slot) {
    return loadSlot(e, c.columnSlot(slot, row), number, 1,
                    c.layout.columnSlots[slot]);
  };
  auto anchor = [&](BlockAttr block) {
    return anchorOf(blocks, block, anchors);
  };
  Action action = {blocks, false, c.layout.head, time, Num()};
  action.anchor = anchor;
  Num factors;
  for (BlockAttr block : blocks) {
    Num more = emitFactor(e, action, block, c.tables, own, at, c.lanes());
    factors = factors ? factors * more : more;
  }
  return factors;
}

/// The turn of the pairs from `at` on of key `number` at `own`.
CosSin DecodeChunk::computedTurn(int64_t branch, Num row, const Place &own,
                                 Num number, Num at) const {
  Emitter &e = c.e;
  CosSin turn;
  for (BlockAttr block :
       c.layout.forms.keys[c.layout.forms.branches[branch].key]) {
    int64_t slot = block.getT();
    Num time = loadSlot(e, c.columnSlot(slot, row), number, 1,
                        c.layout.columnSlots[slot]);
    Num rates = c.tables.rates(c.kernel.tables[block.getRates()], own,
                               at + block.getRateOffset(), c.lanes());
    CosSin more = emitCosSin(e, time, rates);
    turn = turn.cos ? composed(turn, more) : more;
  }
  return turn;
}

KeySource DecodeChunk::computedSource(int64_t branch, Num row) const {
  int64_t lanes = c.lanes(), head = c.layout.head;
  BlockAttr block = c.layout.forms.keys[c.layout.forms.branches[branch].key][0];
  PairsAttr pairs =
      block.getKind() == BlockKind::Turn ? block.getLanes() : PairsAttr();
  Num last = count - 1;
  KeyRows cached = cachedRows();
  KeySource source;
  source.open = [=, this](Num number) {
    number = min(number, last);
    Pointer from = cached.row(number);
    Place own = place(number);
    own.head = c.rowHeads.load(row);
    // Their times are more bytes than the keys, and no hardware foresees rows
    // that are read side by side.
    constexpr int64_t ahead = 8; // keys
    if (block.getFamily())
      for (int64_t line = 0; line < head; line += 8)
        prefetch(c.tables.timesAt(
            c.kernel.tables[block.getT()], own,
            c.e.index(block.getMember() + line + ahead * head)));
    auto acted = [=, this](Num at) -> Nums {
      if (!pairs)
        return {c.e.convert(from.load(at, lanes), c.e.f32) *
                computedFactors(branch, row, own, number, at)};
      auto [x, y] = loadPairs(from, pairs, at, lanes);
      std::tie(x, y) = turned(computedTurn(branch, row, own, number, at), x, y);
      return {x, y};
    };
    return KeySource::Key{from, {}, acted};
  };
  source.parts.push_back(
      {pairs ? pairs.getCount() : c.layout.head, lanes,
       [=](Num at) { return pairs ? pairColumns(pairs, at, lanes) : Nums{at}; },
       [](const KeySource::Key &key, Num at) { return key.acted(at); }});
  return source;
}

void DecodeChunk::emitComputedProducts(int64_t branch) const {
  Emitter &e = c.e;
  BlockAttr block = c.layout.forms.keys[c.layout.forms.branches[branch].key][0];
  bool apart =
      block.getKind() == BlockKind::Turn && block.getLanes().getStep() == 2;
  bool isOrdered = apart == split.keysInPairs(c.layout);
  int64_t lanes = c.lanes(), head = c.layout.head;
  Pointer ordered = isOrdered ? Pointer() : frameSlots(e, e.f32, head);
  e.loop(0, rows, 1, [&](Num row) {
    TileContext inRow = c;
    if (!isOrdered) {
      Pointer own = c.queries + row * split.at.queryWidth;
      e.loop(0, e.index(head), lanes,
             [&](Num d) { ordered.store(d, own.load(d, lanes)); });
      emitPairOrder(ordered, e.index(1), head, head, lanes, /*back=*/!apart);
      inRow.queries = ordered + (e.index(0) - row * split.at.queryWidth);
    }
    DecodeChunk{inRow, split, rows, first, count}.emitRow(
        row, computedSource(branch, row));
  });
}

void DecodeChunk::emitDirectProducts(int64_t branch) const {
  Emitter &e = c.e;
  if (!c.layout.actsByHead)
    return emitProducts(directSource(branch, e.index(0)));
  e.loop(0, rows, 1, [&](Num row) { emitRow(row, directSource(branch, row)); });
}

} // namespace torsor
