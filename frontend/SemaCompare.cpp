// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: comparisons.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;

Meaning Sema::evalCompare(const CompareExpr *e, Env &env) {
  const Expr *left = e->first;
  Meaning a = eval(left, env), result;
  bool poisoned = false;
  for (const CompareLink &link : e->links) {
    Meaning b = eval(link.right, env);
    Meaning one = compare(link, a, b, left, e, env);
    poisoned |= one.isPoison();
    if (!poisoned) {
      if (&link == e->links.begin() ||
          (result.isConstant() && result.scalar.node->truth))
        result = one;
      else if (one.isConstant())
        result = one.scalar.node->truth ? result : one;
      else if (!result.isConstant())
        result = {graph.make(NodeOp::And, NumberType::Bool,
                             {result.scalar.node, one.scalar.node}, e->range),
                  {}};
    }
    a = b;
    left = link.right;
  }
  return poisoned ? Meaning() : result;
}

static NodeOp getNodeOp(CompareOp op) {
  static constexpr NodeOp ops[] = {
      NodeOp::Less,  NodeOp::LessEqual, NodeOp::Greater, NodeOp::GreaterEqual,
      NodeOp::Equal, NodeOp::NotEqual,  NodeOp::In};
  return ops[size_t(op)];
}

static bool holds(CompareOp op, int order) {
  switch (op) {
  case CompareOp::Less:
    return order < 0;
  case CompareOp::LessEqual:
    return order <= 0;
  case CompareOp::Greater:
    return order > 0;
  case CompareOp::GreaterEqual:
    return order >= 0;
  case CompareOp::Equal:
    return order == 0;
  default:
    return order != 0;
  }
}

/// The order of two constants of one kind.
static int orderOf(const Node *a, const Node *b) {
  if (a->type == NumberType::Bool)
    return int(a->truth) - int(b->truth);
  if (a->op == NodeOp::IntConstant && b->op == NodeOp::IntConstant)
    return a->integer.compare(b->integer);
  // An int and a real compare exactly: the real is rounded to ints instead.
  auto mixed = [](const Integer &whole, double real) {
    double floor = std::floor(real);
    int order = whole.compare(Integer::fromReal(floor));
    return order == 0 && floor < real ? -1 : order;
  };
  if (a->op == NodeOp::IntConstant)
    return mixed(a->integer, b->real);
  if (b->op == NodeOp::IntConstant)
    return -mixed(b->integer, a->real);
  return a->real < b->real ? -1 : a->real > b->real;
}

/// What intervals alone say about a comparison.
static std::optional<bool> decide(CompareOp op, Interval a, Interval b) {
  switch (op) {
  case CompareOp::Less:
    return a.hi < b.lo    ? std::optional(true)
           : a.lo >= b.hi ? std::optional(false)
                          : std::nullopt;
  case CompareOp::LessEqual:
    return a.hi <= b.lo  ? std::optional(true)
           : a.lo > b.hi ? std::optional(false)
                         : std::nullopt;
  case CompareOp::Greater:
    return decide(CompareOp::Less, b, a);
  case CompareOp::GreaterEqual:
    return decide(CompareOp::LessEqual, b, a);
  default:
    if (a.hi < b.lo || b.hi < a.lo)
      return op == CompareOp::NotEqual;
    return std::nullopt;
  }
}

Meaning Sema::compare(const CompareLink &link, Meaning a, Meaning b,
                      const Expr *left, const CompareExpr *whole, Env &env) {
  llvm::StringRef sign = getSpelling(link.op);
  if (link.op == CompareOp::In) {
    a = number(a, left, env);
    if (a.isPoison() || b.isPoison())
      return Meaning();
    if (a.scalar.node->type != NumberType::Int || b.kind != Meaning::Vector ||
        b.vector->type != NumberType::Int || b.vector->row)
      return fail(env, whole->range, "type",
                  "'in' asks whether an int stands in a list of ints, as in "
                  "layer in [3, 7]");
    if (a.isConstant() && b.isConstant()) {
      bool found = llvm::any_of(b.vector->elements, [&](const Scalar &x) {
        return x.node->integer == a.scalar.node->integer;
      });
      return {graph.truth(found, whole->range), {}};
    }
    return {graph.make(NodeOp::In, NumberType::Bool,
                       {a.scalar.node, vectorNode(b.vector, whole->range)},
                       whole->range),
            {}};
  }
  bool equality = link.op == CompareOp::Equal || link.op == CompareOp::NotEqual;
  if (a.isBool()) {
    b = boolean(b, link.right, env);
    if (!equality)
      return fail(env, whole->range, "type",
                  fmt::format("'{}' does not order bools", sign.str()));
  } else {
    a = number(a, left, env);
    b = number(b, link.right, env);
  }
  if (a.isPoison() || b.isPoison())
    return Meaning();
  const Node *x = a.scalar.node, *y = b.scalar.node;
  if (a.isConstant() && b.isConstant())
    return {graph.truth(holds(link.op, orderOf(x, y)), whole->range), {}};
  if (equality && (x->type == NumberType::Real || y->type == NumberType::Real))
    return fail(env, whole->range, "real-equal",
                fmt::format("'{}' between reals depends on rounding; compare "
                            "integers, or use a bound",
                            sign.str()));
  if (!a.isBool() && (env.proves || env.where != Where::Mask))
    if (auto decided = decide(link.op, a.scalar.range, b.scalar.range))
      return {graph.truth(*decided, whole->range), {}};
  const Node *made =
      graph.make(getNodeOp(link.op), NumberType::Bool, {x, y}, whole->range);
  if (!fitsRunTime(made, whole, env))
    return Meaning();
  return {made, {}};
}
