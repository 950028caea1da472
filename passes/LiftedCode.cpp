// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was lifted out of pairs, and vectors of tokens, on one side.
#include "passes/KernelRegions.h"

using namespace mlir;

namespace torsor {

const FilledTable &tableOf(SchemePlan &plan, TabulatedOp op, bool key) {
  std::pair<int64_t, Value> rows = {op.getCount(), op.getRow()};
  return plan.tables.request(rows, op.getElement(),
                             plan.varies.of(op.getElement()), key);
}

const FilledTable &tableOf(SchemePlan &plan, TableDotOp op, bool byLane) {
  // By lanes a row number is a lane of a vector: rows are filled up to the
  // longest one, and to an odd number of them. At multiples of a large power of
  // 2 the elements of a column would share a few lines of the cache.
  int64_t count = op.getCount(), padded = ((count + 15) / 16 | 1) * 16;
  std::pair<int64_t, Value> rows = {byLane ? padded : count, op.getRow()};
  std::pair<int64_t, Value> lanes = {plan.head, op.getLane()};
  std::pair<int64_t, Value> both[2] = {byLane ? lanes : rows,
                                       byLane ? rows : lanes};
  return plan.tables.request(both, op.getElement(),
                             plan.varies.of(op.getElement()),
                             op.getSide() == Side::Key);
}

FailureOr<Value> SideCode::lifted(Operation *op) {
  if (auto tabulated = dyn_cast<TabulatedOp>(op)) {
    Value index = get(tabulated.getIndex());
    if (!index)
      return failure();
    return convert(lookup(tableOf(plan, tabulated, isKey()), index),
                   b.getF64Type());
  }
  if (auto dot = dyn_cast<TableDotOp>(op)) {
    Value index = get(dot.getIndex());
    if (!index)
      return failure();
    const FilledTable &table = tableOf(plan, dot, false);
    Value product =
        RowDotOp::create(b, dot.getLoc(), b.getF32Type(), dot.getSideAttr(),
                         kernel.table(table.info, table.type), index,
                         dot.getCountAttr(), UnitAttr());
    return convert(product, b.getF64Type());
  }
  auto element = dyn_cast<ElementOp>(op);
  if (!element || !element.getVector().getDefiningOp<VectorOp>())
    return Value();
  Value lane = get(element.getIndex());
  if (!lane)
    return failure();
  Value content = ContentOp::create(b, op->getLoc(), b.getF32Type(), lane);
  return convert(content, b.getF64Type());
}

} // namespace torsor
