// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The axioms of an action: one layout, one clock, one generator, boundedness
// on the half-line it is used on.
#include "passes/Legality.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

#include <cmath>

using namespace mlir;

namespace torsor {

static bool isActionOp(Operation *op) {
  return op->getNumResults() == 1 &&
         isa<ActionType>(op->getResult(0).getType());
}

/// Every turn stands under one layout, every block under at most one clock,
/// wherever the action is used.
void Legality::checkPlacing() {
  struct Above {
    bool used = false, laidOut = true;  // under a layout in every use
    bool layout = false, clock = false; // in some use
  };
  llvm::DenseMap<Value, Above> above;
  for (Operation &op : llvm::reverse(scheme.getBody().front())) {
    if (!isActionOp(&op) && !isa<ActionTermOp, ValueActionOp>(op))
      continue;
    Above state;
    state.laidOut = false;
    if (isActionOp(&op)) {
      state = above.lookup(op.getResult(0));
      state.laidOut &= state.used;
      if (isa<SplitOp, AdjacentOp>(op)) {
        require(!state.layout, &op, "layout",
                "the lanes of these pairs are already laid out");
        state.layout = state.laidOut = true;
      }
      if (isa<AtOp>(op)) {
        require(!state.clock, &op, "one clock",
                "this action already has its clock");
        state.clock = true;
      }
      if (isa<TurnOp>(op))
        require(state.laidOut || !state.used, &op, "layout",
                "which lanes form a pair? a turn stands under 'split' or "
                "'adjacent'");
    }
    for (Value operand : op.getOperands()) {
      if (!isa<ActionType>(operand.getType()))
        continue;
      Above &below = above[operand];
      below.used = true;
      below.laidOut &= state.laidOut;
      below.layout |= state.layout;
      below.clock |= state.clock;
    }
  }
}

void Legality::checkAction(Value action, bool isValueAction) {
  int64_t width = cast<ActionType>(action.getType()).getWidth();
  require(width >= 1 && width <= 1024, action.getDefiningOp(), "range",
          "an action is 1 to 1024 lanes wide, but this one is " + Twine(width));
  FailureOr<ActionForm> form = flattenAction(action);
  if (failed(form)) {
    broken = true;
    return;
  }
  llvm::SmallSet<Operation *, 16> seen;
  for (const ActionUnit &unit : form->units)
    if (seen.insert(unit.block).second)
      checkUnit(unit, isValueAction);
}

/// Frequencies, rates and couplings of a block.
static SmallVector<Value> ratesOf(Operation *block) {
  SmallVector<Value> rates;
  for (Value operand : block->getOperands())
    if (!isa<ActionType>(operand.getType()))
      rates.push_back(operand);
  return rates;
}

void Legality::checkUnit(const ActionUnit &unit, bool isValueAction) {
  Operation *op = unit.block;
  auto generator = dyn_cast<Generator>(op);
  require(bool(generator), op, "generator",
          "an action must end in blocks that have a generator");
  if (!generator)
    return;
  uint16_t tokens = VarySet::Query | VarySet::Key | VarySet::Path |
                    VarySet::Content | VarySet::Score;
  for (Value rate : ratesOf(op)) {
    VarySet set = varies.of(rate);
    require(!set.has(tokens), op, "one generator",
            "the law exp((t - s) X) needs one generator for all pairs, but "
            "this rate varies by " +
                set.getText() + "; a clock may");
    for (int64_t n = 0; std::optional<double> value = constantReal(rate, n);
         ++n) {
      require(std::isfinite(*value), op, "range", "a rate must be finite");
      if (!isa<RankedTensorType>(rate.getType()))
        break;
    }
  }
  checkClock(unit);
  if (isValueAction) {
    require(isIsometry(unit) &&
                llvm::none_of(unit.within, llvm::IsaPred<ChooseOp>) &&
                unit.by.empty() && unit.gainQ.empty(),
            op, "isometry",
            "an action on values must preserve length on every pair");
    return;
  }
  // exp(delta X) must stay bounded for all delta that the mask lets through.
  // A bias may grow: it is the user's, and only warned of.
  if (!growsBackwards(op))
    return;
  require(causal, op, "half-line",
          "'" + op->getName().stripDialect() +
              "' grows without bound when a query sees later keys, and this "
              "mask does not exclude them");
  if (auto decay = dyn_cast<DecayOp>(op))
    require(ranges.of(decay.getRate()).isAtLeast(0), op, "half-line",
            "a decay needs a rate of at least 0, and this cannot be shown");
  if (auto jordan = dyn_cast<JordanOp>(op))
    require(jordan.getOrder() < 2 || hasDecay(jordan.getBase()), op,
            "half-line",
            "a chain of order above 1 grows with the distance unless a decay "
            "stands inside");
}

bool Legality::hasDecay(Value action) const {
  SmallVector<Value> work = {action};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (auto decay = dyn_cast_or_null<DecayOp>(op))
      if (ranges.of(decay.getRate()).isAbove(0))
        return true;
    if (op)
      for (Value operand : op->getOperands())
        if (isa<ActionType>(operand.getType()))
          work.push_back(operand);
  }
  return false;
}

/// The times of an action, and whether they may run backwards.
void Legality::checkClock(const ActionUnit &unit) {
  if (unit.timeQ) {
    Operation *place = unit.timeQ.getDefiningOp();
    require(!varies.of(unit.timeQ).has(VarySet::Key | VarySet::Path), place,
            "sides", "the query's time cannot depend on the key");
    place = unit.timeK.getDefiningOp();
    require(!varies.of(unit.timeK).has(VarySet::Query | VarySet::Path), place,
            "sides", "the key's time cannot depend on the query");
  }
  if (!growsBackwards(unit.block) || !unit.timeQ)
    return;
  // `pos` must not run backwards (the call checks it), a rising clock and a
  // sum of terms at least 0 do not.
  auto q = unit.timeQ.getDefiningOp<TimeOp>();
  auto k = unit.timeK.getDefiningOp<TimeOp>();
  bool rises = false;
  if (q && k && q.getClock() == k.getClock()) {
    if (auto clock = q.getClock().getDefiningOp<ClockOp>())
      rises = clock.getName() == "pos" || clock.getRising();
    if (auto sum = q.getClock().getDefiningOp<RunningOp>()) {
      Value term =
          cast<YieldOp>(sum.getTerm().front().getTerminator()).getValues()[0];
      rises = ranges.of(term).isAtLeast(0);
    }
  }
  require(rises, unit.block, "half-line",
          "'" + unit.block->getName().stripDialect() +
              "' needs a clock that never runs backwards: 'pos', a rising "
              "clock, or a running sum of terms at least 0");
}

void Legality::checkBasis(BasisOp op) {
  auto param = op.getColumns().getDefiningOp<ParamOp>();
  std::optional<double> bound;
  if (param && param.getOrthogonal())
    bound = 1;
  else if (param && param.getCondition())
    bound = param.getCondition()->convertToDouble();
  require(bound && *bound >= 1 && *bound <= 1000, op, "conditioning",
          "the columns of a basis must be a param that is orthogonal or has a "
          "condition of at most 1000, so that its inverse is safe");
}

void Legality::checkGain(GainOp op) {
  if (op.getBy())
    require(ranges.of(op.getBy()).isAbove(0), op, "range",
            "a gain must be above 0, and this cannot be shown");
  uint16_t tokens = VarySet::Query | VarySet::Key | VarySet::Path |
                    VarySet::Content | VarySet::Score;
  for (Value gain : {Value(op.getBy()), Value(op.getQ()), Value(op.getK())})
    if (gain)
      require(!varies.of(gain).has(tokens), op, "one generator",
              "a gain cannot depend on a token");
}

} // namespace torsor
