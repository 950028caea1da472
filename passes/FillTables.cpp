// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions `bind` and `prepare`: scalar f64 code that writes tables.
#include "passes/FillInverse.h"
#include "passes/FormKernels.h"
#include "passes/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

namespace {

/// The function that is written, and the values its tables read.
struct FillFunction {
  Value heads, groups, sequence, length; // i64; the last two of `prepare` only
  llvm::DenseMap<Operation *, Value> arguments; // by declaration

  /// The extent of an axis of an argument: computed at the entry, since what
  /// lowers it takes memory of the frame.
  Value extent(Value memory, unsigned axis, Location loc) const {
    Value &known = extents[{memory, axis}];
    if (known)
      return known;
    OpBuilder b = OpBuilder::atBlockBegin(memory.getParentBlock());
    int64_t size = cast<MemRefType>(memory.getType()).getDimSize(axis);
    if (!ShapedType::isDynamic(size))
      return known =
                 arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(size));
    Value extent = memref::DimOp::create(b, loc, memory, axis);
    return known = arith::IndexCastOp::create(b, loc, b.getI64Type(), extent);
  }

private:
  mutable llvm::DenseMap<std::pair<Value, unsigned>, Value> extents;
};

/// Scalars of one table, per head or group where it has that axis.
class FillCode : public ScalarCode {
public:
  FillCode(SchemePlan &plan, Block *block, Location loc,
           const FillFunction &fill, Value head, Value group)
      : ScalarCode(plan, block, loc), fill(fill), head(head), group(group) {}

  Value turns(Value radians);

  /// What stands for a number that a loop counts.
  llvm::DenseMap<Value, Value> counted;

protected:
  FailureOr<Value> leaf(Value value) override;
  Value read(ReadOp op, ValueRange indices) override;
  Value pick(ElementOp op, Value index) override;

private:
  Value real(double value) {
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
  }
  Value clamp(Value index, Value extent) {
    Value last = arith::SubIOp::create(b, loc, extent, this->index(1));
    Value low = arith::MaxSIOp::create(b, loc, index, this->index(0));
    return arith::MinSIOp::create(b, loc, low, last);
  }

  const FillFunction &fill;
  Value head, group;
};

FailureOr<Value> FillCode::leaf(Value value) {
  if (Value number = counted.lookup(value))
    return number;
  auto ambient = value.getDefiningOp<AmbientOp>();
  if (!ambient)
    return Value();
  switch (ambient.getKind()) {
  case Ambient::Head:
    return head;
  case Ambient::Group:
    if (!group) {
      Value size = arith::DivSIOp::create(b, loc, fill.heads, fill.groups);
      group = arith::DivSIOp::create(b, loc, head, size);
    }
    return group;
  case Ambient::Heads:
    return fill.heads;
  case Ambient::Groups:
    return fill.groups;
  case Ambient::Length:
    return fill.length;
  case Ambient::Width:
    return index(plan.head);
  case Ambient::ValueWidth:
    return index(plan.value);
  case Ambient::Score:
  case Ambient::Total:
    break;
  }
  return fail(ambient, "a table that reads the score"), failure();
}

/// Clamps each index to its axis; past the end of a `*` axis the element is 0.
Value FillCode::read(ReadOp op, ValueRange indices) {
  Operation *declaration = op.getTensor().getDefiningOp();
  Value memory = fill.arguments.lookup(declaration);
  if (!memory)
    return fail(op, "a table that reads a tensor declared elsewhere");
  auto type = cast<MemRefType>(memory.getType());
  TableAttr info = plan.arguments.getInfo(declaration, false);
  SmallVector<Value> places;
  Value inside;
  unsigned next = 0;
  for (auto [n, axis] : llvm::enumerate(info.getAxes())) {
    if (axis == "sequence") {
      places.push_back(fill.sequence);
      continue;
    }
    Value extent = fill.extent(memory, n, loc);
    Value at = indices[next++];
    if (axis == "*") {
      Value ok =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, extent);
      inside = inside ? Value(arith::AndIOp::create(b, loc, inside, ok)) : ok;
    }
    places.push_back(clamp(at, extent));
  }
  for (Value &place : places)
    place = arith::IndexCastOp::create(b, loc, b.getIndexType(), place);
  Type element = type.getElementType();
  auto load = [&](OpBuilder &at) -> Value {
    return memref::LoadOp::create(at, loc, memory, places);
  };
  Value value;
  if (inside) {
    // The axis may be empty, so nothing is read before it is known.
    auto guarded = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &at, Location) {
          scf::YieldOp::create(at, loc, load(at));
        },
        [&](OpBuilder &at, Location) {
          Value zero =
              arith::ConstantOp::create(at, loc, at.getZeroAttr(element));
          scf::YieldOp::create(at, loc, zero);
        });
    value = guarded.getResult(0);
  } else {
    value = load(b);
  }
  if (element.isInteger(1))
    return value;
  return convert(value, isa<FloatType>(element) ? Type(b.getF64Type())
                                                : Type(b.getI64Type()));
}

Value FillCode::pick(ElementOp op, Value at) {
  DenseElementsAttr list;
  if (!matchPattern(op.getVector(), m_Constant(&list)))
    return fail(op, "a table that picks an element of a vector by a value");
  Value chosen;
  for (auto [n, element] : llvm::enumerate(list.getValues<Attribute>())) {
    Value value = arith::ConstantOp::create(b, loc, cast<TypedAttr>(element));
    Value reached =
        chosen ? Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                             at, index(n)))
               : Value();
    chosen =
        chosen ? Value(arith::SelectOp::create(b, loc, reached, value, chosen))
               : value;
  }
  return chosen;
}

/// turns * 2^64 of radians, wrapped, to about 64 bits: the product with 1 / 2
/// pi as two f64, its fraction cut in two halves of 32 bits.
Value FillCode::turns(Value radians) {
  constexpr double high = 0.15915494309189535;   // 1 / 2 pi
  constexpr double low = -9.839338337591243e-18; // the rest of it
  Value h = real(high);
  Value product = arith::MulFOp::create(b, loc, radians, h);
  Value minus = arith::NegFOp::create(b, loc, product);
  Value error = math::FmaOp::create(b, loc, radians, h, minus);
  error = math::FmaOp::create(b, loc, radians, real(low), error);
  Value whole = math::FloorOp::create(b, loc, product);
  Value fraction = arith::SubFOp::create(b, loc, product, whole); // in [0, 1)
  Value scale = real(4294967296.0);
  Value scaled = arith::MulFOp::create(b, loc, fraction, scale);
  Value top = math::FloorOp::create(b, loc, scaled);
  Value rest = arith::SubFOp::create(b, loc, scaled, top);
  Value small = math::FmaOp::create(b, loc, error, scale, rest);
  Value bottom = math::RoundEvenOp::create(
      b, loc, arith::MulFOp::create(b, loc, small, scale));
  Type i64 = b.getI64Type();
  Value a = arith::FPToSIOp::create(b, loc, i64, top);
  Value c = arith::FPToSIOp::create(b, loc, i64, bottom);
  a = arith::ShLIOp::create(b, loc, a, index(32));
  return arith::AddIOp::create(b, loc, a, c);
}

/// An empty loop from 0; its number and where its body is written.
std::pair<Value, Block *> openLoop(OpBuilder &b, Location loc, Value count) {
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value one = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
  auto loop = scf::ForOp::create(b, loc, zero, count, one);
  Block *inner = loop.getBody();
  if (inner->mightHaveTerminator())
    inner->getTerminator()->erase();
  return {loop.getInductionVar(), inner};
}

void closeLoop(Block *inner, Location loc) {
  OpBuilder end = OpBuilder::atBlockEnd(inner);
  scf::YieldOp::create(end, loc);
}

/// Writes a table whose last axes are counted by loops.
LogicalResult writeLoops(SchemePlan &plan, const FilledTable &table,
                         const FillFunction &fill, Value out, Value axis,
                         Block *block, Location loc) {
  OpBuilder b = OpBuilder::atBlockEnd(block);
  llvm::DenseMap<Value, Value> counted;
  SmallVector<Value> numbers;
  SmallVector<Block *> blocks = {block};
  for (auto [extent, placeholder] : table.loops) {
    Value count =
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(extent));
    auto [number, inner] = openLoop(b, loc, count);
    counted[placeholder] = number;
    numbers.push_back(number);
    blocks.push_back(inner);
    b.setInsertionPointToEnd(inner);
  }
  bool byGroup = table.axis == "G";
  FillCode code(plan, blocks.back(), loc, fill, byGroup ? Value() : axis,
                byGroup ? axis : Value());
  code.counted = counted;
  OpBuilder &inner = code.builder();
  Value value = code.get(table.elements.front(), table.type.getElementType());
  if (!value)
    return failure();
  SmallVector<Value> places;
  if (table.perSequence)
    places.push_back(fill.sequence);
  if (axis)
    places.push_back(axis);
  places.append(numbers);
  for (Value &place : places)
    place = arith::IndexCastOp::create(inner, loc, inner.getIndexType(), place);
  memref::StoreOp::create(inner, loc, value, out, places);
  for (Block *each : llvm::reverse(ArrayRef(blocks).drop_front()))
    closeLoop(each, loc);
  return success();
}

/// Writes the elements of one table for one head or group, or for all.
LogicalResult writeElements(SchemePlan &plan, const FilledTable &table,
                            const FillFunction &fill, Value out, Value axis,
                            Block *block, Location loc) {
  if (!table.loops.empty())
    return writeLoops(plan, table, fill, out, axis, block, loc);
  bool byGroup = table.axis == "G";
  FillCode code(plan, block, loc, fill, byGroup ? Value() : axis,
                byGroup ? axis : Value());
  OpBuilder &b = code.builder();
  auto place = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
  };
  SmallVector<Value> indices;
  if (table.perSequence)
    indices.push_back(place(fill.sequence));
  if (axis)
    indices.push_back(place(axis));
  bool hasList = int64_t(indices.size()) < table.type.getRank();
  for (auto [n, element] : llvm::enumerate(table.elements)) {
    Value value;
    std::optional<double> constant = constantReal(element);
    if (table.kind == FilledTable::Kind::Turns && constant)
      value = code.index(turnsOf(*constant));
    else if (value = code.get(element); !value)
      return failure();
    if (table.kind == FilledTable::Kind::Turns && !constant)
      value = code.turns(value);
    if (table.kind == FilledTable::Kind::TurnsReal) {
      Value inverse = arith::ConstantOp::create(
          b, loc, b.getF64FloatAttr(0.15915494309189535));
      value = arith::MulFOp::create(b, loc, value, inverse);
    }
    if (table.kind == FilledTable::Kind::Real32)
      value = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
    SmallVector<Value> at = indices;
    if (hasList)
      at.push_back(arith::ConstantOp::create(b, loc, b.getIndexAttr(n)));
    memref::StoreOp::create(b, loc, value, out, at);
  }
  return success();
}

/// A loop over the heads or groups, or none.
LogicalResult writeTable(SchemePlan &plan, const FilledTable &table,
                         const FillFunction &fill, Value out, Block *body,
                         Location loc) {
  if (table.axis.empty())
    return writeElements(plan, table, fill, out, Value(), body, loc);
  OpBuilder b = OpBuilder::atBlockEnd(body);
  auto [number, inner] =
      openLoop(b, loc, table.axis == "G" ? fill.groups : fill.heads);
  if (failed(writeElements(plan, table, fill, out, number, inner, loc)))
    return failure();
  closeLoop(inner, loc);
  return success();
}

/// Writes the tables, which are the arguments of `body` from `firstOut` on.
LogicalResult writeTables(SchemePlan &plan,
                          ArrayRef<const FilledTable *> tables,
                          const FillFunction &fill, Block *body,
                          unsigned firstOut) {
  Location loc = plan.scheme.getLoc();
  llvm::DenseMap<const FilledTable *, Value> outs;
  for (auto [n, table] : llvm::enumerate(tables)) {
    Value out = outs[table] = body->getArgument(firstOut + n);
    int64_t rows = table->type.getRank() ? table->type.getDimSize(0) : 0;
    OpBuilder b = OpBuilder::atBlockEnd(body);
    if (table->inverse)
      emitTransposedInverse(b, loc, outs.lookup(table->inverse), out, rows);
    else if (failed(writeTable(plan, *table, fill, out, body, loc)))
      return failure();
    b.setInsertionPointToEnd(body);
    if (table->isInverted)
      emitInversion(b, loc, out, rows);
  }
  return success();
}

} // namespace

FailureOr<func::FuncOp> fillTables(SchemePlan &plan, OpBuilder &module,
                                   bool perSequence) {
  SmallVector<const FilledTable *> tables = plan.tables.get(perSequence);
  if (tables.empty())
    return func::FuncOp();
  Location loc = plan.scheme.getLoc();
  Type i64 = module.getI64Type();
  SmallVector<Type> types = {i64, i64};
  if (perSequence)
    types.append({i64, i64});
  SmallVector<Attribute> info;
  SmallVector<Operation *> read;
  for (Operation *declaration : plan.arguments.getAll()) {
    // A table reads no token, and `bind` nothing that comes with a call.
    auto input = dyn_cast<InputOp>(declaration);
    if (isa<ClockOp>(declaration) ||
        (input && (!perSequence || input.getPer() == Per::Token)))
      continue;
    read.push_back(declaration);
    types.push_back(plan.arguments.getMemref(declaration));
    info.push_back(plan.arguments.getInfo(declaration, false));
  }
  unsigned firstOut = types.size();
  for (const FilledTable *table : tables) {
    types.push_back(table->type);
    info.push_back(table->info);
  }
  StringRef name = perSequence ? "prepare" : "bind";
  auto function = func::FuncOp::create(
      module, loc, (plan.scheme.getSymName() + "." + name).str(),
      module.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr("torsor.operation", module.getStringAttr(name));
  function->setAttr("torsor.tables", module.getArrayAttr(info));
  Block *body = function.addEntryBlock();
  FillFunction fill;
  fill.heads = body->getArgument(0);
  fill.groups = body->getArgument(1);
  if (perSequence) {
    fill.sequence = body->getArgument(2);
    fill.length = body->getArgument(3);
  }
  unsigned firstMemref = perSequence ? 4 : 2;
  for (auto [n, declaration] : llvm::enumerate(read))
    fill.arguments[declaration] = body->getArgument(firstMemref + n);
  if (failed(writeTables(plan, tables, fill, body, firstOut)))
    return failure();
  OpBuilder end = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(end, loc);
  return function;
}

} // namespace torsor
