// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions over pairs: what neither side decides alone.
#include "passes/KernelRegions.h"
#include "passes/LongSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

Type readType(Type storage) {
  Builder b(storage.getContext());
  if (storage.isInteger(1) || storage.isF64())
    return storage;
  return isa<IntegerType>(storage) ? Type(b.getI64Type())
                                   : Type(b.getF32Type());
}

void copyRange(Operation *declaration, Operation *read) {
  if (!read->getResult(0).getType().isInteger(64))
    return;
  Builder b(declaration->getContext());
  for (StringRef name : {"low", "high"}) {
    auto bound = declaration->getAttrOfType<FloatAttr>(name);
    if (!bound)
      continue;
    double value = bound.getValueAsDouble();
    if (std::abs(value) <= 0x1p53)
      read->setAttr(name, b.getI64IntegerAttr(int64_t(value)));
  }
}

const FilledTable *constantTable(SchemePlan &plan, ElementOp op) {
  const FilledTable *&known = plan.lists[op.getVector()];
  DenseElementsAttr list;
  if (known || !matchPattern(op.getVector(), m_Constant(&list)))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(&plan.scheme.getBody().front());
  SmallVector<Value> elements;
  for (Attribute element : list.getValues<Attribute>())
    elements.push_back(
        arith::ConstantOp::create(b, op.getLoc(), cast<TypedAttr>(element)));
  bool real = isa<FloatType>(list.getElementType());
  known = &plan.tables.request(elements, true,
                               real ? FilledTable::Kind::Real64
                                    : FilledTable::Kind::Integer,
                               VarySet(), false);
  return known;
}

PairCode::PairCode(KernelRegions &regions, Block *block, Location loc,
                   TypeRange before)
    : ScalarCode(regions.plan, block, loc), regions(regions), block(block) {
  for (Type type : before)
    score = block->addArgument(type, loc);
  block->addArgument(b.getI32Type(), loc);
  block->addArgument(b.getI32Type(), loc);
  fixed = block->getNumArguments();
}

Value PairCode::slotArgument(Side side, int64_t slot) {
  if (slot < 0)
    return {};
  BlockArgument &argument = taken[{int(side), slot}];
  if (!argument) {
    SideCode &code = side == Side::Query ? regions.rows : regions.columns;
    argument = block->addArgument(code.slots[slot].here.getType(), loc);
  }
  return argument;
}

void PairCode::finish() {
  unsigned before = block->getNumArguments();
  for (Side side : {Side::Query, Side::Key}) {
    SideCode &code = side == Side::Query ? regions.rows : regions.columns;
    for (auto [n, slot] : llvm::enumerate(code.slots)) {
      BlockArgument argument = block->addArgument(slot.here.getType(), loc);
      if (BlockArgument used = taken.lookup({int(side), int64_t(n)}))
        used.replaceAllUsesWith(argument);
    }
  }
  block->eraseArguments(fixed, before - fixed);
  splitLongSums(*block);
}

bool PairCode::isWide(Value value, int depth) {
  if (auto at = wide.find(value); at != wide.end())
    return at->second;
  // A sum of more terms than this is rounded like any other.
  if (depth > 16)
    return false;
  Operation *op = value.getDefiningOp();
  bool result = false;
  if (op && value.getType().isF64()) {
    VarySet set = plan.varies.of(value);
    bool oneSided = set.isRow() || plan.isColumn(set);
    if (auto time = dyn_cast<TimeOp>(op))
      result = true;
    else if (auto real = dyn_cast<arith::SIToFPOp>(op))
      result = oneSided && set.has(VarySet::Query | VarySet::Key);
    else if (isa<arith::AddFOp, arith::SubFOp>(op))
      result = isWide(op->getOperand(0), depth + 1) &&
               isWide(op->getOperand(1), depth + 1);
    else if (isa<arith::NegFOp>(op))
      result = isWide(op->getOperand(0), depth + 1);
  }
  wide[value] = result;
  return result;
}

Type PairCode::realType(Operation *op) {
  bool isWideHere = false;
  if (isa<arith::CmpFOp, arith::FPToSIOp>(op))
    isWideHere = llvm::any_of(op->getOperands(),
                              [&](Value operand) { return isWide(operand); });
  else
    isWideHere = isWide(op->getResult(0));
  return isWideHere ? Type(b.getF64Type()) : Type(b.getF32Type());
}

/// The query head: a row slot.
Value PairCode::queryHead() {
  Block &body = plan.scheme.getBody().front();
  for (AmbientOp ambient : body.getOps<AmbientOp>())
    if (ambient.getKind() == Ambient::Head)
      return get(ambient);
  OpBuilder front = OpBuilder::atBlockBegin(&body);
  return get(AmbientOp::create(front, loc, front.getI64Type(), Ambient::Head));
}

FailureOr<Value> PairCode::lifted(Operation *op) {
  if (auto total = dyn_cast<PathTotalOp>(op)) {
    auto at = llvm::find(plan.paths, total);
    if (!score || at == plan.paths.end())
      return fail(op, "a sum over a path in this place"), failure();
    return Value(PathOp::create(b, op->getLoc(), b.getF32Type(),
                                at - plan.paths.begin()));
  }
  if (auto dot = dyn_cast<DotOp>(op)) { // left for q and k only: the score
    if (!score)
      return fail(op, "a product of q and k in this place"), failure();
    return score;
  }
  if (auto tabulated = dyn_cast<TabulatedOp>(op)) {
    Value index = get(tabulated.getIndex());
    const FilledTable &table = tableOf(plan, tabulated, false);
    SmallVector<Value> indices;
    if (table.perSequence)
      indices.push_back(this->index(0));
    if (!table.axis.empty())
      indices.push_back(queryHead());
    indices.push_back(index);
    if (llvm::is_contained(indices, Value()))
      return failure();
    return Value(LookupOp::create(b, op->getLoc(), table.type.getElementType(),
                                  regions.kernel.table(table.info, table.type),
                                  indices));
  }
  auto dot = dyn_cast<TableDotOp>(op);
  if (!dot)
    return Value();
  Value index = get(dot.getIndex());
  if (!index)
    return failure();
  // The products of a token are tabulated, but for the keys of a decode: each
  // meets few rows.
  bool byLane = dot.getSide() == Side::Query || !regions.kernel.isDecode();
  const FilledTable &table = tableOf(plan, dot, byLane);
  return Value(RowDotOp::create(
      b, op->getLoc(), b.getF32Type(), dot.getSideAttr(),
      regions.kernel.table(table.info, table.type), index, dot.getCountAttr(),
      byLane ? b.getUnitAttr() : UnitAttr()));
}

FailureOr<Value> PairCode::nearDifference(Value value) {
  auto difference = value.getDefiningOp<arith::SubFOp>();
  if (!difference || !value.getType().isF64() ||
      !llvm::all_of(value.getUsers(),
                    [](Operation *user) { return isa<arith::MulFOp>(user); }))
    return Value();
  Value halves[2];
  for (bool low : {false, true}) {
    SmallVector<Value, 2> sides;
    for (Value operand : difference->getOperands()) {
      VarySet set = plan.varies.of(operand);
      bool isRow = set.isRow() && set.has(VarySet::Query);
      bool isColumn = plan.isColumn(set) && set.has(VarySet::Key);
      if ((!isRow && !isColumn) || !isWide(operand) ||
          operand.getDefiningOp<arith::SIToFPOp>())
        return Value();
      Side side = isRow ? Side::Query : Side::Key;
      SideCode &code = isRow ? regions.rows : regions.columns;
      Value half = slotArgument(side, code.halfSlot(operand, low));
      if (!half)
        return failure();
      sides.push_back(half);
    }
    halves[low] = arith::SubFOp::create(b, value.getLoc(), sides[0], sides[1]);
  }
  return Value(arith::AddFOp::create(b, value.getLoc(), halves[0], halves[1]));
}

FailureOr<Value> PairCode::leaf(Value value) {
  Operation *op = value.getDefiningOp();
  VarySet set = plan.varies.of(value);
  if (!op || set.empty())
    return Value();
  if (FailureOr<Value> near = nearDifference(value); failed(near) || *near)
    return near;
  if (auto ambient = dyn_cast<AmbientOp>(op))
    if (ambient.getKind() == Ambient::Score && score)
      return score;
  if (auto read = dyn_cast<IndexOp>(op)) {
    auto token = read.getToken().getDefiningOp<TokenOp>();
    if (token) {
      bool isKey = token.getSide() == Side::Key;
      return convert(block->getArgument(fixed - (isKey ? 1 : 2)),
                     b.getI64Type());
    }
  }
  if (!set.isRow() && !plan.isColumn(set))
    return lifted(op);
  if (!value.getType().isIntOrFloat())
    return Value();
  Type type = value.getType();
  if (type.isF64() && !isWide(value))
    type = b.getF32Type();
  Side side = set.isRow() ? Side::Query : Side::Key;
  SideCode &code = side == Side::Query ? regions.rows : regions.columns;
  Value argument = slotArgument(side, code.slot(value, type));
  if (!argument)
    return failure();
  return argument;
}

Value PairCode::read(ReadOp op, ValueRange indices) {
  Operation *declaration = op.getTensor().getDefiningOp();
  auto input = dyn_cast<InputOp>(declaration);
  MemRefType type = plan.arguments.getMemref(declaration);
  SmallVector<Value> all;
  bool isKey = false;
  // A back end knows the sequence, and the token of the pair: the index says
  // only that there is one.
  if (input && input.getPer() != Per::Call)
    all.push_back(index(0));
  if (input && input.getPer() == Per::Token) {
    auto token = op.getIndices().front().getDefiningOp<TokenOp>();
    if (!token)
      return fail(op, "a value of a token between key and query");
    isKey = token.getSide() == Side::Key;
  }
  all.append(indices.begin(), indices.end());
  auto made = LookupOp::create(
      b, op.getLoc(), readType(type.getElementType()),
      regions.kernel.table(plan.arguments.getInfo(declaration, isKey), type),
      all);
  copyRange(declaration, made);
  return made;
}

Value PairCode::pick(ElementOp op, Value at) {
  const FilledTable *table = constantTable(plan, op);
  if (!table)
    return fail(op, "an element of a vector, picked by a pair");
  return LookupOp::create(b, op.getLoc(), table->type.getElementType(),
                          regions.kernel.table(table->info, table->type), at);
}

bool PairCode::yield(ValueRange values, Type type) {
  SmallVector<Value> here;
  for (Value value : values) {
    here.push_back(get(value, type));
    if (!here.back())
      return false;
  }
  YieldOp::create(b, loc, here);
  return true;
}

} // namespace torsor
