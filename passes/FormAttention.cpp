// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forms the kernels of a scheme out of its plan.
#include "passes/BoundMasks.h"
#include "passes/FormKernels.h"
#include "passes/IntervalAnalysis.h"
#include "passes/KernelRegions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace torsor {

StringRef getName(KernelOperation operation) {
  switch (operation) {
  case KernelOperation::Prefill:
    return "prefill";
  case KernelOperation::Decode:
    return "decode";
  case KernelOperation::Append:
    return "append";
  case KernelOperation::Merge:
    return "merge";
  }
  return "";
}

namespace {

/// [rows, heads, tokens, width] of any outer strides.
MemRefType tensorType(Type element, int64_t width) {
  MLIRContext *context = element.getContext();
  int64_t any = ShapedType::kDynamic;
  return MemRefType::get(
      {any, any, any, width}, element,
      StridedLayoutAttr::get(context, any, {any, any, any, 1}));
}

class KernelFormer {
public:
  KernelFormer(SchemePlan &plan, OpBuilder &module, KernelOperation operation)
      : plan(plan), operation(operation), loc(plan.scheme.getLoc()),
        b(plan.scheme.getContext()) {
    std::string name =
        (plan.scheme.getSymName() + "." + getName(operation)).str();
    function = func::FuncOp::create(module, loc, name,
                                    b.getFunctionType(argumentTypes(), {}));
    function->setAttr("torsor.operation", b.getStringAttr(getName(operation)));
    block = function.addEntryBlock();
    b.setInsertionPointToEnd(block);
  }

  FailureOr<func::FuncOp> form() {
    KernelFunction kernel(function);
    LogicalResult formed =
        operation == KernelOperation::Append  ? formAppend(kernel)
        : operation == KernelOperation::Merge ? formMerge(kernel)
                                              : formAttention(kernel);
    if (failed(formed))
      return failure();
    func::ReturnOp::create(b, loc);
    return function;
  }

private:
  SmallVector<Type> argumentTypes();
  LogicalResult formAttention(KernelFunction &kernel);
  LogicalResult formAppend(KernelFunction &kernel);
  LogicalResult formMerge(KernelFunction &kernel);
  FailureOr<ArrayAttr> formBlocks(KernelFunction &kernel, SideCode *rows,
                                  SideCode &columns);
  LogicalResult formPair(KernelRegions &regions, Region &region, Value value,
                         Type type, std::unique_ptr<PairCode> &code);
  /// The table with the rates of these pairs.
  Value ratesTable(KernelFunction &kernel, ArrayRef<PlannedPair> pairs);
  Value argument(unsigned n) { return block->getArgument(n); }

  SchemePlan &plan;
  KernelOperation operation;
  Location loc;
  OpBuilder b;
  func::FuncOp function;
  Block *block;
};

SmallVector<Type> KernelFormer::argumentTypes() {
  int64_t any = ShapedType::kDynamic;
  Type q = tensorType(plan.q, plan.head), k = tensorType(plan.k, plan.head);
  Type v = tensorType(plan.v, plan.value), o = tensorType(plan.o, plan.value);
  Type sequences = MemRefType::get({any, 12}, b.getI64Type());
  Type lse = MemRefType::get(
      {any, any, any}, b.getF32Type(),
      StridedLayoutAttr::get(b.getContext(), any, {any, any, 1}));
  switch (operation) {
  case KernelOperation::Prefill:
  case KernelOperation::Decode:
    return {q, k, v, o, lse, sequences, b.getI1Type()};
  case KernelOperation::Append:
    return {k, v, k, v, sequences};
  case KernelOperation::Merge:
    return {o, lse, sequences};
  }
  return {};
}

Value KernelFormer::ratesTable(KernelFunction &kernel,
                               ArrayRef<PlannedPair> pairs) {
  OpBuilder front = OpBuilder::atBlockBegin(&plan.scheme.getBody().front());
  SmallVector<Value> elements;
  VarySet set = pairs.front().frequency;
  bool isReal = pairs.front().isReal, fits = true;
  for (const PlannedPair &pair : pairs) {
    Value frequency = frequencyOf(*pair.unit);
    std::optional<double> constant = constantReal(frequency, pair.unit->index);
    if (constant) {
      Value &known = plan.constants[*constant];
      if (!known)
        known = arith::ConstantOp::create(front, pair.unit->block->getLoc(),
                                          front.getF64FloatAttr(*constant));
      frequency = known;
    }
    fits &= constant && std::abs(*constant) < M_PI;
    elements.push_back(frequency);
  }
  // A real time needs the frequency itself, not what is left of whole turns.
  auto kind = plan.f32Reference ? FilledTable::Kind::Real32
              : isReal && !fits ? FilledTable::Kind::TurnsReal
                                : FilledTable::Kind::Turns;
  const FilledTable &table =
      plan.tables.request(elements, true, kind, set, true);
  return kernel.table(table.info, table.type);
}

FailureOr<ArrayAttr> KernelFormer::formBlocks(KernelFunction &kernel,
                                              SideCode *rows,
                                              SideCode &columns) {
  SmallVector<Attribute> blocks;
  KeyPlace place = plan.keysActed                         ? KeyPlace::Cached
                   : operation == KernelOperation::Decode ? KeyPlace::Loop
                                                          : KeyPlace::Packing;
  auto gain = [&](double value) {
    return value == 1 ? FloatAttr() : b.getF64FloatAttr(value);
  };
  for (const PlannedBlock &planned : plan.blocks) {
    const PlannedPair &pair = planned.pairs.front();
    auto lanes = PairsAttr::get(b.getContext(), pair.first, pair.second,
                                planned.step, planned.pairs.size());
    int64_t rates = -1, s = -1, t = -1;
    if (pair.second >= 0) {
      rates = kernel.number(ratesTable(kernel, planned.pairs));
      const ActionUnit &unit = *pair.unit;
      if (rows) {
        s = rows->slot(unit.timeQ, unit.timeQ.getType());
        if (s < 0)
          return failure();
      }
      t = columns.slot(unit.timeK, unit.timeK.getType());
      if (t < 0)
        return failure();
    }
    blocks.push_back(BlockAttr::get(
        b.getContext(), pair.second < 0 ? BlockKind::Zero : BlockKind::Turn,
        lanes, rates, 0, s, t, gain(pair.gainQ), gain(pair.gainK), place));
  }
  return b.getArrayAttr(blocks);
}

LogicalResult KernelFormer::formPair(KernelRegions &regions, Region &region,
                                     Value value, Type type,
                                     std::unique_ptr<PairCode> &code) {
  if (!value)
    return success();
  region.push_back(new Block());
  SmallVector<Type> before;
  if (value == plan.logit)
    before.push_back(b.getF32Type());
  code = std::make_unique<PairCode>(regions, &region.front(), value.getLoc(),
                                    before);
  return success(code->yield(value, type));
}

LogicalResult KernelFormer::formAttention(KernelFunction &kernel) {
  KernelRegions regions(plan, kernel, loc);
  FailureOr<ArrayAttr> blocks =
      formBlocks(kernel, &regions.rows, regions.columns);
  if (failed(blocks))
    return failure();
  FloatAttr scale;
  IntegerAttr scaleSlot, sinkSlot;
  auto slot = [&](Value value) -> IntegerAttr {
    int64_t number = regions.rows.slot(value, b.getF32Type());
    return number < 0 ? IntegerAttr() : b.getI64IntegerAttr(number);
  };
  if (plan.constantScale)
    scale = b.getF64FloatAttr(*plan.constantScale);
  else if (plan.scale && !(scaleSlot = slot(plan.scale)))
    return failure();
  if (plan.sink && !(sinkSlot = slot(plan.sink)))
    return failure();

  Region init, logit, mask, toeplitz;
  std::unique_ptr<PairCode> codes[3];
  if (failed(formPair(regions, init, plan.init, b.getF32Type(), codes[0])) ||
      failed(formPair(regions, logit, plan.logit, b.getF32Type(), codes[1])) ||
      failed(formPair(regions, mask, plan.mask, b.getI1Type(), codes[2])))
    return failure();
  if (plan.init && isToeplitz(plan, plan.init)) {
    toeplitz.push_back(new Block());
    AgeCode code(plan, kernel, &toeplitz.front(), plan.init.getLoc());
    if (!code.yield(plan.init))
      return failure();
  }
  for (auto &code : codes)
    if (code)
      code->finish();
  regions.rows.finish();
  regions.columns.finish();

  MaskBounds bounds = boundMask(plan.mask, b.getContext());
  SmallVector<Attribute> visible(bounds.visible.begin(), bounds.visible.end());
  SmallVector<Attribute> full(bounds.full.begin(), bounds.full.end());
  bool split = operation == KernelOperation::Decode;
  auto cut = split ? CpuPlanAttr::get(b.getContext(), decodeQueries, 512,
                                      PlanForm::Split)
                   : CpuPlanAttr::get(b.getContext(), 96, 256, PlanForm::Tiled);
  auto op = AttentionOp::create(
      b, loc, argument(0), argument(1), argument(2), argument(3), argument(4),
      argument(5), argument(6), kernel.tables, b.getArrayAttr(kernel.info),
      b.getArrayAttr(ArrayRef<Attribute>(*blocks)), b.getArrayAttr(visible),
      b.getArrayAttr(full), bounds.byPosition, scale, scaleSlot, sinkSlot, cut);
  op.getRows().takeBody(regions.rowRegion);
  op.getColumns().takeBody(regions.columnRegion);
  op.getInit().takeBody(init);
  op.getLogit().takeBody(logit);
  op.getMask().takeBody(mask);
  op.getToeplitz().takeBody(toeplitz);
  if (!bounds.needsTile) // No test of tiles can say more.
    op->setAttr("maps_decide", b.getUnitAttr());
  ClockOp clock = plan.arguments.getPosition();
  if (!clock || isa<IntegerType>(clock.getType().getElement())) {
    // A position that the scheme does not read is an index.
    IntRange range = clock ? getClockRange(clock) : IntRange{0, maxIndex};
    op->setAttr("position_low", b.getI64IntegerAttr(range.low));
    op->setAttr("position_high", b.getI64IntegerAttr(range.high));
  }
  return success();
}

LogicalResult KernelFormer::formAppend(KernelFunction &kernel) {
  KernelRegions regions(plan, kernel, loc);
  regions.columns.isAddressedAsQuery = true;
  ArrayAttr blocks = b.getArrayAttr({});
  if (plan.keysActed) {
    FailureOr<ArrayAttr> formed = formBlocks(kernel, nullptr, regions.columns);
    if (failed(formed))
      return failure();
    blocks = *formed;
  }
  regions.columns.finish();
  auto op = AppendOp::create(b, loc, argument(0), argument(1), argument(2),
                             argument(3), argument(4), kernel.tables,
                             b.getArrayAttr(kernel.info), blocks);
  op.getColumns().takeBody(regions.columnRegion);
  return success();
}

LogicalResult KernelFormer::formMerge(KernelFunction &kernel) {
  KernelRegions regions(plan, kernel, loc);
  IntegerAttr sinkSlot;
  if (plan.sink) {
    int64_t slot = regions.rows.slot(plan.sink, b.getF32Type());
    if (slot < 0)
      return failure();
    sinkSlot = b.getI64IntegerAttr(slot);
  }
  regions.rows.finish();
  auto op =
      MergeOp::create(b, loc, argument(0), argument(1), argument(2),
                      kernel.tables, b.getArrayAttr(kernel.info), sinkSlot);
  op.getRows().takeBody(regions.rowRegion);
  return success();
}

} // namespace

FailureOr<func::FuncOp> formKernel(SchemePlan &plan, OpBuilder &module,
                                   KernelOperation operation) {
  return KernelFormer(plan, module, operation).form();
}

} // namespace torsor
