// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the attention kernels keep what, and how they are cut into tiles.
#include "codegen/cpu/TileLayout.h"

#include "codegen/cpu/ActSteps.h"

using namespace mlir;

namespace torsor {

/// Cuts `vectors` vectors of a row of v into panels of at most `most`, as even
/// as they can be.
static SmallVector<ValuePanels, 2> cutValues(int64_t vectors, int64_t most) {
  int64_t count = (vectors + most - 1) / most;
  int64_t wide = (vectors + count - 1) / count;
  int64_t wideCount = vectors - (wide - 1) * count;
  SmallVector<ValuePanels, 2> panels = {{0, wideCount, wide}};
  if (wideCount < count)
    panels.push_back({wideCount * wide, count - wideCount, wide - 1});
  return panels;
}

static bool meetInPairs(AttentionOp op, const Target &target) {
  if (op.getValueBlocksAttr()) // acted on in f32
    return false;
  // What fades needs the range and the digits of f32.
  for (ArrayAttr branch : op.getBranches().getAsRange<ArrayAttr>())
    for (BlockAttr block : branch.getAsRange<BlockAttr>())
      if (block.isAnchored())
        return false;
  return target.hasDotBf16 && op.getPlan().getForm() == PlanForm::Tiled &&
         op.getValueRow().empty() &&
         llvm::all_of(ArrayRef<Value>{op.getQ(), op.getK(), op.getV()},
                      [](Value v) { return elementOf(v).isBF16(); });
}

Type TileLayout::storedSlot(Type slot) {
  return slot.isInteger(1) ? IntegerType::get(slot.getContext(), 32) : slot;
}

/// Rows of the table that is added to values.
static int64_t countValueRows(AttentionOp op) {
  if (op.getValueRow().empty())
    return 0;
  Value table = op.getTables()[*op.getValueTable()];
  return cast<MemRefType>(table.getType()).getShape().drop_back().back();
}

/// Whether regions read the vectors of queries, or of keys.
static bool readsContents(AttentionOp op, bool queries) {
  Region &own = queries ? op.getRows() : op.getColumns();
  if (!own.getOps<ContentOp>().empty() || !own.getOps<RowDotOp>().empty())
    return true;
  Side side = queries ? Side::Query : Side::Key;
  for (Region *region :
       {&op.getInit(), &op.getPath(), &op.getLogit(), &op.getMask()})
    for (auto dot : region->getOps<RowDotOp>())
      if (dot.getSide() == side)
        return true;
  return false;
}

/// Words of the anchors of the form that has most.
static int64_t mostAnchors(const Forms &forms) {
  int64_t most = 0;
  for (ArrayRef<BlockAttr> blocks : forms.keys)
    most = std::max(most, anchorWords(blocks));
  return most;
}

/// Whether the heads of a group read a run of keys together, though each sees
/// other keys. Values that are acted on by head are made once for a run.
static bool sharesRuns(AttentionOp op) {
  return op.getPlan().getForm() == PlanForm::Split && !op.getValueBlocksAttr();
}

TileLayout::TileLayout(AttentionOp op, const Target &target)
    : forms(op), anchors(mostAnchors(forms)), lanes(target.lanes),
      rowTile(target.rowTile), panel(target.panel()),
      keys(roundUp(op.getPlan().getKeys(), target.panel())),
      head(widthOf(op.getQ())), value(widthOf(op.getV())),
      byHead(op.getKeysByHead() && !sharesRuns(op)),
      actsByHead(op.getKeysByHead() && !byHead),
      slotsByHead((op.getSlotsByHead() || op.getKeysByHead()) && !byHead),
      pairs(meetInPairs(op, target)), headWords(pairs ? (head + 1) / 2 : head),
      valueVectors((value + lanes - 1) / lanes),
      valuePanels(cutValues(valueVectors, target.vectorTile)),
      rowSlots(yieldedTypes(op.getRows())),
      columnSlots(yieldedTypes(op.getColumns())),
      visibleRanges(op.getVisible().size()), fullRanges(op.getFull().size()),
      products(productTables(op)), paths(yieldedTypes(op.getPath()).size()),
      valueRows(countValueRows(op)), readsQueries(readsContents(op, true)),
      readsKeys(readsContents(op, false)) {
  // What fades must not fade away within a stretch; each costs a pass over the
  // rows.
  anchorKeys = anchors ? std::min(keys, roundUp(64, panel)) : keys;
  anchorStretches = (keys + anchorKeys - 1) / anchorKeys;
  // Whole register tiles, and whole vectors of row statistics.
  rows = roundUp(op.getPlan().getRows(), std::lcm(rowTile, lanes));
  int64_t at = 0;
  auto take = [&](int64_t bytes) {
    int64_t begin = at;
    at = roundUp(at + bytes, 64);
    return begin;
  };
  queries = take(rows * headWords * 4 * int64_t(forms.queries.size()));
  // The rows from a tile's anchor, then those from the block's first query, for
  // each branch.
  int64_t copies = 1 + int64_t(forms.branches.size());
  anchoredQueries = take(anchors ? copies * rows * head * 4 : 0);
  branchScores = take(anchors && !forms.isOne() ? rows * keys * 4 : 0);
  scores = take(rows * keys * 4);
  outputs = take(rows * valueWidth() * 4);
  rowMax = take(rows * lanes * 4);
  rowSum = take(rows * lanes * 4);
  maxima = take(rows * 4);
  alphas = take(rows * 4);
  indices = take(rows * 8);
  rowTokens = take(rows * 8);
  groupRanges = take(groups() * groupWords() * 8);
  slotBytes = roundUp(rows * 8, 64);
  slots = take(slotBytes * rowSlots.size());
  rowHeads = take(rows * 8);
  // Decode keeps the keys of a chunk there.
  contents = take(
      readsQueries || readsKeys ? std::max<int64_t>(rows, 64) * head * 4 : 0);
  queryProducts = at;
  for (const ProductTable &product : products)
    if (product.side == Side::Query)
      take(rows * product.padded * 4);
  pathSums = take(paths * rows * 4);
  valueWeights = take(rows * valueRows * 4);
  bool packs = op.getPlan().getForm() == PlanForm::Tiled;
  keyRows =
      take(packs ? lanes * headWords * 4 * int64_t(forms.keys.size()) : 0);
  keyContents = take(packs && readsKeys ? lanes * head * 4 : 0);
  scratchBytes = at;
}

Num TileLayout::groupBytes(const Call &call, Num keyCount) const {
  int64_t perKey =
      (headWords * int64_t(forms.keys.size()) + valueWidth() / keysPerWord()) *
          4 +
      4;
  int64_t perSlots = 0;
  for (Type slot : columnSlots)
    perSlots += storedSlot(slot).getIntOrFloatBitWidth() / 8;
  for (const ProductTable &product : products)
    if (product.side == Side::Key)
      perKey += product.padded * 4;
  return alignUp(paddedKeys(keyCount) * (slotHeads(call) * perSlots + perKey) +
                     tiles(keyCount) *
                         ((tileBoundsWords() + anchors * anchorStretches) * 8),
                 64);
}

void TileContext::placePacked(const Call &call, Pointer base, Num room) {
  slotStride = padded = layout.paddedKeys(room);
  firstPacked = e.index(0);
  auto take = [&](Type element, Num count) {
    Pointer here = base.as(element);
    base = (here + count).as(e.i8);
    return here;
  };
  keys = take(e.f32,
              padded * (layout.headWords * int64_t(layout.forms.keys.size())));
  values = take(e.f32, padded * layout.valueWidth() / layout.keysPerWord());
  keyIndices = take(e.i32, padded);
  products.resize(layout.products.size());
  for (auto [n, product] : llvm::enumerate(layout.products))
    if (product.side == Side::Key)
      products[n] = take(e.f32, padded * product.padded);
  columnSlots.clear();
  // Wide slots first, so that each lies at a multiple of its size.
  columnSlots.resize(layout.columnSlots.size());
  for (int64_t bytes : {8, 4})
    for (auto [n, slot] : llvm::enumerate(layout.columnSlots)) {
      Type stored = TileLayout::storedSlot(slot);
      if (stored.getIntOrFloatBitWidth() / 8 == bytes)
        columnSlots[n] = take(stored, padded * layout.slotHeads(call));
    }
  tileAnchors = take(e.i64, layout.tiles(room) *
                                (layout.anchors * layout.anchorStretches));
  tileBounds = take(e.i64, e.index(0));
}

void TileContext::takePacked(const TileContext &other, Num later) {
  Num back = e.index(0) - later, tile = e.index(0) - later / layout.keys;
  firstPacked = other.firstPacked + later;
  keys = other.keys + back * layout.headWords;
  keyIndices = other.keyIndices + back;
  for (auto [n, product] : llvm::enumerate(layout.products))
    if (product.side == Side::Key)
      products[n] = other.products[n] + back * product.padded;
  for (auto [own, from] : llvm::zip(columnSlots, other.columnSlots))
    own = from + back;
  tileAnchors =
      other.tileAnchors + tile * (layout.anchorStretches * layout.anchors);
  tileBounds = other.tileBounds + tile * layout.tileBoundsWords();
}

void TileContext::placeScratch(Pointer scratch) {
  auto at = [&](int64_t offset, Type element) {
    return scratch.bytes(offset).as(element);
  };
  queries = at(layout.queries, e.f32);
  anchoredQueries = at(layout.anchoredQueries, e.f32);
  branchScores = at(layout.branchScores, e.f32);
  scores = at(layout.scores, e.f32);
  outputs = at(layout.outputs, e.f32);
  rowMax = at(layout.rowMax, e.f32);
  rowSum = at(layout.rowSum, e.f32);
  maxima = at(layout.maxima, e.f32);
  alphas = at(layout.alphas, e.f32);
  indices = at(layout.indices, e.i64);
  rowTokens = at(layout.rowTokens, e.i64);
  groupRanges = at(layout.groupRanges, e.i64);
  rowHeads = at(layout.rowHeads, e.i64);
  contents = at(layout.contents, e.f32);
  pathSums = at(layout.pathSums, e.f32);
  valueWeights = at(layout.valueWeights, e.f32);
  products.resize(layout.products.size());
  int64_t offset = layout.queryProducts;
  for (auto [n, product] : llvm::enumerate(layout.products))
    if (product.side == Side::Query) {
      products[n] = at(offset, e.f32);
      offset += (layout.rows * product.padded * 4 + 63) / 64 * 64;
    }
  rowSlots.clear();
  for (auto [n, slot] : llvm::enumerate(layout.rowSlots))
    rowSlots.push_back(
        at(layout.slots + n * layout.slotBytes, TileLayout::storedSlot(slot)));
}

} // namespace torsor
