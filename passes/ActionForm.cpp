// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resolves the combinators of an action to lanes, times and gains of its
// primitive blocks.
#include "passes/ActionForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {
namespace {

constexpr int maxNesting = 256;
constexpr int maxVisits = 65536;

int64_t widthOf(Value action) {
  return cast<ActionType>(action.getType()).getWidth();
}

/// What stands above the action that is visited.
struct Context {
  /// Lanes of the head, by the lanes of the visited action.
  SmallVector<int64_t, 2> lanes;
  ActionUnit unit;
  int depth = 0;
};

class Flattener {
public:
  explicit Flattener(ActionForm &form) : form(form) {}
  LogicalResult visit(Value action, Context context);

private:
  LogicalResult descend(Operation *through, Value base, Context context,
                        int64_t operand);
  void emit(Operation *block, const Context &context);
  LogicalResult visitConcat(ConcatOp op, const Context &context);
  LogicalResult visitGain(GainOp op, Context context);

  ActionForm &form;
  int visits = 0;
};

/// The lanes below a layout: pair p of the base is its lanes 2p and 2p + 1.
SmallVector<int64_t, 2> layOut(ArrayRef<int64_t> lanes, bool split) {
  if (!split)
    return SmallVector<int64_t, 2>(lanes);
  SmallVector<int64_t, 2> below;
  int64_t half = lanes.size() / 2;
  for (int64_t p = 0; p < half; ++p) {
    below.push_back(lanes[p]);
    below.push_back(lanes[p + half]);
  }
  return below;
}

void Flattener::emit(Operation *block, const Context &context) {
  ActionUnit unit = context.unit;
  unit.block = block;
  auto select = [&](size_t begin, size_t count) {
    ActionUnit part = unit;
    part.lanes.assign(context.lanes.begin() + begin,
                      context.lanes.begin() + begin + count);
    for (auto *gains : {&part.gainQ, &part.gainK}) {
      // Gains per lane follow their lanes; `second` holds the lane's place.
      SmallVector<std::pair<Value, int64_t>, 0> kept;
      for (size_t g = 0; g < gains->size(); g += context.lanes.size())
        for (size_t l = begin; l < begin + count; ++l)
          kept.push_back((*gains)[g + l]);
      *gains = std::move(kept);
    }
    return part;
  };
  if (!isa<TurnOp>(block)) {
    form.units.push_back(select(0, context.lanes.size()));
    return;
  }
  for (size_t p = 0; 2 * p + 1 < context.lanes.size(); ++p) {
    ActionUnit part = select(2 * p, 2);
    part.index = p;
    form.units.push_back(std::move(part));
  }
}

LogicalResult Flattener::visitConcat(ConcatOp op, const Context &context) {
  size_t begin = 0, all = context.lanes.size();
  for (Value part : op.getParts()) {
    Context inner = context;
    size_t width = widthOf(part);
    inner.lanes.assign(context.lanes.begin() + begin,
                       context.lanes.begin() + begin + width);
    for (auto [from, to] :
         {std::pair(&context.unit.gainQ, &inner.unit.gainQ),
          std::pair(&context.unit.gainK, &inner.unit.gainK)}) {
      to->clear();
      for (size_t g = 0; g < from->size(); g += all)
        to->append(from->begin() + g + begin,
                   from->begin() + g + begin + width);
    }
    begin += width;
    ++inner.depth;
    if (failed(visit(part, std::move(inner))))
      return failure();
  }
  return success();
}

LogicalResult Flattener::visitGain(GainOp op, Context context) {
  if (op.getBy())
    context.unit.by.push_back(op.getBy());
  for (auto [vector, gains] : {std::pair(op.getQ(), &context.unit.gainQ),
                               std::pair(op.getK(), &context.unit.gainK)})
    if (vector)
      for (size_t l = 0; l < context.lanes.size(); ++l)
        gains->push_back({vector, int64_t(l)});
  ++context.depth;
  return visit(op.getBase(), std::move(context));
}

LogicalResult Flattener::descend(Operation *through, Value base,
                                 Context context, int64_t operand) {
  context.unit.within.push_back(through);
  context.unit.withinLanes.push_back(context.lanes);
  context.unit.branch.push_back(operand);
  ++context.depth;
  return visit(base, std::move(context));
}

/// Reorders the gains per lane as `layOut` reorders the lanes.
void layOutGains(Context &context, bool split) {
  size_t all = context.lanes.size();
  for (auto *gains : {&context.unit.gainQ, &context.unit.gainK}) {
    if (!split)
      continue;
    SmallVector<std::pair<Value, int64_t>, 0> below;
    for (size_t g = 0; g < gains->size(); g += all)
      for (size_t p = 0; p < all / 2; ++p) {
        below.push_back((*gains)[g + p]);
        below.push_back((*gains)[g + p + all / 2]);
      }
    *gains = std::move(below);
  }
}

LogicalResult Flattener::visit(Value action, Context context) {
  Operation *op = action.getDefiningOp();
  if (!op)
    return emitError(action.getLoc()) << "an action must be an operation";
  if (context.depth > maxNesting)
    return op->emitError("an action may be nested ")
           << maxNesting << " levels deep, but this one is deeper";
  if (++visits > maxVisits)
    return op->emitError("an action may have ")
           << maxVisits << " blocks, but this one has more";
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ConcatOp concat) { return visitConcat(concat, context); })
      .Case<SplitOp, AdjacentOp>([&](auto layout) {
        bool split = isa<SplitOp>(op);
        layOutGains(context, split);
        context.lanes = layOut(context.lanes, split);
        context.unit.hasLayout = true;
        ++context.depth;
        return visit(layout.getBase(), std::move(context));
      })
      .Case([&](GainOp gain) { return visitGain(gain, std::move(context)); })
      .Case([&](AtOp at) {
        // The place next to the block counts.
        context.unit.timeQ = at.getQ();
        context.unit.timeK = at.getK();
        ++context.depth;
        return visit(at.getBase(), std::move(context));
      })
      .Case([&](BasisOp basis) {
        return descend(op, basis.getBase(), std::move(context), 0);
      })
      .Case([&](ProductOp product) {
        // A gain on the product is that of one factor.
        Context other = context;
        other.unit.by.clear();
        other.unit.gainQ.clear();
        other.unit.gainK.clear();
        return success(succeeded(descend(op, product.getLhs(), context, 0)) &&
                       succeeded(descend(op, product.getRhs(), other, 1)));
      })
      .Case([&](ChooseOp choose) {
        return success(
            succeeded(descend(op, choose.getThen(), context, 0)) &&
            succeeded(descend(op, choose.getOtherwise(), context, 1)));
      })
      .Default([&](Operation *) {
        emit(op, context);
        return success();
      });
}

} // namespace

FailureOr<ActionForm> flattenAction(Value action) {
  ActionForm form;
  form.width = widthOf(action);
  Context context;
  for (int64_t l = 0; l < form.width; ++l)
    context.lanes.push_back(l);
  if (failed(Flattener(form).visit(action, std::move(context))))
    return failure();
  return form;
}

/// The units of a chain's base on all copies.
static FailureOr<std::vector<ActionUnit>> copiesOf(const ActionUnit &unit) {
  auto jordan = cast<JordanOp>(unit.block);
  FailureOr<ActionForm> base = flattenAction(jordan.getBase());
  if (failed(base))
    return failure();
  std::vector<ActionUnit> copies;
  for (int64_t copy = 0; copy < int64_t(jordan.getOrder()); ++copy) {
    auto laneOf = [&](int64_t lane) {
      return unit.lanes[copy * base->width + lane];
    };
    for (ActionUnit part : base->units) {
      for (int64_t &lane : part.lanes)
        lane = laneOf(lane);
      for (auto &lanes : part.withinLanes)
        for (int64_t &lane : lanes)
          lane = laneOf(lane);
      if (!part.timeQ) {
        part.timeQ = unit.timeQ;
        part.timeK = unit.timeK;
      }
      part.within.insert(part.within.begin(), unit.within.begin(),
                         unit.within.end());
      part.withinLanes.insert(part.withinLanes.begin(),
                              unit.withinLanes.begin(), unit.withinLanes.end());
      part.branch.insert(part.branch.begin(), unit.branch.begin(),
                         unit.branch.end());
      copies.push_back(std::move(part));
    }
  }
  return copies;
}

LogicalResult expandChains(ActionForm &form) {
  std::vector<ActionUnit> units;
  std::vector<ActionUnit> work(form.units.rbegin(), form.units.rend());
  while (!work.empty()) {
    ActionUnit unit = std::move(work.back());
    work.pop_back();
    auto jordan = dyn_cast<JordanOp>(unit.block);
    if (jordan && units.size() < size_t(maxVisits)) {
      FailureOr<std::vector<ActionUnit>> copies = copiesOf(unit);
      if (failed(copies))
        return failure();
      work.insert(work.end(), copies->rbegin(), copies->rend());
      if (jordan.getOrder() == 1 && unit.by.empty() && unit.gainQ.empty())
        continue;
    }
    units.push_back(std::move(unit));
  }
  form.units = std::move(units);
  return success();
}

bool growsBackwards(mlir::Operation *block) {
  return !llvm::isa<UnipotentOp>(block) &&
         !llvm::cast<Generator>(block).boundedOnFuture();
}

bool isIsometry(const ActionUnit &unit) {
  auto generator = dyn_cast<Generator>(unit.block);
  return generator && generator.isSkew() &&
         llvm::none_of(unit.within, [](Operation *in) {
           auto basis = dyn_cast<BasisOp>(in);
           auto param =
               basis ? basis.getColumns().getDefiningOp<ParamOp>() : ParamOp();
           return basis && !(param && param.getOrthogonal());
         });
}

std::optional<double> constantReal(Value value, int64_t index) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return double(integer.getValue().getSExtValue());
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense || index < 0 || index >= dense.getNumElements())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getValues<APFloat>()[index].convertToDouble();
  if (dense.getElementType().isInteger(64))
    return double(dense.getValues<APInt>()[index].getSExtValue());
  return std::nullopt;
}

} // namespace torsor
