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

const FilledTable &FilledTables::request(ArrayRef<Value> elements, bool isList,
                                         FilledTable::Kind kind, VarySet set,
                                         bool key) {
  for (const FilledTable &table : tables)
    if (table.kind == kind && table.isList == isList &&
        ArrayRef<Value>(table.elements) == elements &&
        (table.axis.empty() || table.axis == (key ? "G" : "H")))
      return table;
  FilledTable &table = tables.emplace_back();
  table.perSequence = !set.isBound();
  table.number = get(table.perSequence).size() - 1;
  table.kind = kind;
  table.elements.assign(elements.begin(), elements.end());
  table.isList = isList;
  if (set.has(VarySet::Head | VarySet::Group))
    table.axis = key ? "G" : "H";

  Builder b(context);
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> shape;
  if (table.perSequence) {
    axes.push_back(b.getStringAttr("sequence"));
    shape.push_back(ShapedType::kDynamic);
  }
  if (!table.axis.empty()) {
    axes.push_back(b.getStringAttr(table.axis));
    shape.push_back(ShapedType::kDynamic);
  }
  if (isList || axes.empty()) {
    axes.push_back(b.getStringAttr(std::to_string(elements.size())));
    shape.push_back(elements.size());
  }
  Type element;
  switch (kind) {
  case FilledTable::Kind::Real32:
    element = b.getF32Type();
    break;
  case FilledTable::Kind::Real64:
  case FilledTable::Kind::TurnsReal:
    element = b.getF64Type();
    break;
  case FilledTable::Kind::Integer:
  case FilledTable::Kind::Turns:
    element = b.getI64Type();
    break;
  case FilledTable::Kind::Truth:
    element = b.getI1Type();
    break;
  }
  table.type = MemRefType::get(shape, element);
  table.info = TableAttr::get(
      context, table.perSequence ? TableSource::Prepare : TableSource::Bind,
      table.number, false, axes);
  return table;
}

SmallVector<const FilledTable *> FilledTables::get(bool perSequence) const {
  SmallVector<const FilledTable *> found;
  for (const FilledTable &table : tables)
    if (table.perSequence == perSequence)
      found.push_back(&table);
  return found;
}

} // namespace torsor
