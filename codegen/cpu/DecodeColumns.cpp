// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the keys of a decode chunk bring: indices, slots, products with vectors
// of tables; a vector of keys at a time.
#include "codegen/cpu/ActSteps.h"
#include "codegen/cpu/DecodeChunk.h"
#include "codegen/cpu/DecodePairs.h"
#include "codegen/cpu/Gather.h"
#include "codegen/cpu/KeyPlaces.h"
#include "codegen/cpu/PackKeys.h"
#include "codegen/cpu/Phase.h"
#include "codegen/cpu/Slots.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

/// The plane that alone acts on keys, whose angles are products of a time and a
/// rate of one type; else null.
static BlockAttr onlyPlane(AttentionOp op, const Kernel &kernel,
                           const TileLayout &layout) {
  if (op.getBranches().size() != 1 || !keyLanes(op).isEmpty() ||
      !queryLanes(op).isEmpty() || layout.byHead)
    return {};
  auto blocks = cast<ArrayAttr>(op.getBranches()[0]);
  auto block = blocks.size() == 1 ? cast<BlockAttr>(blocks[0]) : BlockAttr();
  if (!block || block.getKind() != BlockKind::Plane ||
      block.getKeys() == KeyPlace::Cached || block.qGain() != 1 ||
      block.kGain() != 1)
    return {};
  Type rate = kernel.tables[block.getRates()].element;
  bool isWhole =
      rate.isInteger(64) && layout.columnSlots[block.getT()].isInteger(64);
  return isWhole || rate.isF64() ? block : BlockAttr();
}

KeyDots::KeyDots(AttentionOp op, const Kernel &kernel, const TileLayout &layout)
    : plane(onlyPlane(op, kernel, layout)) {
  isNormed = static_cast<bool>(keyLanes(op).norm);
  readsVectors = isNormed || !op.getColumns().getOps<ContentOp>().empty();
  for (Region *region :
       {&op.getInit(), &op.getPath(), &op.getLogit(), &op.getMask()})
    for (auto dot : region->getOps<RowDotOp>())
      readsVectors |= dot.getSide() == Side::Key;
  for (auto dot : op.getColumns().getOps<RowDotOp>()) {
    const Table *table = kernel.find(dot.getTable());
    APInt row;
    if (!matchPattern(dot.getRow(), m_ConstantInt(&row)) ||
        !table->element.isF32() ||
        table->info.getSource() != TableSource::Bind) {
      readsVectors = true;
      continue;
    }
    int64_t number =
        std::clamp<int64_t>(row.getSExtValue(), 0, int64_t(dot.getCount()) - 1);
    dots.push_back({dot, table, number, hasAxis(*table, "H")});
  }
  planeDots = dots.size();
  if (!plane)
    return;
  const Table &vectors = kernel.tables[plane.getVectors()];
  for (int64_t n : {0, 1})
    dots.push_back({RowDotOp(), &vectors, n, hasAxis(vectors, "H")});
}

/// Writes a vector of a plane to the lanes that it turns.
static void emitPlaneVector(const TileContext &c, BlockAttr block,
                            const Place &place, int64_t number, Pointer to) {
  const Table &vectors = c.kernel.tables[block.getVectors()];
  int64_t width = countLanes(block);
  c.e.loop(0, c.e.index(width), 1, [&](Num n) {
    to.store(laneOf(block, n),
             c.tables.rates(vectors, place, n + number * width, 1));
  });
}

/// Rows of tables as rows of q.
void DecodeSplit::emitDotRows(const TileContext &c, Num rows) const {
  int64_t width = at.queryWidth, head = c.layout.head, lanes = c.lanes();
  for (auto [n, dot] : llvm::enumerate(dots.dots)) {
    Pointer to = dotRows(c, n);
    if (width != head || !dot.op)
      e.fill(to, e.index(c.layout.rows * width * 4), 0);
    int64_t first = dot.row * head;
    e.loop(0, dot.byHead ? rows : e.index(1), 1, [&](Num row) {
      Place place = c.place;
      place.head = c.rowHeads.load(row);
      Pointer own = to + row * width;
      if (!dot.op)
        return emitPlaneVector(c, dots.plane, place, dot.row, own);
      auto piece = [&](Num at, int64_t count) {
        own.store(at, c.tables.rates(*dot.table, place, at + first, count));
      };
      int64_t whole = head / lanes * lanes;
      e.loop(0, e.index(whole), lanes, [&](Num at) { piece(at, lanes); });
      e.loop(whole, e.index(head), 1, [&](Num at) { piece(at, 1); });
    });
    if (keysInPairs(c.layout) && !dots.isNormed)
      emitPairOrder(to, dot.byHead ? rows : e.index(1), width,
                    head / lanes * lanes, lanes, /*back=*/false);
  }
}

Pointer DecodeSplit::dotRows(const TileContext &c, int64_t dot) const {
  return scratch.bytes(at.dotRows).as(e.f32) +
         dot * c.layout.rows * at.queryWidth;
}

Pointer DecodeSplit::dotScores(const TileContext &c, int64_t dot) const {
  return scratch.bytes(at.dotScores).as(e.f32) +
         dot * c.layout.rows * decodeChunk;
}

void DecodeChunk::emitVectors() const {
  Emitter &e = c.e;
  if (c.layout.readsKeys && split.dots.readsVectors)
    e.loop(0, alignUp(count, c.lanes()), 1, [&](Num number) {
      emitKeyVector(c, keyLanes(c.op), place(number),
                    split.keyRow(inSplit(min(number, count - 1))), number,
                    split.isActed);
    });
  KeyRows rowsOfKeys = cachedRows();
  if (split.dots.isNormed && !split.dots.dots.empty()) {
    rowsOfKeys = {frameSlots(e, e.pointer, decodeChunk), e.f32};
    listRows(rowsOfKeys.list, c.contents, decodeChunk);
  }
  KeySource keys = sourceOf(rowsOfKeys);
  DecodeSplit quiet = split; // products with q ask for the next keys
  quiet.asks = e.constant(e.i1, int64_t(0));
  for (auto [n, dot] : llvm::enumerate(split.dots.dots)) {
    TileContext inDot = c;
    inDot.queries = split.dotRows(c, n);
    inDot.queryStride = split.at.queryWidth;
    inDot.scores = split.dotScores(c, n);
    DecodeChunk chunk = {inDot, quiet, rows, first, count};
    if (dot.byHead)
      chunk.emitProducts(keys);
    else
      chunk.emitRow(e.index(0), keys);
  }
}

/// The product of a row of q with a vector of the plane.
Num DecodeChunk::emitPlaneDot(Num row, int64_t number) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), dot = split.dots.planeDots + number;
  bool byHead = split.dots.dots[dot].byHead;
  int64_t width = split.at.queryWidth;
  Pointer query = c.queries + row * width;
  Pointer vector = split.dotRows(c, dot) + (byHead ? row * width : e.index(0));
  Num zero = e.constant(e.vec(lanes, e.f32), 0.0);
  return e.sum(e.loop(0, e.index(width), lanes, {zero},
                      [&](Num at, ArrayRef<Num> carried) -> Nums {
                        return {fma(query.load(at, lanes),
                                    vector.load(at, lanes), carried[0])};
                      })[0]);
}

void DecodeChunk::emitPlane() const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), first = split.dots.planeDots;
  BlockAttr block = split.dots.plane;
  const Table &rates = c.kernel.tables[block.getRates()];
  Type type = c.layout.columnSlots[block.getT()];
  bool byHead = split.dots.dots[first].byHead;
  e.loop(0, rows, 1, [&](Num row) {
    Place place = c.place;
    place.head = c.rowHeads.load(row);
    Num rate = c.tables.rates(rates, place, e.index(block.getRateOffset()), 1);
    Num q1 = e.splat(emitPlaneDot(row, 0), lanes);
    Num q2 = e.splat(emitPlaneDot(row, 1), lanes);
    e.loop(0, count, lanes, [&](Num key) {
      Num time = loadSlot(e, c.columnSlot(block.getT(), row), key, lanes, type);
      // The product of both, whichever is the rate.
      CosSin turn = emitCosSin(e, rate, e.convert(time, rate.type()));
      Num cosine = turn.cos - 1.0, sine = turn.sin;
      Num own = byHead ? row * decodeChunk + key : key;
      Num k1 = split.dotScores(c, first).load(own, lanes);
      Num k2 = split.dotScores(c, first + 1).load(own, lanes);
      Num at = row * decodeChunk + key;
      Num score = c.scores.load(at, lanes);
      score = fma(q1, k1 * cosine - k2 * sine, score);
      c.scores.store(at, fma(q2, k1 * sine + k2 * cosine, score));
    });
  });
}

/// What columns read of the vectors of the keys number … number + lanes - 1.
Num DecodeChunk::emitVectorOp(Operation &op, ArrayRef<Num> operands, Num number,
                              Num row) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes(), width = c.layout.head;
  if (isa<ContentOp>(op)) {
    Num lane = max(min(operands[0], width - 1), 0);
    if (!lane.isVector())
      lane = e.splat(lane, lanes);
    return gather(c.contents + number * width,
                  lane + e.iota(lane.element(), lanes) * width);
  }
  auto dot = dyn_cast<RowDotOp>(op);
  if (!dot)
    return {};
  for (auto [n, known] : llvm::enumerate(split.dots.dots)) {
    if (!known.op || known.op != dot)
      continue;
    Num at = known.byHead ? row * decodeChunk + number : number;
    return split.dotScores(c, n).load(at, lanes);
  }
  return emitKeyDots(c, dot, row, number, operands[1]);
}

/// The bounds of the lanes.
static Bounds acrossLanes(Emitter &e, Bounds bounds) {
  auto halves = [&](Num vector, int64_t n, bool upper) {
    SmallVector<int32_t> mask;
    for (int64_t lane = 0; lane < n; ++lane)
      mask.push_back(int32_t(upper ? lane + n : lane));
    return e.shuffle(vector, vector, mask);
  };
  for (int64_t n = bounds.low.lanes() / 2; n > 1; n /= 2)
    bounds =
        Bounds{halves(bounds.low, n, false), halves(bounds.high, n, false)}
            .join({halves(bounds.low, n, true), halves(bounds.high, n, true)});
  return Bounds{e.lane(bounds.low, 0), e.lane(bounds.high, 0)}.join(
      {e.lane(bounds.low, 1), e.lane(bounds.high, 1)});
}

SmallVector<Bounds> DecodeChunk::emitColumns() const {
  Emitter &e = c.e;
  AttentionOp op = c.op;
  int64_t lanes = c.lanes();
  SmallVector<Type> bounded;
  if (!op.getTile().empty()) {
    bounded.push_back(e.i64);
    llvm::append_range(bounded, c.layout.columnSlots);
  }
  Nums start;
  for (Type type : bounded) {
    Bounds none = Bounds::none(e, type);
    start.append({e.splat(none.low, lanes), e.splat(none.high, lanes)});
  }
  emitVectors();
  KeyPlaces places(e, c.tables.call, c.place.sequence, first, count,
                   decodeChunk, lanes);
  Nums ends = e.loop(
      0, count, lanes, start, [&](Num number, ArrayRef<Num> carried) -> Nums {
        Place at = places.at(c.place, split.indices.keys, number);
        c.keyIndices.store(number, e.convert(at.index, e.i32));
        auto evaluate = [&](Num row, ArrayRef<Num> before) -> Nums {
          if (c.layout.slotsByHead)
            at.head = c.rowHeads.load(row);
          Nums slots = {at.index};
          slots.append(emitSlots(op.getColumns(), c.tables, at, true, false, {},
                                 [&](Operation &op, ArrayRef<Num> operands) {
                                   return emitVectorOp(op, operands, number,
                                                       row);
                                 }));
          for (Num &slot : slots)
            if (!slot.isVector())
              slot = e.splat(slot, lanes);
          Num to = c.layout.slotsByHead ? row * c.slotStride + number : number;
          for (auto [n, slot] : llvm::enumerate(ArrayRef(slots).drop_front()))
            storeSlot(e, c.columnSlots[n], to, slot);
          Nums next;
          for (size_t n = 0; n < bounded.size(); ++n) {
            Bounds bounds =
                Bounds{before[2 * n], before[2 * n + 1]}.with(slots[n]);
            next.append({bounds.low, bounds.high});
          }
          return next;
        };
        if (!c.layout.slotsByHead)
          return evaluate(e.index(0), carried);
        return e.loop(0, rows, 1, carried, evaluate);
      });
  SmallVector<Bounds> bounds;
  for (size_t n = 0; n < ends.size(); n += 2)
    bounds.push_back(acrossLanes(e, {ends[n], ends[n + 1]}));
  return bounds;
}

} // namespace torsor
