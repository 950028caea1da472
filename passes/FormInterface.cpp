// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a host is shown of a scheme: arguments, streams, contract, window.
#include "passes/BoundMasks.h"
#include "passes/Contract.h"
#include "passes/FormKernels.h"
#include "runtime/torsor.h"

#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <limits>

using namespace mlir;

namespace torsor {
namespace {

/// The sides on which tokens index a declaration, as TORSOR_QUERY, TORSOR_KEY.
int64_t sidesOf(Operation *declaration) {
  int64_t sides = 0;
  for (Operation *user : declaration->getUsers())
    for (Value operand : user->getOperands())
      if (auto token = operand.getDefiningOp<TokenOp>())
        sides |= token.getSide() == Side::Query ? TORSOR_QUERY : TORSOR_KEY;
  return sides;
}

/// Whether something fades with this clock, and grows where it runs backwards.
bool fadesBy(const SchemePlan &plan, ClockOp clock) {
  return llvm::any_of(plan.blocks, [&](const PlannedBlock &block) {
    const ActionUnit *unit = block.pairs.front().unit;
    if (!growsBackwards(unit->block))
      return false;
    if (!unit->timeQ)
      return clock.getName() == "pos";
    auto time = unit->timeQ.getDefiningOp<TimeOp>();
    return time && time.getClock() == clock.getResult();
  });
}

/// Whether the mask shows only pairs whose query and key agree in an input: an
/// equality is one of those that all must hold.
bool tellsSegments(Value mask, InputOp input) {
  if (!mask)
    return false;
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    return tellsSegments(both.getLhs(), input) ||
           tellsSegments(both.getRhs(), input);
  Value sides[2];
  if (auto integers = mask.getDefiningOp<arith::CmpIOp>();
      integers && integers.getPredicate() == arith::CmpIPredicate::eq)
    sides[0] = integers.getLhs(), sides[1] = integers.getRhs();
  else if (auto reals = mask.getDefiningOp<arith::CmpFOp>();
           reals && reals.getPredicate() == arith::CmpFPredicate::OEQ)
    sides[0] = reals.getLhs(), sides[1] = reals.getRhs();
  else
    return false;
  int64_t found = 0;
  for (Value side : sides) {
    auto read = side.getDefiningOp<ReadOp>();
    if (!read || read.getTensor() != input.getResult() ||
        read.getIndices().size() != 1)
      return false;
    auto token = read.getIndices()[0].getDefiningOp<TokenOp>();
    if (token)
      found |= token.getSide() == Side::Query ? TORSOR_QUERY : TORSOR_KEY;
  }
  return found == (TORSOR_QUERY | TORSOR_KEY);
}

FieldAttr fieldOf(SchemePlan &plan, Operation *declaration) {
  Builder b(declaration->getContext());
  int64_t stage = TORSOR_LOADED, flags = 0;
  ArrayAttr axes = b.getArrayAttr({});
  Type element;
  FloatAttr condition;
  if (auto clock = dyn_cast<ClockOp>(declaration)) {
    stage = TORSOR_PER_TOKEN;
    flags = TORSOR_ARG_CLOCK;
    if (clock.getMoving())
      flags |= TORSOR_ARG_MOVING;
    if (clock.getRising() || fadesBy(plan, clock))
      flags |= TORSOR_ARG_RISING;
    if (clock.getName() == "pos") // else it is the index
      flags |= TORSOR_ARG_OPTIONAL;
    element = clock.getType().getElement();
  } else {
    element = cast<RankedTensorType>(declaration->getResult(0).getType())
                  .getElementType();
    axes = declaration->getAttrOfType<ArrayAttr>("axes");
  }
  if (auto input = dyn_cast<InputOp>(declaration)) {
    if (tellsSegments(plan.mask, input))
      flags |= TORSOR_ARG_SEGMENT;
    stage = input.getPer() == Per::Token      ? TORSOR_PER_TOKEN
            : input.getPer() == Per::Sequence ? TORSOR_PER_SEQUENCE
                                              : TORSOR_PER_CALL;
  }
  if (auto param = dyn_cast<ParamOp>(declaration)) {
    if (param.getOrthogonal())
      condition = b.getF64FloatAttr(1);
    else if (param.getCondition())
      condition = param.getConditionAttr();
  }
  int64_t sides = stage == TORSOR_PER_TOKEN ? sidesOf(declaration) : 0;
  return FieldAttr::get(
      declaration->getContext(),
      b.getStringAttr(SchemeArguments::getName(declaration)), element, stage,
      sides, flags, axes, declaration->getAttrOfType<FloatAttr>("low"),
      declaration->getAttrOfType<FloatAttr>("high"), condition,
      isa<ParamOp>(declaration) && contractReads(plan, declaration));
}

/// What attention reads at keys that lie in a cache: all that the pair
/// regions read of them, and their times unless they have been acted on.
llvm::SmallPtrSet<Operation *, 16> readAtCachedKeys(SchemePlan &plan) {
  SmallVector<Value> work;
  for (Value root :
       {plan.mask, plan.init, plan.logit, plan.valueRow, plan.branchNumber})
    if (root)
      work.push_back(root);
  for (const PlannedBlock &block : plan.valueBlocks)
    if (!plan.valuesActed && block.pairs.front().acts())
      work.push_back(block.pairs.front().unit->timeK);
  for (const PlannedBlock &block : plan.blocks)
    if (!plan.keysActed && block.pairs.front().acts())
      work.push_back(block.pairs.front().unit->timeK);
  for (const PlannedScan &scan : plan.scans)
    if (!scan.isStored)
      work.append(scan.terms.begin(), scan.terms.end());
  llvm::SmallPtrSet<Operation *, 16> seen, found;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (auto token = operand.getDefiningOp<TokenOp>())
        if (token.getSide() == Side::Key && isa<TimeOp, ReadOp>(op))
          found.insert(op->getOperand(0).getDefiningOp());
    work.append(op->operand_begin(), op->operand_end());
  }
  return found;
}

/// k and v, the index, running sums, and what attention reads at cached keys.
ArrayAttr streamsOf(SchemePlan &plan, ArrayRef<Attribute> arguments) {
  Builder b(plan.scheme.getContext());
  auto axes = [&](ArrayRef<std::string> names) {
    SmallVector<StringRef> list(names.begin(), names.end());
    return b.getStrArrayAttr(list);
  };
  SmallVector<Attribute> streams;
  auto add = [&](StringRef name, Type type, int64_t flags, ArrayAttr shape) {
    streams.push_back(FieldAttr::get(b.getContext(), b.getStringAttr(name),
                                     type, TORSOR_PER_TOKEN, TORSOR_KEY, flags,
                                     shape, {}, {}, {}, false));
  };
  add("k", plan.k, 0, axes({"G", std::to_string(plan.head)}));
  if (plan.valueLow < 0)
    add("v", plan.v, 0, axes({"G", std::to_string(plan.value)}));
  for (const PlannedScan &scan : plan.scans) {
    if (!scan.isStored)
      continue;
    RunningOp clock = scan.clock;
    SmallVector<std::string> names;
    if (StringRef axis = plan.axisOf(scan); !axis.empty())
      names.push_back(axis.str());
    if (int64_t members = clock ? clock.getType().getMembers() : 0)
      names.push_back(std::to_string(members));
    std::string name = plan.nameOf(scan);
    add(name, b.getF64Type(), TORSOR_ARG_CLOCK, axes(names));
    if (clock && clock.getExclusive())
      add(name + ".next", b.getF64Type(), TORSOR_ARG_CLOCK, axes(names));
  }
  add("index", b.getI64Type(), TORSOR_ARG_OPTIONAL, axes({}));
  auto read = readAtCachedKeys(plan);
  for (auto [attribute, declaration] :
       llvm::zip(arguments, plan.arguments.getAll())) {
    auto field = cast<FieldAttr>(attribute);
    if (read.contains(declaration))
      add(field.getName(), field.getType(),
          field.getFlags() | TORSOR_ARG_OPTIONAL, field.getAxes());
  }
  return b.getArrayAttr(streams);
}

} // namespace

WindowOfMask windowOf(const MaskBounds &bounds) {
  WindowOfMask result{0, 0};
  if (bounds.byPosition)
    return {-1, 0};
  for (IntervalAttr interval : bounds.visible) {
    // Every key of the interval is at most `behind` before the first query of
    // a tile, or lies before `end`.
    int64_t behind = std::numeric_limits<int64_t>::max();
    int64_t end = std::numeric_limits<int64_t>::max();
    for (AffineExpr lower : interval.getLower().getResults()) {
      AffineExpr distance = getAffineDimExpr(0, interval.getContext()) - lower;
      distance = simplifyAffineExpr(distance, 2, 1);
      if (auto constant = dyn_cast<AffineConstantExpr>(distance))
        behind = std::min(behind, constant.getValue());
    }
    for (AffineExpr upper : interval.getUpper().getResults())
      if (auto constant = dyn_cast<AffineConstantExpr>(upper))
        end = std::min(end, constant.getValue());
    if (behind != std::numeric_limits<int64_t>::max())
      result.window = std::max(result.window, behind);
    else if (end != std::numeric_limits<int64_t>::max())
      result.first = std::max(result.first, end);
    else
      return {-1, 0};
  }
  return result;
}

InterfaceOp formInterface(SchemePlan &plan, OpBuilder &module,
                          DictionaryAttr operations) {
  SchemeOp scheme = plan.scheme;
  SmallVector<Attribute> arguments;
  for (Operation *declaration : plan.arguments.getAll())
    arguments.push_back(fieldOf(plan, declaration));
  auto tables = [&](bool perSequence) {
    SmallVector<Attribute> info;
    for (const FilledTable *table : plan.tables.get(perSequence))
      info.push_back(table->info);
    return module.getArrayAttr(info);
  };
  auto text = [&](StringRef name) {
    auto value = scheme->getAttrOfType<StringAttr>(name);
    return value ? value : module.getStringAttr("");
  };
  WindowOfMask window = windowOf(boundMask(plan.mask, module.getContext()));
  return InterfaceOp::create(
      module, scheme.getLoc(), scheme.getSymNameAttr(),
      module.getI64IntegerAttr(plan.head), module.getI64IntegerAttr(plan.value),
      TypeAttr::get(plan.q), TypeAttr::get(plan.k), TypeAttr::get(plan.v),
      TypeAttr::get(plan.o), operations, module.getArrayAttr(arguments),
      streamsOf(plan, arguments), text("torsor.canonical"),
      text("torsor.manifest"), module.getStringAttr(contractText(plan)),
      tables(false), tables(true),
      plan.keysActed ? module.getUnitAttr() : UnitAttr(),
      module.getI64IntegerAttr(decodeQueries),
      module.getI64IntegerAttr(window.window),
      module.getI64IntegerAttr(window.first),
      plan.valueLow >= 0 ? module.getUnitAttr() : UnitAttr(),
      plan.whyNoRebase.empty() ? StringAttr()
                               : module.getStringAttr(plan.whyNoRebase));
}

} // namespace torsor
