// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers the arguments of a scheme and collects its tables.
#include "passes/SchemePlan.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace torsor {

SchemeArguments::SchemeArguments(SchemeOp scheme) {
  // Clocks that are read, then inputs, then params, each in their order.
  for (ClockOp clock : scheme.getOps<ClockOp>()) {
    if (clock.getName() == "pos")
      position = clock;
    if (!clock->use_empty())
      all.push_back(clock);
  }
  for (InputOp input : scheme.getOps<InputOp>())
    all.push_back(input);
  for (ParamOp param : scheme.getOps<ParamOp>())
    all.push_back(param);
}

int64_t SchemeArguments::getNumber(Operation *declaration) const {
  return llvm::find(all, declaration) - all.begin();
}

StringRef SchemeArguments::getName(Operation *declaration) {
  return declaration->getAttrOfType<StringAttr>("name").getValue();
}

static SmallVector<StringAttr> axesOf(Operation *declaration) {
  Builder b(declaration->getContext());
  SmallVector<StringAttr> axes;
  auto add = [&](ArrayAttr names) {
    for (StringAttr name : names.getAsRange<StringAttr>())
      axes.push_back(name);
  };
  if (isa<ClockOp>(declaration)) {
    axes.push_back(b.getStringAttr("token"));
  } else if (auto input = dyn_cast<InputOp>(declaration)) {
    if (input.getPer() == Per::Token)
      axes.push_back(b.getStringAttr("token"));
    if (input.getPer() == Per::Sequence)
      axes.push_back(b.getStringAttr("sequence"));
    add(input.getAxes());
  } else {
    add(cast<ParamOp>(declaration).getAxes());
  }
  return axes;
}

TableAttr SchemeArguments::getInfo(Operation *declaration, bool key) const {
  return TableAttr::get(declaration->getContext(), TableSource::Argument,
                        getNumber(declaration), key, axesOf(declaration));
}

MemRefType SchemeArguments::getMemref(Operation *declaration) const {
  SmallVector<int64_t> shape;
  Type element;
  if (auto clock = dyn_cast<ClockOp>(declaration)) {
    shape = {ShapedType::kDynamic, ShapedType::kDynamic}; // rows, tokens
    element = clock.getType().getElement();
  } else {
    auto type = cast<RankedTensorType>(declaration->getResult(0).getType());
    element = type.getElementType();
    if (auto input = dyn_cast<InputOp>(declaration))
      if (input.getPer() != Per::Call) // rows of tokens, or sequences
        shape.push_back(ShapedType::kDynamic);
    shape.append(type.getShape().begin(), type.getShape().end());
  }
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(declaration->getContext(),
                                       ShapedType::kDynamic, strides);
  return MemRefType::get(shape, element, layout);
}

static Type elementOf(FilledTable::Kind kind, Builder &b) {
  switch (kind) {
  case FilledTable::Kind::Real32:
    return b.getF32Type();
  case FilledTable::Kind::Real64:
  case FilledTable::Kind::TurnsReal:
    return b.getF64Type();
  case FilledTable::Kind::Integer:
  case FilledTable::Kind::Turns:
    return b.getI64Type();
  case FilledTable::Kind::Truth:
    return b.getI1Type();
  }
  return {};
}

FilledTable &FilledTables::add(FilledTable::Kind kind, VarySet set,
                               StringRef axis, ArrayRef<int64_t> extents) {
  FilledTable &table = tables.emplace_back();
  table.perSequence = !set.isBound();
  table.number = get(table.perSequence).size() - 1;
  table.kind = kind;
  if (set.has(VarySet::Head | VarySet::Group))
    table.axis = axis;
  Builder b(context);
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> shape;
  auto open = [&](StringRef name) {
    axes.push_back(b.getStringAttr(name));
    shape.push_back(ShapedType::kDynamic);
  };
  if (table.perSequence)
    open("sequence");
  if (!table.axis.empty())
    open(table.axis);
  // An axis is needed even by a single element.
  SmallVector<int64_t> last(extents);
  if (axes.empty() && last.empty())
    last.push_back(1);
  for (int64_t extent : last) {
    axes.push_back(b.getStringAttr(std::to_string(extent)));
    shape.push_back(extent);
  }
  table.type = MemRefType::get(shape, elementOf(kind, b));
  table.info = TableAttr::get(
      context, table.perSequence ? TableSource::Prepare : TableSource::Bind,
      table.number, false, axes);
  return table;
}

const FilledTable &FilledTables::request(ArrayRef<Value> elements, bool isList,
                                         FilledTable::Kind kind, VarySet set,
                                         bool key) {
  StringRef axis = key && !set.has(VarySet::Head) ? "G" : "H";
  for (const FilledTable &table : tables)
    if (table.kind == kind && table.isList == isList && table.loops.empty() &&
        ArrayRef<Value>(table.elements) == elements &&
        (table.axis.empty() || table.axis == axis))
      return table;
  SmallVector<int64_t> extents;
  if (isList)
    extents.push_back(elements.size());
  FilledTable &table = add(kind, set, axis, extents);
  table.elements.assign(elements.begin(), elements.end());
  table.isList = isList;
  return table;
}

const FilledTable &
FilledTables::request(ArrayRef<std::pair<int64_t, Value>> loops, Value element,
                      VarySet set, bool key) {
  StringRef axis = key && !set.has(VarySet::Head) ? "G" : "H";
  for (const FilledTable &table : tables)
    if (!table.isInverted && !table.inverse &&
        ArrayRef<std::pair<int64_t, Value>>(table.loops) == loops &&
        table.elements.front() == element &&
        (table.axis.empty() || table.axis == axis))
      return table;
  SmallVector<int64_t> extents;
  for (auto [extent, number] : loops)
    extents.push_back(extent);
  FilledTable &table = add(FilledTable::Kind::Real32, set, axis, extents);
  table.elements = {element};
  table.loops.assign(loops.begin(), loops.end());
  return table;
}

const FilledTable &FilledTables::requestInverse(int64_t n, Value row,
                                                Value lane, Value element) {
  for (const FilledTable &table : tables)
    if (table.inverse && table.inverse->elements.front() == element)
      return table;
  VarySet loaded(VarySet::Loaded);
  FilledTable &work = add(FilledTable::Kind::Real64, loaded, "", {n, 2 * n});
  work.elements = {element};
  work.loops = {{n, row}, {n, lane}};
  work.isInverted = true;
  FilledTable &table = add(FilledTable::Kind::Real32, loaded, "", {n, n});
  table.inverse = &work;
  return table;
}

SmallVector<const FilledTable *> FilledTables::get(bool perSequence) const {
  SmallVector<const FilledTable *> found;
  for (const FilledTable &table : tables)
    if (table.perSequence == perSequence)
      found.push_back(&table);
  return found;
}

bool readsAny(Value root, llvm::function_ref<bool(Operation *)> which) {
  SmallVector<Value> work = {root};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (which(op))
      return true;
    work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

bool isMoving(Value value) {
  return readsAny(value, [](Operation *op) {
    auto clock = dyn_cast<ClockOp>(op);
    return clock && clock.getMoving();
  });
}

} // namespace torsor
