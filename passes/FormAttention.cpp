// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forms the kernels of a scheme out of its plan.
#include "passes/AttentionRegions.h"
#include "passes/BoundMasks.h"
#include "passes/FormBlocks.h"
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
  case KernelOperation::Rebase:
    return "rebase";
  case KernelOperation::Embed:
    return "embed";
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
  /// The norm of the sides that this kernel loads; null without one.
  NormAttr formNorm(KernelFunction &kernel, bool query);
  /// The number of a table with a value for each lane; null without one.
  IntegerAttr lanesTable(KernelFunction &kernel, ArrayRef<Value> lanes,
                         bool key);
  FailureOr<ArrayAttr> formBranches(KernelFunction &kernel,
                                    KernelRegions &slots);
  /// The factor of the scores and the sink: a constant, or a row's slot.
  struct RowTerms {
    FloatAttr scale;
    IntegerAttr scaleSlot, sinkSlot;
  };
  FailureOr<RowTerms> formRowTerms(KernelRegions &slots);
  /// The number of the table of vectors that values get; null without one.
  IntegerAttr formValueTable(KernelFunction &kernel);
  CpuPlanAttr cut();
  /// What is known of positions and of tiles beside the regions.
  void markRanges(AttentionOp op, bool needsTile);
  /// The terms of the running sums; then the operations that sum them.
  FailureOr<SmallVector<std::unique_ptr<Region>>>
  formScans(KernelFunction &kernel);
  void formScanOps(KernelFunction &kernel, Operation *before, Value sequences,
                   ArrayRef<std::unique_ptr<Region>> terms);
  KeyPlace keyPlace() const {
    return plan.keysActed                         ? KeyPlace::Cached
           : operation == KernelOperation::Decode ? KeyPlace::Loop
                                                  : KeyPlace::Packing;
  }
  Value argument(unsigned n) { return block->getArgument(n); }
  /// An append sums what is stored.
  bool needs(const PlannedScan &scan) const {
    return operation != KernelOperation::Append || scan.isStored;
  }

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
  case KernelOperation::Rebase:
  case KernelOperation::Embed:
    break; // formRebase's and formEmbedding's
  }
  return {};
}

FailureOr<SmallVector<std::unique_ptr<Region>>>
KernelFormer::formScans(KernelFunction &kernel) {
  SmallVector<std::unique_ptr<Region>> regions;
  bool appends = operation == KernelOperation::Append;
  for (const PlannedScan &scan : plan.scans) {
    if (!needs(scan))
      continue;
    auto &region = regions.emplace_back(std::make_unique<Region>());
    region->push_back(new Block());
    Location loc = scan.terms.front().getLoc();
    SideCode code(plan, kernel, Side::Key, &region->front(), loc,
                  /*byHead=*/true);
    code.isAddressedAsQuery = appends;
    SmallVector<Value> terms;
    for (Value term : scan.terms) {
      terms.push_back(code.get(term, b.getF64Type()));
      if (!terms.back())
        return failure();
    }
    YieldOp::create(code.builder(), loc, terms);
  }
  return regions;
}

void KernelFormer::formScanOps(KernelFunction &kernel, Operation *before,
                               Value sequences,
                               ArrayRef<std::unique_ptr<Region>> terms) {
  OpBuilder at(before);
  const std::unique_ptr<Region> *next = terms.begin();
  for (auto [n, scan] : llvm::enumerate(plan.scans)) {
    if (!needs(scan))
      continue;
    RunningOp clock = scan.clock;
    StringRef axis = plan.axisOf(scan);
    auto op = ScanOp::create(
        at, scan.terms.front().getLoc(), n, sequences, kernel.tables,
        b.getArrayAttr(kernel.info), clock && clock.getExclusive(), axis == "H",
        axis == "G", /*each=*/!scan.isSum(),
        scan.isStored ? b.getStringAttr(plan.nameOf(scan)) : StringAttr());
    op.getTerm().takeBody(**next++);
  }
}

IntegerAttr KernelFormer::lanesTable(KernelFunction &kernel,
                                     ArrayRef<Value> lanes, bool key) {
  if (lanes.empty())
    return {};
  VarySet set;
  for (Value lane : lanes)
    set = set | plan.varies.of(lane);
  const FilledTable &table =
      plan.tables.request(lanes, true, FilledTable::Kind::Real32, set, key);
  return b.getI64IntegerAttr(
      kernel.number(kernel.table(table.info, table.type)));
}

NormAttr KernelFormer::formNorm(KernelFunction &kernel, bool query) {
  if (!plan.norm)
    return {};
  auto number = [](IntegerAttr table) { return table ? table.getInt() : -1; };
  FloatAttr eps = plan.norm.getEpsAttr();
  return NormAttr::get(
      b.getContext(), plan.norm.getKind(), eps ? eps : b.getF64FloatAttr(0),
      query ? number(lanesTable(kernel, plan.normQ, false)) : -1,
      number(lanesTable(kernel, plan.normK, true)));
}

FailureOr<ArrayAttr> KernelFormer::formBranches(KernelFunction &kernel,
                                                KernelRegions &slots) {
  SmallVector<Attribute> branches;
  for (const PlannedBranch &branch : plan.branches) {
    FailureOr<ArrayAttr> blocks = formBlocks(plan, kernel, keyPlace(), branch,
                                             &slots.rows, slots.columns);
    if (failed(blocks))
      return failure();
    branches.push_back(*blocks);
  }
  return b.getArrayAttr(branches);
}

FailureOr<KernelFormer::RowTerms>
KernelFormer::formRowTerms(KernelRegions &slots) {
  RowTerms terms;
  auto slot = [&](Value value) -> IntegerAttr {
    int64_t number = slots.rows.slot(value, b.getF32Type());
    return number < 0 ? IntegerAttr() : b.getI64IntegerAttr(number);
  };
  if (plan.constantScale)
    terms.scale = b.getF64FloatAttr(*plan.constantScale);
  else if (plan.scale && !(terms.scaleSlot = slot(plan.scale)))
    return failure();
  if (plan.sink && !(terms.sinkSlot = slot(plan.sink)))
    return failure();
  return terms;
}

IntegerAttr KernelFormer::formValueTable(KernelFunction &kernel) {
  if (!plan.valueRow)
    return {};
  std::pair<int64_t, Value> loops[2] = {{plan.valueRows, plan.valuePlaceRow},
                                        {plan.value, plan.valuePlaceLane}};
  const FilledTable &table = plan.tables.request(
      loops, plan.valueElement, plan.varies.of(plan.valueElement), false);
  return b.getI64IntegerAttr(
      kernel.number(kernel.table(table.info, table.type)));
}

CpuPlanAttr KernelFormer::cut() {
  if (operation == KernelOperation::Decode)
    return CpuPlanAttr::get(b.getContext(), decodeQueries, 512,
                            PlanForm::Split);
  return CpuPlanAttr::get(b.getContext(), 96, 256, PlanForm::Tiled);
}

void KernelFormer::markRanges(AttentionOp op, bool needsTile) {
  if (!needsTile) // No test of tiles can say more.
    op->setAttr("maps_decide", b.getUnitAttr());
  ClockOp clock = plan.arguments.getPosition();
  if (clock && !isa<IntegerType>(clock.getType().getElement()))
    return;
  // A position that the scheme does not read is an index.
  IntRange range = clock ? getClockRange(clock) : IntRange{0, maxIndex};
  op->setAttr("position_low", b.getI64IntegerAttr(range.low));
  op->setAttr("position_high", b.getI64IntegerAttr(range.high));
}

LogicalResult KernelFormer::formAttention(KernelFunction &kernel) {
  KernelRegions slots(plan, kernel, loc);
  slots.columns.readsKept = true;
  FailureOr<ArrayAttr> branches = formBranches(kernel, slots);
  if (failed(branches))
    return failure();
  FailureOr<ArrayAttr> valueBlocks =
      formBlocks(plan, kernel, KeyPlace::Packing, plan.valueBlocks, &slots.rows,
                 slots.columns);
  FailureOr<RowTerms> terms = formRowTerms(slots);
  AttentionRegions regions(plan, kernel, slots);
  if (failed(valueBlocks) || failed(terms) || failed(regions.form()))
    return failure();
  IntegerAttr valueTable = formValueTable(kernel);
  NormAttr norm = formNorm(kernel, true);
  IntegerAttr gainQ = lanesTable(kernel, plan.gainQ, false);
  IntegerAttr gainK = lanesTable(kernel, plan.gainK, true);
  regions.finish();
  FailureOr<SmallVector<std::unique_ptr<Region>>> scans = formScans(kernel);
  if (failed(scans))
    return failure();
  slots.rows.finish();
  slots.columns.finish();

  MaskBounds bounds = boundMask(plan.mask, b.getContext());
  SmallVector<Attribute> visible(bounds.visible.begin(), bounds.visible.end());
  SmallVector<Attribute> full(bounds.full.begin(), bounds.full.end());
  int64_t after = 0;
  for (auto [n, total] : llvm::enumerate(plan.paths))
    after |= int64_t(total.getAfter()) << n;
  auto unit = [&](bool is) { return is ? b.getUnitAttr() : UnitAttr(); };
  auto number = [&](int64_t value, int64_t none) {
    return value == none ? IntegerAttr() : b.getI64IntegerAttr(value);
  };
  auto op = AttentionOp::create(
      b, loc, argument(0), argument(1), argument(2), argument(3), argument(4),
      argument(5), argument(6), kernel.tables, b.getArrayAttr(kernel.info),
      *branches, b.getArrayAttr(visible), b.getArrayAttr(full),
      unit(bounds.byPosition), terms->scale, terms->scaleSlot, terms->sinkSlot,
      cut(), norm, gainQ, gainK, unit(plan.linear), valueTable,
      number(after, 0), unit(plan.keysByHead), unit(plan.slotsByHead),
      number(plan.valueLow, -1), unit(plan.valuesActed),
      // what acts on v, and is undone on the output
      valueBlocks->empty() ? ArrayAttr() : *valueBlocks,
      /*age_of_positions=*/UnitAttr());
  formScanOps(kernel, op, argument(5), *scans);
  op.getRows().takeBody(slots.rowRegion);
  op.getColumns().takeBody(slots.columnRegion);
  regions.moveTo(op);
  markRanges(op, bounds.needsTile);
  return success();
}

LogicalResult KernelFormer::formAppend(KernelFunction &kernel) {
  KernelRegions regions(plan, kernel, loc);
  regions.columns.isAddressedAsQuery = true;
  ArrayAttr blocks = b.getArrayAttr({});
  if (plan.keysActed) {
    FailureOr<ArrayAttr> formed =
        formBlocks(plan, kernel, keyPlace(), plan.branches.front(), nullptr,
                   regions.columns);
    if (failed(formed))
      return failure();
    blocks = *formed;
  }
  NormAttr norm = plan.keysActed ? formNorm(kernel, false) : NormAttr();
  IntegerAttr gain;
  if (plan.keysActed)
    gain = lanesTable(kernel, plan.gainK, true);
  FailureOr<SmallVector<std::unique_ptr<Region>>> scans = formScans(kernel);
  if (failed(scans))
    return failure();
  regions.columns.finish();
  auto op = AppendOp::create(b, loc, argument(0), argument(1), argument(2),
                             argument(3), argument(4), kernel.tables,
                             b.getArrayAttr(kernel.info), blocks, norm, gain,
                             plan.valueLow >= 0 ? b.getUnitAttr() : UnitAttr());
  formScanOps(kernel, op, argument(4), *scans);
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
  Region divide;
  std::unique_ptr<RowCode> divideCode;
  if (failed(formDivide(plan, regions, divide, divideCode)))
    return failure();
  if (divideCode)
    divideCode->finish();
  regions.rows.finish();
  auto op =
      MergeOp::create(b, loc, argument(0), argument(1), argument(2),
                      kernel.tables, b.getArrayAttr(kernel.info), sinkSlot,
                      plan.linear ? b.getUnitAttr() : UnitAttr());
  op.getRows().takeBody(regions.rowRegion);
  op.getDivide().takeBody(divide);
  return success();
}

} // namespace

FailureOr<func::FuncOp> formKernel(SchemePlan &plan, OpBuilder &module,
                                   KernelOperation operation) {
  return KernelFormer(plan, module, operation).form();
}

} // namespace torsor
