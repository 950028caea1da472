// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices by which pairs pick rows of tables, as runs along the keys.
#include "codegen/cpu/PairRuns.h"

#include "codegen/cpu/Gather.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

/// Elements of the last axis of a table that bind wrote, if it is `index` that
/// walks it: they lie one behind the other. Else 0.
int64_t PairRuns::denseElements(LookupOp lookup, Value index) const {
  int64_t count =
      cast<MemRefType>(lookup.getTable().getType()).getShape().back();
  const Table *table = c.kernel.find(lookup.getTable());
  bool isLast = lookup.getIndices().back() == index &&
                llvm::count(lookup.getIndices(), index) == 1;
  bool isDense = table && table->info.getSource() == TableSource::Bind &&
                 table->element.isF32() && lookup.getType().isF32();
  return isLast && isDense && !ShapedType::isDynamic(count) ? count : 0;
}

PairRuns::PairRuns(const TileContext &c, Region &region, bool yielded)
    : c(c), block(region.front()) {
  bool all = true;
  for (Operation &op : block) {
    if (auto dot = dyn_cast<RowDotOp>(op); dot && dot.getByLane())
      all &= add(dot.getRow(), dot.getCount());
    if (auto lookup = dyn_cast<LookupOp>(op))
      for (Value index : lookup.getIndices())
        if (auto steps = stepsOfValue(index); steps && steps->key)
          add(index, denseElements(lookup, index));
  }
  if (yielded)
    all &= add(block.getTerminator()->getOperand(0), c.layout.valueRows);
  if (!all)
    runs.clear();
}

bool PairRuns::add(Value index, int64_t count) {
  auto steps = stepsOfValue(index);
  if (!steps)
    return false;
  for (Run &run : runs)
    if (run.index == index) {
      if (count)
        run.count = run.count ? std::min(run.count, count) : count;
      return true;
    }
  runs.push_back({index, *steps, count});
  return true;
}

const PairRuns::Run *PairRuns::find(Value index) const {
  auto at =
      llvm::find_if(runs, [&](const Run &run) { return run.index == index; });
  return at == runs.end() ? nullptr : &*at;
}

bool PairRuns::isIndexSlot(Region &slots, unsigned number) const {
  Value slot = slots.front().getTerminator()->getOperand(number);
  while (Operation *op = slot.getDefiningOp()) {
    if (!isa<arith::TruncIOp, arith::ExtSIOp>(op))
      return false;
    slot = op->getOperand(0);
  }
  return cast<BlockArgument>(slot).getArgNumber() <= 1;
}

std::optional<IndexSteps>
PairRuns::stepsOfArgument(BlockArgument argument) const {
  AttentionOp op = c.op;
  unsigned rows = c.layout.rowSlots.size(),
           columns = c.layout.columnSlots.size();
  int64_t first = int64_t(block.getNumArguments()) - rows - columns - 2;
  int64_t number = int64_t(argument.getArgNumber()) - first;
  if (number < 0 || !isa<IntegerType>(argument.getType()))
    return std::nullopt;
  if (number < 2)
    return number ? IndexSteps{0, 1} : IndexSteps{1, 0};
  number -= 2;
  if (number < rows)
    return isIndexSlot(op.getRows(), number) ? std::optional(IndexSteps{1, 0})
                                             : std::nullopt;
  number -= rows;
  return isIndexSlot(op.getColumns(), number) ? std::optional(IndexSteps{0, 1})
                                              : std::nullopt;
}

std::optional<IndexSteps> PairRuns::stepsOfValue(Value value) const {
  if (matchPattern(value, m_Constant()))
    return IndexSteps{};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return stepsOfArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return stepsOfValue(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::nullopt;
  auto a = stepsOfValue(op->getOperand(0)), b = stepsOfValue(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  // Of two that change together the sum may change by two, or not at all.
  if ((a->row && b->row) || (a->key && b->key))
    return std::nullopt;
  bool isSum = isa<arith::AddIOp, arith::SubIOp>(op);
  bool isChanging = (a->row || a->key) && (b->row || b->key);
  if (!isSum && isChanging)
    return std::nullopt;
  int sign = isa<arith::SubIOp>(op) ? -1 : 1;
  return IndexSteps{a->row + sign * b->row, a->key + sign * b->key};
}

Num PairRuns::evaluate(Value value, Num i, Num j) const {
  Emitter &e = c.e;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return e.index(constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return stepsOfArgument(argument)->key ? j : i;
  Operation *op = value.getDefiningOp();
  Num a = evaluate(op->getOperand(0), i, j);
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return a;
  Num b = evaluate(op->getOperand(1), i, j);
  return isa<arith::AddIOp>(op)    ? a + b
         : isa<arith::SubIOp>(op)  ? a - b
         : isa<arith::MinSIOp>(op) ? min(a, b)
                                   : max(a, b);
}

Num PairRuns::indexOf(const Run &run, Num i, Num key) const {
  return evaluate(run.index, i, c.place.sequence.keyIndex + key);
}

Num PairRuns::indexAt(size_t run, Num row, Num key) const {
  return indexOf(runs[run], c.indices.load(row), key);
}

std::array<Num, 4> PairRuns::corners(const Run &run, Num row, Num lastRow,
                                     Num key, Num last) const {
  Num low = c.indices.load(row), high = c.indices.load(lastRow);
  return {indexOf(run, low, key), indexOf(run, low, last),
          indexOf(run, high, key), indexOf(run, high, last)};
}

static std::pair<Num, Num> extremes(ArrayRef<Num> ends) {
  Num least = ends[0], most = ends[0];
  for (Num end : ends) {
    least = min(least, end);
    most = max(most, end);
  }
  return {least, most};
}

std::optional<std::pair<Num, Num>>
PairRuns::bounds(RowDotOp dot, Num row, Num lastRow, Num key, Num last) const {
  const Run *run = dot.getByLane() ? find(dot.getRow()) : nullptr;
  if (!run)
    return std::nullopt;
  return extremes(corners(*run, row, lastRow, key, last));
}

PairRuns::Shape PairRuns::shape(Num row, int64_t rows, Num key,
                                Num keys) const {
  Emitter &e = c.e;
  Shape shape = {c.runsOn, c.runsOn};
  for (const Run &run : runs) {
    std::array<Num, 4> ends =
        corners(run, row, row + (rows - 1), key, key + keys - 1);
    auto [least, most] = extremes(ends);
    shape.isEqual = shape.isEqual & (least == most);
    Num way = (keys - 1) * int64_t(run.steps.key);
    Num straight = (ends[1] - ends[0] == way) & (ends[3] - ends[2] == way);
    if (!run.steps.key)
      straight = e.constant(e.i1, int64_t(0));
    if (run.count)
      straight = straight & (least >= 0) & (most < run.count);
    shape.isStraight = shape.isStraight & straight;
  }
  return shape;
}

/// The lanes the other way round.
static Num reversed(Emitter &e, Num vector) {
  SmallVector<int32_t> back;
  for (int32_t lane = vector.lanes() - 1; lane >= 0; --lane)
    back.push_back(lane);
  return e.shuffle(vector, vector, back);
}

/// The product of row `row` with the row of the table that the run picks.
Num PairRuns::emitDot(RowDotOp dot, const Run &run, Num row, Num key) const {
  Emitter &e = c.e;
  int64_t lanes = c.lanes();
  for (auto [n, product] : llvm::enumerate(c.layout.products)) {
    if (product.table != dot.getTable() || product.side != dot.getSide())
      continue;
    bool isKey = product.side == Side::Key;
    Pointer from = c.products[n] + (isKey ? key : row) * product.padded;
    Num index = indexOf(run, c.indices.load(row), first);
    if (!straight)
      return emitPick(e, from, index, product.rows, lanes,
                      isKey ? product.padded : 0);
    if (isKey) { // each key has a row of products of its own
      Pointer own = from + (index + (key - first) * int64_t(run.steps.key));
      return gather(own,
                    e.iota(e.i32, lanes) * (product.padded + run.steps.key));
    }
    if (run.steps.key > 0)
      return (from + index).load(key - first, lanes);
    Num loaded = (from + (index - (lanes - 1))).load(first - key, lanes);
    return reversed(e, loaded);
  }
  return {};
}

/// A lookup whose last index runs along the keys, as a load.
Num PairRuns::emitStraight(LookupOp lookup, Nums indices, Num row, Num key,
                           const Place &place) const {
  Emitter &e = c.e;
  const Run *run = find(lookup.getIndices().back());
  if (!run || !denseElements(lookup, run->index) ||
      llvm::any_of(ArrayRef(indices).drop_back(),
                   [](Num index) { return index.isVector(); }))
    return {};
  bool falls = run->steps.key < 0;
  Num index = indexOf(*run, c.indices.load(row), first) +
              (key - first) * int64_t(run->steps.key);
  if (falls)
    index = index - (c.lanes() - 1);
  indices.back() = e.convert(index, indices.back().element());
  Num loaded = c.tables.lookup(*c.kernel.find(lookup.getTable()), place,
                               indices, lookup.getType(), c.lanes());
  return falls ? reversed(e, loaded) : loaded;
}

Num PairRuns::emitOp(Operation &op, ArrayRef<Num> operands, Num row, Num key,
                     const Place &place) const {
  if (auto dot = dyn_cast<RowDotOp>(op)) {
    const Run *run = dot.getByLane() ? find(dot.getRow()) : nullptr;
    return run ? emitDot(dot, *run, row, key) : Num();
  }
  auto lookup = dyn_cast<LookupOp>(op);
  if (!lookup)
    return {};
  if (place.keyTokens) // the key's own elements
    return {};
  Nums indices(operands.drop_front()); // behind the table
  if (straight)
    return emitStraight(lookup, indices, row, key, place);
  bool changed = false;
  for (auto [n, index] : llvm::enumerate(lookup.getIndices()))
    if (const Run *run = find(index)) {
      Num equal = indexOf(*run, c.indices.load(row), first);
      indices[n] = c.e.convert(equal, indices[n].element());
      changed = true;
    }
  if (!changed)
    return {};
  return c.tables.lookup(*c.kernel.find(lookup.getTable()), place, indices,
                         lookup.getType());
}

} // namespace torsor
