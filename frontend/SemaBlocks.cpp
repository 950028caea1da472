// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: the primitive blocks of actions.
#include "frontend/SemaBlocks.h"

#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

Meaning Sema::make(ActionNode node, const Expr *e, Env &env) {
  vectorBytes += sizeof(ActionNode) + 16 + node.kids.size() * sizeof(void *);
  for (const ActionNode *kid : node.kids) {
    node.varies |= kid->varies;
    node.size += kid->size;
    node.height = std::max(node.height, kid->height + 1);
  }
  node.range = graph.placeOf(e->range);
  // Whoever walks an action walks all of it.
  if (!spend(env, e->range, node.size / 4))
    return Meaning();
  if (node.size > (1 << 20) || node.height > 512)
    return fail(env, e->range, "large",
                "this action has more parts than a head of 1024 lanes can use");
  out.actions.push_back(std::move(node));
  return &out.actions.back();
}

const VectorInfo *Sema::make(VectorInfo vector) {
  vectorBytes += sizeof(VectorInfo) + vector.elements.size() * sizeof(Scalar);
  for (const Scalar &element : vector.elements)
    vector.varies |= element.node->varies;
  out.vectors.push_back(std::move(vector));
  return &out.vectors.back();
}

bool Sema::bindBlock(BlockCall &call, Env &env) {
  llvm::ArrayRef<StringRef> formals = call.block.formals;
  StringRef name = call.block.name;
  for (const Argument &arg : call.e->args) {
    size_t k = &arg - call.e->args.begin();
    StringRef key = arg.label.text;
    if (!arg.label) {
      if (k > 0) {
        bool isLayout = name == "split" || name == "adjacent";
        fail(env, arg.range, "named",
             isLayout
                 ? fmt::format("'{0}' takes one action; a direct sum is "
                               "written {0}(A + B)",
                               name.str())
                 : fmt::format("only the first argument of '{}' may go without "
                               "its name; write '{} = {}'",
                               name.str(),
                               formals[std::min(k, formals.size() - 1)].str(),
                               quote(arg.value)));
        return false;
      }
      key = formals.front();
    } else if (!llvm::is_contained(formals, key)) {
      fail(env, arg.label.range, "named",
           fmt::format("'{}' has no argument '{}'{}", name.str(), key.str(),
                       key == "layout"
                           ? "; the layout is written around the action: "
                             "split(…) or adjacent(…)"
                           : "; it takes " + llvm::join(formals, ", ")));
      return false;
    }
    if (!call.args.try_emplace(key, arg.value).second) {
      fail(env, arg.range, "named",
           fmt::format("'{}' is given twice", key.str()));
      return false;
    }
  }
  bool perLane = name == "gain" && !call.args.contains("by") &&
                 (call.args.contains("q") || call.args.contains("k"));
  for (StringRef formal : formals) {
    bool optional =
        formal == "couple" || (name == "gain" && (formal == "by"  ? perLane
                                                  : formal != "A" ? !perLane
                                                                  : false));
    if (optional || call.args.contains(formal))
      continue;
    fail(env, call.e->name.range, "missing",
         fmt::format("'{}' needs its argument '{}'", name.str(), formal.str()));
    return false;
  }
  return true;
}

Meaning Sema::evalBlock(const CallExpr *e, Env &env) {
  BlockCall call{e, *findBlock(e->name.text), {}};
  if (!bindBlock(call, env))
    return Meaning();
  StringRef name = call.block.name;
  if (name == "zero") {
    std::optional<int64_t> width = evalWidth(call, env);
    if (!width)
      return Meaning();
    ActionNode node{ActionOp::Zero, *width};
    return make(std::move(node), e, env);
  }
  if (name == "turn")
    return evalTurn(call, env);
  if (name == "decay")
    return evalDecay(call, env);
  if (name == "jordan")
    return evalJordan(call, env);
  if (name == "plane")
    return evalPlane(call, env);
  if (name == "basis")
    return evalBasis(call, env);
  if (name == "gain")
    return evalGain(call, env);
  return evalLayout(call, env);
}

/// Wider actions than any head may have are refused where they are made, so
/// that sums of widths stay small.
static constexpr int64_t widthLimit = 1 << 20;

std::optional<int64_t> Sema::evalWidth(BlockCall &call, Env &env) {
  const Expr *e = call.args.lookup("width");
  std::optional<int64_t> width = evalSize(e, env, "a width");
  if (!width || (*width >= 1 && *width <= widthLimit))
    return width;
  fail(env, e->range, "width",
       *width < 1
           ? fmt::format("a width must be at least 1, but it is {}",
                         printSize(*width))
           : fmt::format("a head is at most 1024 lanes wide, but this width is "
                         "{}",
                         printSize(*width)));
  return std::nullopt;
}

Meaning Sema::evalRate(BlockCall &call, StringRef formal, Env &env) {
  const Expr *e = call.args.lookup(formal);
  Meaning value = coerce(eval(e, env), NumberType::Real, e, env,
                         fmt::format("'{}'", formal.str()));
  if (value.isPoison())
    return value;
  Varies both = varies::query | varies::key, by = value.getVaries() & both;
  if (by)
    return fail(
        env, e->range, "rate",
        fmt::format("'{}' cannot depend on {}: the law exp((t - s) X) needs "
                    "one generator for all pairs; use a clock ('clock c = sum "
                    "l <= j: …') instead",
                    formal.str(),
                    by == both            ? "a query or a key"
                    : by == varies::query ? "the query"
                                          : "the key"));
  if (value.getVaries() & varies::group)
    return fail(env, e->range, "rate",
                fmt::format("'{}' cannot depend on the key/value head 'g'; "
                            "write it with the query head 'h'",
                            formal.str()));
  return value;
}

Meaning Sema::evalActionArgument(BlockCall &call, Env &env) {
  const Expr *e = call.args.lookup("A");
  Meaning value = eval(e, env);
  if (value.isPoison() || value.kind == Meaning::Action)
    return value;
  bool isEmpty = llvm::isa<SumExpr>(e) && value.isNumber() &&
                 value.isConstant() && value.scalar.node->asReal() == 0;
  return fail(env, e->range, "type",
              fmt::format("'{}' takes an action, but '{}' is {}{}",
                          call.block.name.str(), quote(e), describe(value),
                          value.kind == Meaning::Vector
                              ? "; frequencies become one by rotation(…)"
                          : isEmpty ? "; a sum without terms is the number 0"
                                    : ""));
}

Meaning Sema::evalTurn(BlockCall &call, Env &env) {
  Meaning freq = evalRate(call, "freq", env);
  if (freq.isPoison())
    return freq;
  ActionNode node{ActionOp::Turn, 2};
  node.rate = freq.scalar;
  node.varies = freq.getVaries();
  return make(std::move(node), call.e, env);
}

Meaning Sema::evalDecay(BlockCall &call, Env &env) {
  std::optional<int64_t> width = evalWidth(call, env);
  Meaning rate = evalRate(call, "rate", env);
  if (!width || rate.isPoison())
    return Meaning();
  const Expr *e = call.args.lookup("rate");
  if (rate.scalar.range.lo < 0)
    return fail(
        env, e->range, "growth",
        "the rate of a decay must be at least 0, but " +
            (rate.isConstant()
                 ? "it is " + printConstant(rate.scalar.node)
                 : fmt::format("'{}' may be negative; declare its range ('in 0 "
                               ".. inf')",
                               quote(e))));
  // A number written there; what is computed, or stands in parentheses as the
  // canonical form has it, is rarely meant as a factor.
  if (llvm::isa<RealExpr>(e) && !e->parens &&
      rate.scalar.node->looksLikeFactor())
    warn(
        e->range, "rate",
        fmt::format("a rate of {0} fades by a factor of {1} per unit; if it is "
                    "meant as that factor, write -log({0}), else ({0})",
                    printConstant(rate.scalar.node),
                    printNumber(std::exp(-rate.scalar.node->asReal()))));
  ActionNode node{ActionOp::Decay, *width};
  node.rate = rate.scalar;
  node.varies = rate.getVaries();
  return make(std::move(node), call.e, env);
}

Meaning Sema::evalJordan(BlockCall &call, Env &env) {
  Meaning base = evalActionArgument(call, env);
  const Expr *orderExpr = call.args.lookup("order");
  std::optional<int64_t> order =
      evalSize(orderExpr, env, "the order of a Jordan block");
  Meaning couple =
      call.args.contains("couple")
          ? evalRate(call, "couple", env)
          : Meaning(graph.real(1.0, call.e->range), Interval::exactly(1.0));
  if (base.isPoison() || !order || couple.isPoison())
    return Meaning();
  if (*order < 1)
    return fail(env, orderExpr->range, "width",
                fmt::format("the order of a Jordan block must be at least 1, "
                            "but it is {}",
                            printSize(*order)));
  if (*order > widthLimit / base.action->width)
    return fail(env, orderExpr->range, "width",
                "this Jordan block is wider than a head of 1024 lanes");
  const ActionNode *laid = nullptr;
  walkAction(base.action, [&](const ActionNode *x) {
    if (!laid && (x->op == ActionOp::Split || x->op == ActionOp::Adjacent ||
                  x->op == ActionOp::Choose || x->op == ActionOp::Basis))
      laid = x;
  });
  if (laid)
    return fail(env, call.args.lookup("A")->range, "layout",
                fmt::format("a Jordan chain repeats a plain block; put '{}' "
                            "around the whole chain",
                            getSpelling(laid->op).str()));
  ActionNode node{ActionOp::Jordan, base.action->width * *order};
  node.kids = {base.action};
  node.order = *order;
  node.rate = couple.scalar;
  node.varies = couple.getVaries();
  return make(std::move(node), call.e, env);
}

/// Are two constant vectors parallel, up to rounding?
static bool areParallel(const VectorInfo &u, const VectorInfo &v) {
  double uu = 0, vv = 0, uv = 0;
  for (int64_t p = 0; p != u.length; ++p) {
    double x = u.elements[p].node->asReal(), y = v.elements[p].node->asReal();
    uu += x * x;
    vv += y * y;
    uv += x * y;
  }
  return uu * vv - uv * uv <= 1e-12 * uu * vv;
}

Meaning Sema::evalPlane(BlockCall &call, Env &env) {
  Meaning freq = evalRate(call, "freq", env);
  const VectorInfo *vectors[2] = {};
  for (int k : {0, 1}) {
    const Expr *e = call.args.lookup(k ? "b" : "a");
    Meaning value = eval(e, env);
    if (value.isPoison())
      continue;
    if (value.kind != Meaning::Vector)
      fail(env, e->range, "type",
           fmt::format("'plane' takes two vectors, but '{}' is {}", quote(e),
                       describeNoVector(value)));
    else if (value.getVaries() & (varies::query | varies::key))
      fail(env, e->range, "rate",
           "the plane cannot depend on a token: the law exp((t - s) X) needs "
           "one generator for all pairs");
    else
      vectors[k] = value.vector;
  }
  if (freq.isPoison() || !vectors[0] || !vectors[1])
    return Meaning();
  if (vectors[0]->length != vectors[1]->length)
    return fail(env, call.e->range, "length",
                fmt::format("the two vectors of a plane must have one length, "
                            "but they have {} and {} elements",
                            vectors[0]->length, vectors[1]->length));
  if (vectors[0]->isConstant() && vectors[1]->isConstant() &&
      areParallel(*vectors[0], *vectors[1]))
    return fail(env, call.e->range, "plane",
                "the two vectors are parallel and span no plane");
  ActionNode node{ActionOp::Plane, vectors[0]->length};
  node.rate = freq.scalar;
  node.u = vectors[0];
  node.v = vectors[1];
  node.varies = freq.getVaries() | Meaning(node.u).getVaries() |
                Meaning(node.v).getVaries();
  return make(std::move(node), call.e, env);
}
