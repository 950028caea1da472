// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory layout of bound and prepared tables, and the calls that fill them.
#include "codegen/cpu/Tables.h"

#include "dialect/TorsorDialect.h"
#include "runtime/torsor_kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstddef>

using namespace mlir;

namespace torsor {
namespace {

constexpr int64_t tableAlignment = 64;

ArrayRef<Attribute> tableInfo(func::FuncOp function) {
  auto info = function->getAttrOfType<ArrayAttr>("torsor.tables");
  return info ? info.getValue() : ArrayRef<Attribute>();
}

/// The memref arguments of bind and prepare stand last.
unsigned firstMemref(func::FuncOp function) {
  return function.getNumArguments() - tableInfo(function).size();
}

/// `data` with these extents and strides as a value of `type`.
Value makeMemref(Emitter &e, MemRefType type, Num data, const Nums &extents,
                 const Nums &strides) {
  int64_t rank = type.getRank();
  MLIRContext *context = type.getContext();
  SmallVector<Type> fields = {e.pointer, e.pointer, e.i64};
  if (rank) {
    auto array = LLVM::LLVMArrayType::get(e.i64, rank);
    fields.append({array, array});
  }
  auto structure = LLVM::LLVMStructType::getLiteral(context, fields);
  Value value = LLVM::PoisonOp::create(e.b, structure);
  auto insert = [&](Value field, ArrayRef<int64_t> place) {
    value = LLVM::InsertValueOp::create(e.b, value, field, place);
  };
  insert(data.value, {0});
  insert(data.value, {1});
  insert(e.index(0).value, {2});
  for (int64_t axis = 0; axis < rank; ++axis) {
    insert(extents[axis].value, {3, axis});
    insert(strides[axis].value, {4, axis});
  }
  return UnrealizedConversionCastOp::create(e.b, type, value).getResult(0);
}

/// A torsor_tensor at `address` as a value of `type`.
Value tensorMemref(Emitter &e, MemRefType type, Num address) {
  Tensor tensor{{e.at(address, e.pointer).load(0), type.getElementType()},
                address};
  Nums extents, strides;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    extents.push_back(tensor.shape(axis));
    strides.push_back(tensor.stride(axis));
  }
  return makeMemref(e, type, tensor.data.base, extents, strides);
}

Num tensorAddress(Emitter &e, Num tensors, int64_t number) {
  return e.at(tensors, e.i8)
      .bytes(number * int64_t(sizeof(torsor_tensor)))
      .base;
}

func::FuncOp findOperation(Operation *interface, StringRef operation) {
  auto name = dyn_cast_or_null<FlatSymbolRefAttr>(
      cast<InterfaceOp>(interface).getOperations().get(operation));
  if (!name)
    return {};
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(interface, name);
}

/// Among the arguments, the params that stand before argument `number`.
int64_t paramsBefore(Operation *interface, int64_t number) {
  int64_t count = 0;
  ArrayAttr arguments = cast<InterfaceOp>(interface).getArguments();
  for (Attribute field : arguments.getValue().take_front(number))
    count += cast<FieldAttr>(field).getStage() == TORSOR_LOADED;
  return count;
}

} // namespace

TableLayout::TableLayout(func::FuncOp filler, bool prepared) {
  if (!filler)
    return;
  TableSource source = prepared ? TableSource::Prepare : TableSource::Bind;
  unsigned argument = firstMemref(filler);
  for (Attribute attribute : tableInfo(filler)) {
    auto table = cast<TableAttr>(attribute);
    auto type = cast<MemRefType>(filler.getArgument(argument++).getType());
    if (table.getSource() != source)
      continue;
    if (int64_t(tables.size()) <= table.getNumber())
      tables.resize(table.getNumber() + 1);
    Entry &entry = tables[table.getNumber()];
    entry.element = type.getElementType();
    for (StringAttr axis : table.getAxes())
      entry.axes.push_back(axis.str());
  }
}

std::pair<Nums, Num> TableLayout::measure(Emitter &e, const Entry &entry,
                                          Num sequences, Num heads,
                                          Num groups) const {
  Nums extents;
  Num bytes = e.index(e.at(e.null(), entry.element).elementBytes());
  for (StringRef axis : entry.axes) {
    int64_t constant = 0;
    if (axis == "sequence")
      extents.push_back(sequences);
    else if (axis == "H")
      extents.push_back(heads);
    else if (axis == "G")
      extents.push_back(groups);
    else if (!axis.getAsInteger(10, constant))
      extents.push_back(e.index(constant));
    bytes = bytes * extents.back();
  }
  return {extents, alignUp(bytes, tableAlignment)};
}

Num TableLayout::bytesBefore(Emitter &e, int64_t number, Num sequences,
                             Num heads, Num groups) const {
  // Tables of one shape are counted: a sum of many terms brings hundreds, and
  // code for each of them before each would grow with their square.
  SmallVector<std::pair<const Entry *, int64_t>> shapes;
  for (const Entry &entry : ArrayRef<Entry>(tables).take_front(number)) {
    auto *like = llvm::find_if(
        shapes, [&](auto &shape) { return shape.first->isLike(entry); });
    if (like == shapes.end())
      shapes.emplace_back(&entry, 1);
    else
      ++like->second;
  }
  Num total = e.index(0);
  for (auto [entry, count] : shapes)
    total = total + measure(e, *entry, sequences, heads, groups).second * count;
  return total;
}

Num TableLayout::bytes(Emitter &e, Num sequences, Num heads, Num groups) const {
  return bytesBefore(e, tables.size(), sequences, heads, groups);
}

DenseTable TableLayout::table(Emitter &e, int64_t number, Pointer base,
                              Num sequences, Num heads, Num groups) const {
  const Entry &entry = tables[number];
  DenseTable table;
  table.data = base.bytes(bytesBefore(e, number, sequences, heads, groups))
                   .as(entry.element);
  table.extents = measure(e, entry, sequences, heads, groups).first;
  Num stride = e.index(1);
  for (Num extent : llvm::reverse(table.extents)) {
    table.strides.insert(table.strides.begin(), stride);
    stride = stride * extent;
  }
  return table;
}

TableCode::TableCode(InterfaceOp interface)
    : bound(findOperation(interface, "bind"), false),
      prepared(findOperation(interface, "prepare"), true),
      interface(interface) {}

func::FuncOp TableCode::bindFunction() const {
  return findOperation(interface, "bind");
}
func::FuncOp TableCode::prepareFunction() const {
  return findOperation(interface, "prepare");
}

bool TableCode::emitBindEntries(Emitter &e, StringRef name,
                                ArrayRef<NamedAttribute> attributes) const {
  if (bound.isEmpty())
    return false;
  Type i64 = e.i64, pointer = e.pointer;
  e.function((name + ".tables").str(), {i64, i64, pointer}, i64, attributes,
             true, [&](ArrayRef<Num> arguments) {
               return bound.bytes(e, e.index(1), arguments[0], arguments[1]);
             });
  func::FuncOp function = bindFunction();
  e.function(
      (name + ".bind.entry").str(), {i64, i64, pointer, pointer}, Type(),
      attributes, true, [&](ArrayRef<Num> arguments) {
        SmallVector<Value> operands = {arguments[0].value, arguments[1].value};
        for (auto [n, attribute] : llvm::enumerate(tableInfo(function))) {
          auto info = cast<TableAttr>(attribute);
          auto type = cast<MemRefType>(
              function.getArgument(firstMemref(function) + n).getType());
          if (info.getSource() == TableSource::Argument) {
            int64_t param = paramsBefore(interface, info.getNumber());
            operands.push_back(
                tensorMemref(e, type, tensorAddress(e, arguments[2], param)));
            continue;
          }
          DenseTable table =
              bound.table(e, info.getNumber(), e.at(arguments[3], e.i8),
                          e.index(1), arguments[0], arguments[1]);
          operands.push_back(makeMemref(e, type, table.data.base, table.extents,
                                        table.strides));
        }
        func::CallOp::create(e.b, function, operands);
        return Num();
      });
  return true;
}

void TableCode::emitPrepare(Emitter &e, const Call &call,
                            const Sequence &sequence, Pointer memory) const {
  if (prepared.isEmpty())
    return;
  func::FuncOp function = prepareFunction();
  Num tensors = call.field(offsetof(torsor_kernel_args, tensors), e.pointer);
  SmallVector<Value> operands = {call.heads.value, call.groups.value,
                                 sequence.batchNumber.value,
                                 sequence.total.value};
  for (auto [n, attribute] : llvm::enumerate(tableInfo(function))) {
    auto info = cast<TableAttr>(attribute);
    auto type = cast<MemRefType>(
        function.getArgument(firstMemref(function) + n).getType());
    int64_t number = info.getNumber();
    if (info.getSource() == TableSource::Argument) {
      operands.push_back(tensorMemref(
          e, type, tensorAddress(e, tensors, TORSOR_AT_SCHEME + 2 * number)));
      continue;
    }
    bool isBound = info.getSource() == TableSource::Bind;
    DenseTable table = (isBound ? bound : prepared)
                           .table(e, number, isBound ? call.tables : memory,
                                  call.count, call.heads, call.groups);
    Pointer data = table.data;
    // `prepare` writes the row of the batch's number; the row of these tables
    // is the place in this call, so the first row is moved by the difference.
    if (!isBound)
      data = data + (sequence.number - sequence.batchNumber) * table.strides[0];
    operands.push_back(
        makeMemref(e, type, data.base, table.extents, table.strides));
  }
  func::CallOp::create(e.b, function, operands);
}

} // namespace torsor
