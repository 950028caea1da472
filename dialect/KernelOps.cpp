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

LogicalResult verifyBlock(AttentionOp op, BlockAttr block, ArrayRef<Type> rows,
                          ArrayRef<Type> columns) { // attention R2
  auto isTime = [](ArrayRef<Type> slots, int64_t slot) {
    return slot >= 0 && slot < int64_t(slots.size()) &&
           (slots[slot].isInteger(64) || slots[slot].isF64());
  };
  if (block.getKind() == BlockKind::Zero)
    return success();
  if (!isTime(rows, block.getS()) || !isTime(columns, block.getT()))
    return op.emitOpError("the times of a block must be slots of type i64 or "
                          "f64, but they are ")
           << block.getS() << " and " << block.getT();
  if (block.getRates() < 0 ||
      block.getRates() >= int64_t(op.getTables().size()))
    return op.emitOpError("table ") << block.getRates() << " does not exist";
  return success();
}

} // namespace

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
