// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel-level function asks for, read from the IR.
#include "codegen/cpu/Spec.h"

using namespace mlir;

namespace torsor {

Scheme::Scheme(InterfaceOp interface)
    : interface(interface), tables(interface), position(find("pos")) {}

int64_t Scheme::argumentCount() const {
  InterfaceOp op = interface;
  return op.getArguments().size();
}

FieldAttr Scheme::argument(int64_t number) const {
  InterfaceOp op = interface;
  return cast<FieldAttr>(op.getArguments()[number]);
}

int64_t Scheme::find(StringRef name) const {
  for (int64_t n = 0; n < argumentCount(); ++n)
    if (argument(n).getName() == name)
      return n;
  return -1;
}

bool hasAxis(const Table &table, StringRef axis) {
  return llvm::any_of(table.info.getAxes(),
                      [&](StringAttr own) { return own == axis; });
}

const Table *Kernel::find(Value operand) const {
  for (const Table &table : tables)
    if (table.operand == operand)
      return &table;
  return nullptr;
}

SmallVector<Table> readTables(ValueRange operands, ArrayAttr info) {
  SmallVector<Table> tables;
  for (auto [operand, attr] : llvm::zip(operands, info))
    tables.push_back({cast<TableAttr>(attr),
                      cast<MemRefType>(operand.getType()).getElementType(),
                      operand});
  return tables;
}

SmallVector<Type> yieldedTypes(Region &region) {
  if (region.empty())
    return {};
  return llvm::to_vector(region.front().getTerminator()->getOperandTypes());
}

int64_t widthOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape().back();
}

Type elementOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

} // namespace torsor
