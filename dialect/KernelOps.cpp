// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of the kernel level.
#include "dialect/TorsorDialect.h"

using namespace mlir;

namespace torsor {
namespace {

/// The types that the terminator of a region yields.
SmallVector<Type> yielded(Region &region) {
  if (region.empty() || region.front().empty())
    return {};
  auto yield = dyn_cast<YieldOp>(region.front().back());
  return yield ? SmallVector<Type>(yield.getValues().getTypes())
               : SmallVector<Type>();
}

bool isSlotType(Type type) {
  return type.isInteger(64) || type.isInteger(32) || type.isInteger(1) ||
         type.isF32() || type.isF64();
}

/// Operations that have a meaning in some regions only (row_dot R1, path R1,
/// content R1).
LogicalResult verifyReaders(AttentionOp op) {
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    bool isRow = &region == &op.getRows(),
         isColumn = &region == &op.getColumns();
    for (auto dot : region.getOps<RowDotOp>())
      if ((isRow && dot.getSide() != Side::Query) ||
          (isColumn && dot.getSide() != Side::Key))
        return dot.emitOpError("reads the vector of the other side");
    if (!isRow && !isColumn)
      for (auto content : region.getOps<ContentOp>())
        return content.emitOpError("stands in 'rows' and 'columns' only");
    int64_t paths =
        &region == &op.getLogit() ? yielded(op.getPath()).size() : 0;
    for (auto path : region.getOps<PathOp>())
      if (int64_t(path.getNumber()) >= paths)
        return path.emitOpError("reads sum ")
               << path.getNumber() << ", but there are " << paths << " here";
  }
  return success();
}

/// Norms, gains by lane, sums over paths, vectors added to values, divisors.
LogicalResult verifyExtras(AttentionOp op, ArrayRef<Type> rows,
                           ArrayRef<Type> pair) { // attention R4, R5
  auto isTable = [&](int64_t number) {
    return number >= 0 && number < int64_t(op.getTables().size());
  };
  SmallVector<int64_t> tables;
  if (auto norm = op.getNorm())
    for (int64_t number : {norm->getQ(), norm->getK()})
      if (number != -1)
        tables.push_back(number);
  for (auto number : {op.getLaneGainQ(), op.getLaneGainK(), op.getValueTable()})
    if (number)
      tables.push_back(int64_t(*number));
  for (int64_t number : tables)
    if (!isTable(number))
      return op.emitOpError("table ") << number << " does not exist";
  if (!op.getDivide().empty() && !op.getLinear())
    return op.emitOpError("'divide' stands with 'linear' only");
  if (op.getValueRow().empty() != !op.getValueTable())
    return op.emitOpError("'value_row' and 'value_table' stand together");
  Builder b(op.getContext());
  Type f32 = b.getF32Type();
  SmallVector<Type> scored = {f32}, divided = {f32};
  scored.append(pair.begin(), pair.end());
  divided.append(rows.begin(), rows.end());
  for (auto [region, name, arguments, result] :
       {std::tuple(&op.getPath(), "path", ArrayRef<Type>(scored), f32),
        std::tuple(&op.getValueRow(), "value_row", pair, Type(b.getI32Type())),
        std::tuple(&op.getDivide(), "divide", ArrayRef<Type>(divided), f32)}) {
    if (region->empty())
      continue;
    if (region->getArgumentTypes() != TypeRange(arguments))
      return op.emitOpError("region '")
             << name << "' must take the indices and slots that it may read";
    SmallVector<Type> results = yielded(*region);
    bool one = region == &op.getPath() || results.size() == 1;
    if (results.empty() || !one ||
        !llvm::all_of(results, [&](Type type) { return type == result; }))
      return op.emitOpError("region '") << name << "' must yield " << result;
  }
  return verifyReaders(op);
}

LogicalResult verifyLanes(Operation *op, int64_t width,
                          BlockAttr block) { // attention R6
  PairsAttr at = block.getLanes();
  bool paired = block.getKind() == BlockKind::Turn ||
                block.getKind() == BlockKind::Jordan;
  int64_t reach = (at.getCount() - 1) * at.getStep();
  int64_t links =
      paired ? (block.getOrder() - 1) * (at.getSecond() - at.getFirst()) : 0;
  auto isLane = [&](int64_t lane) { return lane >= 0 && lane < width; };
  if (at.getCount() == 0)
    return success();
  bool fits = at.getCount() >= 1 && isLane(at.getFirst()) &&
              isLane(at.getFirst() + reach) &&
              (!paired || at.getSecond() != at.getFirst()) &&
              ((at.getSecond() < 0 && !paired) ||
               (isLane(at.getSecond()) && isLane(at.getSecond() + reach))) &&
              isLane(at.getFirst() + links) &&
              isLane(at.getFirst() + links + reach);
  if (fits && (block.getKind() != BlockKind::Jordan || block.getOrder() >= 2))
    return success();
  return op->emitOpError("a block leaves the lanes of the head: ") << block;
}

LogicalResult verifyBlock(AttentionOp op, BlockAttr block, ArrayRef<Type> rows,
                          ArrayRef<Type> columns) { // attention R2
  auto isTime = [](ArrayRef<Type> slots, int64_t slot) {
    return slot >= 0 && slot < int64_t(slots.size()) &&
           (slots[slot].isInteger(64) || slots[slot].isF64());
  };
  auto isTable = [&](int64_t number, TableSource *source = nullptr) {
    if (number < 0 || number >= int64_t(op.getTables().size()))
      return false;
    auto info = dyn_cast<TableAttr>(op.getTableInfo()[number]);
    return !source || (info && info.getSource() == *source);
  };
  int64_t width = cast<MemRefType>(op.getQ().getType()).getShape().back();
  if (failed(verifyLanes(op, width, block)))
    return failure();
  bool hasVectors = block.getKind() == BlockKind::Plane ||
                    block.getKind() == BlockKind::Basis;
  if (hasVectors && !isTable(block.getVectors()))
    return op.emitOpError("table ") << block.getVectors() << " does not exist";
  if (block.getKeyVectors() >= 0 && !isTable(block.getKeyVectors()))
    return op.emitOpError("table ")
           << block.getKeyVectors() << " does not exist";
  if (!block.acts())
    return success();
  TableSource scan = TableSource::Scan;
  if (block.getFamily()) {
    if (!isTable(block.getS(), &scan) || !isTable(block.getT(), &scan))
      return op.emitOpError("the times of a family must be tables of a running "
                            "sum, but they are ")
             << block.getS() << " and " << block.getT();
  } else if (!isTime(rows, block.getS()) || !isTime(columns, block.getT())) {
    return op.emitOpError("the times of a block must be slots of type i64 or "
                          "f64, but they are ")
           << block.getS() << " and " << block.getT();
  }
  if (!isTable(block.getRates()))
    return op.emitOpError("table ") << block.getRates() << " does not exist";
  return success();
}

} // namespace

LogicalResult ScanOp::verify() {
  ArrayRef<BlockArgument> arguments = getTerm().getArguments();
  bool fits = arguments.size() == 6; // scan R1
  for (auto [n, argument] : llvm::enumerate(arguments))
    fits &= argument.getType().isInteger(64) ||
            (n == 1 && argument.getType().isF64());
  SmallVector<Type> terms = yielded(getTerm());
  if (!fits || terms.empty() ||
      !llvm::all_of(terms, [](Type type) { return type.isF64(); }))
    return emitOpError("its term must take j, t, g, b, n and h and yield f64");
  if (getTableInfo().size() != getTables().size()) // scan R2
    return emitOpError("describes ")
           << getTableInfo().size() << " tables, but has "
           << getTables().size();
  return success();
}

LogicalResult RebaseOp::verify() {
  int64_t tables = getTables().size();
  if (int64_t(getTableInfo().size()) != tables) // rebase R2
    return emitOpError("describes ")
           << getTableInfo().size() << " tables, but has " << tables;
  int64_t width = cast<MemRefType>(getKCache().getType()).getShape().back();
  for (Attribute attr : getBlocks()) {
    auto block = dyn_cast<BlockAttr>(attr);
    bool turns = block && (block.getKind() == BlockKind::Turn ||
                           block.getKind() == BlockKind::Plane);
    if (!turns || block.getS() >= 0 || block.getT() >= 0 ||
        block.qGain() != 1 || block.kGain() != 1) // rebase R1
      return emitOpError("only turns and planes move keys, by the shift alone "
                         "and without gains, but a block is ")
             << attr;
    if (failed(verifyLanes(*this, width, block)))
      return failure();
    auto isTable = [&](int64_t n) { return n >= 0 && n < tables; };
    bool isPlane = block.getKind() == BlockKind::Plane;
    if (!isTable(block.getRates()) ||
        (isPlane && !isTable(block.getVectors()))) // rebase R2
      return emitOpError("a block names a table that does not exist: ")
             << block;
  }
  return success();
}

LogicalResult EmbeddingOp::verify() {
  Block &block = getElement().front();
  bool fits = block.getNumArguments() == 6; // embedding R1
  for (auto [n, argument] : llvm::enumerate(block.getArguments()))
    fits &= argument.getType().isInteger(64) ||
            (n == 1 && argument.getType().isF64());
  SmallVector<Type> lanes = yielded(getElement());
  int64_t width = cast<MemRefType>(getO().getType()).getShape().back();
  fits &= lanes.size() == 1 || int64_t(lanes.size()) == width;
  if (!fits || !llvm::all_of(lanes, [](Type type) { return type.isF32(); }))
    return emitOpError("its element must take j, t, g, b, n and lane and yield "
                       "one f32 or ")
           << width;
  if (getTableInfo().size() != getTables().size()) // embedding R2
    return emitOpError("describes ")
           << getTableInfo().size() << " tables, but has "
           << getTables().size();
  return success();
}

LogicalResult AttentionOp::verify() {
  SmallVector<Type> rows = yielded(getRows()), columns = yielded(getColumns());
  for (ArrayRef<Type> slots : {ArrayRef<Type>(rows), ArrayRef<Type>(columns)})
    for (Type type : slots)
      if (!isSlotType(type)) // attention R1
        return emitOpError("a slot must be i64, i32, i1, f32 or f64, but is ")
               << type;
  Builder b(getContext());
  SmallVector<Type> pair = {b.getI32Type(), b.getI32Type()};
  pair.append(rows);
  pair.append(columns);
  for (auto [region, name, result] :
       {std::tuple(&getBranch(), "branch", Type(b.getI32Type())),
        std::tuple(&getInit(), "init", Type(b.getF32Type())),
        std::tuple(&getMask(), "mask", Type(b.getI1Type())),
        std::tuple(&getLogit(), "logit", Type(b.getF32Type()))}) {
    if (region->empty())
      continue;
    SmallVector<Type> expected = pair;
    if (region == &getLogit())
      expected.insert(expected.begin(), b.getF32Type());
    if (region->getArgumentTypes() != TypeRange(expected))
      return emitOpError("region '")
             << name << "' must take the indices as i32 and then every slot";
    SmallVector<Type> results = yielded(*region);
    if (results.size() != 1 || results[0] != result)
      return emitOpError("region '") << name << "' must yield one " << result;
  }
  if (failed(verifyExtras(*this, rows, pair)))
    return failure();
  if (getTableInfo().size() != getTables().size()) // attention R3
    return emitOpError("describes ")
           << getTableInfo().size() << " tables, but has "
           << getTables().size();
  for (Attribute info : getTableInfo())
    if (!isa<TableAttr>(info))
      return emitOpError("'table_info' must hold #torsor.table");
  for (ArrayAttr list : {getVisible(), getFull()})
    for (Attribute interval : list)
      if (!isa<IntervalAttr>(interval))
        return emitOpError("ranges must be #torsor.interval");
  for (Attribute branch : getBranches()) {
    auto blocks = dyn_cast<ArrayAttr>(branch);
    if (!blocks)
      return emitOpError("'branches' must hold lists of blocks");
    for (Attribute block : blocks)
      if (!isa<BlockAttr>(block) ||
          failed(verifyBlock(*this, cast<BlockAttr>(block), rows, columns)))
        return failure();
  }
  return success();
}

} // namespace torsor
