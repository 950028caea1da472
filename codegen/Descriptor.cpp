// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads torsor.interface and torsor.stack into plain structs.
#include "codegen/Descriptor.h"

#include "dialect/TorsorDialect.h"
#include "runtime/torsor_kernel.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace torsor {

int32_t dtypeOf(Type type) {
  if (type.isF32())
    return TORSOR_F32;
  if (type.isBF16())
    return TORSOR_BF16;
  if (type.isF16())
    return TORSOR_F16;
  if (type.isF64())
    return TORSOR_F64;
  if (type.isInteger(32))
    return TORSOR_I32;
  if (type.isInteger(64))
    return TORSOR_I64;
  return type.isInteger(1) ? TORSOR_BOOL : TORSOR_ANY;
}

static int64_t extentOf(StringRef axis) {
  int64_t extent;
  if (!axis.getAsInteger(10, extent))
    return extent;
  if (axis == "H")
    return TORSOR_EXTENT_H;
  return axis == "G" ? TORSOR_EXTENT_G : TORSOR_EXTENT_ANY;
}

static FieldInfo readField(FieldAttr field) {
  FieldInfo info;
  info.name = field.getName().str();
  info.flags = field.getFlags();
  info.stage = field.getStage();
  info.sides = field.getSides();
  info.dtype = dtypeOf(field.getType());
  info.contract = field.getContract();
  for (StringRef axis : field.getAxes().getAsValueRange<StringAttr>())
    info.shape.push_back(extentOf(axis));
  if (field.getLow())
    info.low = field.getLow().getValueAsDouble();
  if (field.getHigh())
    info.high = field.getHigh().getValueAsDouble();
  if (field.getCondition())
    info.condition = field.getCondition().getValueAsDouble();
  return info;
}

SchemeInfo readInterface(InterfaceOp interface) {
  SchemeInfo info;
  info.name = interface.getSymName();
  info.canonical = interface.getCanonical();
  info.manifest = interface.getManifest();
  info.contract = interface.getContract();
  info.noRebase = interface.getNoRebase().value_or("").str();
  info.head = interface.getHead();
  info.value = interface.getValue();
  info.valueInKey = interface.getValueInKey();
  info.q = dtypeOf(interface.getQ());
  info.k = dtypeOf(interface.getK());
  info.v = dtypeOf(interface.getV());
  info.o = dtypeOf(interface.getO());
  for (auto field : interface.getArguments().getAsRange<FieldAttr>())
    info.arguments.push_back(readField(field));
  for (auto field : interface.getStreams().getAsRange<FieldAttr>())
    info.streams.push_back(readField(field));
  info.decodeQueries = interface.getDecodeQueries();
  info.window = interface.getWindow();
  info.first = interface.getFirst();
  return info;
}

ModuleInfo readModule(ModuleOp module) {
  ModuleInfo info;
  llvm::StringMap<uint32_t> numbers;
  for (auto interface : module.getOps<InterfaceOp>()) {
    numbers[interface.getSymName()] = info.schemes.size();
    info.schemes.push_back(readInterface(interface));
  }
  for (auto stack : module.getOps<StackOp>())
    for (auto layer : stack.getLayers().getAsRange<ArrayAttr>()) {
      std::vector<uint32_t> row;
      for (auto scheme : layer.getAsRange<FlatSymbolRefAttr>()) {
        auto at = numbers.find(scheme.getValue());
        row.push_back(at == numbers.end() ? UINT32_MAX : at->second);
      }
      info.attentions = std::max<uint32_t>(info.attentions, row.size());
      info.layers.push_back(std::move(row));
    }
  return info;
}

} // namespace torsor
