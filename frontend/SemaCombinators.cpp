// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: layouts, bases, gains, places, sums and products of actions.
#include "frontend/SemaBlocks.h"

#include "fmt/format.h"

using namespace torsor;

Meaning Sema::evalLayout(BlockCall &call, Env &env) {
  Meaning base = evalActionArgument(call, env);
  if (base.isPoison())
    return base;
  llvm::StringRef name = call.block.name;
  if (base.action->width % 2)
    return fail(env, call.args.lookup("A")->range, "width",
                fmt::format("'{}' pairs lanes, so the width must be even, but "
                            "it is {}",
                            name.str(), base.action->width));
  const ActionNode *inside = nullptr;
  walkAction(base.action, [&](const ActionNode *x) {
    if (!inside && (x->op == ActionOp::Split || x->op == ActionOp::Adjacent))
      inside = x;
  });
  if (inside) {
    llvm::StringRef inner = getSpelling(inside->op);
    report(env, call.e->range, "layout",
           fmt::format("these lanes are paired twice: '{}' inside '{}'",
                       inner.str(), name.str()))
        .note(inside->range, fmt::format("'{}' is here", inner.str()));
    return Meaning();
  }
  ActionNode node{name == "split" ? ActionOp::Split : ActionOp::Adjacent,
                  base.action->width};
  node.kids = {base.action};
  return make(std::move(node), call.e, env);
}

Meaning Sema::evalBasis(BlockCall &call, Env &env) {
  Meaning base = evalActionArgument(call, env);
  const Expr *e = call.args.lookup("columns");
  Meaning columns = eval(e, env);
  if (base.isPoison() || columns.isPoison())
    return Meaning();
  const TensorInfo *tensor =
      columns.kind == Meaning::Tensor ? columns.tensor : nullptr;
  if (!tensor || !tensor->isParam() || tensor->axes.size() != 2)
    return fail(env, e->range, "type",
                fmt::format("'columns' must be a square 'param', but '{}' is "
                            "{}",
                            quote(e), describe(columns)));
  auto extent = [](const AxisInfo &axis) -> std::string {
    switch (axis.kind) {
    case AxisInfo::Constant:
      return std::to_string(axis.extent);
    case AxisInfo::Heads:
      return "H";
    case AxisInfo::Groups:
      return "G";
    case AxisInfo::Open:
      break;
    }
    return "*";
  };
  for (const AxisInfo &axis : tensor->axes)
    if (axis.kind != AxisInfo::Constant || axis.extent != base.action->width)
      return fail(env, e->range, "width",
                  fmt::format("the action is {} lanes wide, but '{}' is {} by "
                              "{}",
                              base.action->width, tensor->name,
                              extent(tensor->axes[0]),
                              extent(tensor->axes[1])));
  if (!tensor->orthogonal && !tensor->condition)
    return fail(env, e->range, "basis",
                fmt::format("'{}' must be declared 'orthogonal' or with a "
                            "'condition' bound, so that its inverse is safe",
                            tensor->name));
  ActionNode node{ActionOp::Basis, base.action->width};
  node.kids = {base.action};
  node.columns = tensor;
  node.varies = varies::loaded;
  return make(std::move(node), call.e, env);
}

Meaning Sema::evalGain(BlockCall &call, Env &env) {
  Meaning base = evalActionArgument(call, env);
  if (!call.args.contains("by"))
    return evalLaneGain(call, base.action, env);
  if (call.args.contains("q") || call.args.contains("k"))
    return fail(
        env, call.e->range, "named",
        "a gain is given as 'by', or per lane as 'q' and 'k', not both");
  Meaning by = evalRate(call, "by", env);
  if (base.isPoison() || by.isPoison())
    return Meaning();
  const Expr *e = call.args.lookup("by");
  if (by.isConstant() ? by.scalar.node->asReal() <= 0 : by.scalar.range.lo < 0)
    return fail(env, e->range, "gain",
                fmt::format("a gain must be positive, but {}",
                            by.isConstant()
                                ? "it is " + printConstant(by.scalar.node)
                                : fmt::format("'{}' may not be; declare its "
                                              "range",
                                              quote(e))));
  ActionNode node{ActionOp::Gain, base.action->width};
  node.kids = {base.action};
  node.rate = by.scalar;
  node.varies = by.getVaries();
  return make(std::move(node), call.e, env);
}

Meaning Sema::evalLaneGain(BlockCall &call, const ActionNode *base, Env &env) {
  const VectorInfo *sides[2] = {};
  for (int k : {0, 1}) {
    const Expr *e = call.args.lookup(k ? "k" : "q");
    Meaning value = eval(e, env);
    if (value.isPoison() || !base)
      continue;
    if (value.kind != Meaning::Vector || value.vector->length != base->width)
      fail(env, e->range, "width",
           fmt::format("a gain per lane is a vector of the action's width {}, "
                       "but '{}' is {}",
                       base->width, quote(e), describeNoVector(value)));
    else if (value.getVaries() & (varies::query | varies::key))
      fail(env, e->range, "rate",
           "a gain per lane cannot depend on a token; a factor of a row is the "
           "clause 'scale'");
    else
      sides[k] = value.vector;
  }
  if (!sides[0] || !sides[1])
    return Meaning();
  ActionNode node{ActionOp::Gain, base->width};
  node.kids = {base};
  node.u = sides[0];
  node.v = sides[1];
  node.varies = Meaning(node.u).getVaries() | Meaning(node.v).getVaries();
  return make(std::move(node), call.e, env);
}

/// The first thing below an action that has its clock, or null.
static const ActionNode *findPlace(const ActionNode *action) {
  const ActionNode *found = nullptr;
  walkAction(action, [&](const ActionNode *x) {
    if (!found && x->op == ActionOp::At)
      found = x;
  });
  return found;
}

Meaning Sema::evalAt(const AtExpr *e, Env &env) {
  Meaning base = eval(e->value, env);
  if (!base.isPoison() && base.kind != Meaning::Action)
    base = fail(env, e->value->range, "type",
                fmt::format("'at' places an action, but '{}' is {}",
                            quote(e->value), describe(base)));
  if (!base.isPoison())
    if (const ActionNode *earlier = findPlace(base.action)) {
      report(env, e->range, "place", "this action already has its clock")
          .note(earlier->range, "it was placed here");
      base = Meaning();
    }
  ActionNode node{ActionOp::At};
  if (e->clock) {
    Meaning clock = eval(e->clock, env);
    if (clock.isPoison() || base.isPoison())
      return Meaning();
    if (clock.kind != Meaning::Clock)
      return fail(env, e->clock->range, "type",
                  fmt::format("'at' takes a clock, but '{}' is {}{}",
                              quote(e->clock), describe(clock),
                              clock.kind == Meaning::Tensor
                                  ? "; declare it with 'clock'"
                              : clock.isNumber()
                                  ? "; times are written at (q = …, k = …)"
                                  : ""));
    const ClockInfo &info = *clock.clock.clock;
    if (info.members >= 0 && clock.clock.member < 0)
      return fail(env, e->clock->range, "rank",
                  fmt::format("'{0}' is a family of {1} clocks; choose one: "
                              "{0}[…]",
                              info.name, info.members));
    node.clock = clock.clock;
    node.varies = info.varies;
  } else {
    Meaning query = evalNumber(e->query, env), key = evalNumber(e->key, env);
    if (query.getVaries() & varies::key)
      query = fail(env, e->query->range, "side",
                   "the query's place cannot depend on the key");
    if (key.getVaries() & varies::query)
      key = fail(env, e->key->range, "side",
                 "the key's place cannot depend on the query");
    if (query.isPoison() || key.isPoison() || base.isPoison())
      return Meaning();
    node.query = query.scalar;
    node.key = key.scalar;
    node.varies =
        (query.getVaries() | key.getVaries()) & ~(varies::query | varies::key);
  }
  node.width = base.action->width;
  node.kids = {base.action};
  return make(std::move(node), e, env);
}

Meaning Sema::directSum(llvm::ArrayRef<const ActionNode *> parts, const Expr *e,
                        Env &env) {
  ActionNode node{ActionOp::Sum};
  node.kids = parts;
  for (const ActionNode *part : parts)
    node.width += part->width;
  if (node.width > (1 << 20))
    return fail(env, e->range, "width",
                fmt::format("a head is at most 1024 lanes wide, but this "
                            "action has {}",
                            node.width));
  return make(std::move(node), e, env);
}

Meaning Sema::product(const ActionNode *a, const ActionNode *b, const Expr *e,
                      Env &env) {
  if (a->width != b->width)
    return fail(env, e->range, "width",
                fmt::format("a product acts on one space, but its sides are {} "
                            "and {} lanes wide",
                            a->width, b->width));
  if (!spend(env, e->range, uint64_t(a->width)))
    return Meaning();
  std::string fault = findCommuteFault(a, b);
  if (!fault.empty())
    return fail(env, e->range, "commute",
                "the two sides of '*' do not commute: " + fault);
  ActionNode node{ActionOp::Product, a->width};
  node.kids = {a, b};
  return make(std::move(node), e, env);
}
