// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: primitive functions on numbers.
#include "frontend/Sema.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

static size_t countArguments(StringRef name) {
  if (name == "clamp")
    return 3;
  return name == "min" || name == "max" || name == "dot" ? 2 : 1;
}

Meaning Sema::evalFunction(const CallExpr *e, Env &env) {
  StringRef name = e->name.text;
  for (const Argument &arg : e->args)
    if (arg.label)
      return fail(
          env, arg.range, "named",
          fmt::format("'{}' takes its arguments without names", name.str()));
  size_t want = countArguments(name), given = e->args.size();
  if (given != want)
    return fail(env, e->range, "call",
                fmt::format("'{}' takes {} argument{}, but {} {} given",
                            name.str(), want, want == 1 ? "" : "s", given,
                            given == 1 ? "is" : "are"));
  if (name == "dot")
    return applyDot(e, env);
  const Expr *first = e->args.front().value;
  if (name == "age" || name == "delta") {
    Meaning clock = eval(first, env);
    if (clock.isPoison())
      return clock;
    if (clock.kind != Meaning::Clock)
      return fail(env, e->args.front().range, "type",
                  fmt::format("'{}(…)' takes a clock, but '{}' is {}",
                              name.str(), quote(first), describe(clock)));
    return clockDifference(clock.clock, name == "age", e->range, env);
  }
  llvm::SmallVector<Scalar, 3> args;
  bool poisoned = false;
  for (const Argument &arg : e->args) {
    Meaning value = evalNumber(arg.value, env);
    poisoned |= value.isPoison();
    args.push_back(value.scalar);
  }
  if (poisoned)
    return Meaning();
  if (const RealFunction *function = findRealFunction(name))
    return applyReal(*function, args.front(), e, env);
  if (name == "abs")
    return applyAbs(e, args.front(), env);
  if (name == "floor" || name == "ceil")
    return applyRounding(e, args.front(), env);
  if (name == "ilog2")
    return applyILog2(e, args.front(), env);
  return applyExtremum(e, args, env);
}

/// The least argument of a function that has one, and whether it belongs to
/// the domain.
static std::optional<std::pair<double, bool>> domainOf(NodeOp op) {
  switch (op) {
  case NodeOp::Log:
  case NodeOp::Log2:
    return std::pair{0.0, false};
  case NodeOp::Log1p:
    return std::pair{-1.0, false};
  case NodeOp::Sqrt:
    return std::pair{0.0, true};
  default:
    return std::nullopt;
  }
}

Meaning Sema::applyReal(const RealFunction &f, Scalar x, const CallExpr *e,
                        Env &env) {
  if (auto domain = domainOf(f.op)) {
    auto [least, closed] = *domain;
    bool inside = x.range.lo > least || (closed && x.range.lo == least);
    if (!inside && x.isConstant())
      return fail(env, e->range, "domain",
                  fmt::format("'{}' of {} is not a number", f.name.str(),
                              printConstant(x.node)));
    if (!inside)
      return fail(env, e->args.front().range, "domain",
                  fmt::format("'{}' needs an argument {} {}, and this cannot "
                              "be shown for '{}'; declare a range, or use "
                              "max(…)",
                              f.name.str(), closed ? "at least" : "above",
                              least, quote(e->args.front().value)));
  }
  if (x.isConstant())
    return constantReal(f.apply(x.node->asReal()), e->range, env);
  Interval limits{f.low, f.high};
  const Node *made = graph.make(f.op, NumberType::Real, {x.node}, e->range);
  return {made, f.rising ? rising(x.range, f.apply, limits) : limits};
}

Meaning Sema::applyAbs(const CallExpr *e, Scalar x, Env &env) {
  Interval range = absolute(x.range);
  if (x.node->op == NodeOp::IntConstant)
    return {graph.integer(x.node->integer.isNegative() ? -x.node->integer
                                                       : x.node->integer,
                          e->range),
            range};
  if (x.node->op == NodeOp::RealConstant)
    return {graph.real(std::abs(x.node->real), e->range), range};
  return {graph.make(NodeOp::Abs, x.node->type, {x.node}, e->range), range};
}

Meaning Sema::applyRounding(const CallExpr *e, Scalar x, Env &env) {
  bool down = e->name.text == "floor";
  if (x.node->type == NumberType::Int)
    return x;
  auto round = [&](double v) { return down ? std::floor(v) : std::ceil(v); };
  if (x.isConstant()) {
    Integer value = Integer::fromReal(round(x.node->real));
    Interval range = Interval::exactly(value);
    return {graph.integer(std::move(value), e->range), range};
  }
  return {graph.make(down ? NodeOp::Floor : NodeOp::Ceil, NumberType::Int,
                     {x.node}, e->range),
          {round(x.range.lo), round(x.range.hi)}};
}

Meaning Sema::applyILog2(const CallExpr *e, Scalar x, Env &env) {
  const Argument &arg = e->args.front();
  if (x.node->type != NumberType::Int)
    return fail(env, arg.range, "type",
                fmt::format("'ilog2' takes an int, but '{}' is real",
                            quote(arg.value)));
  if (x.range.lo < 1)
    return fail(
        env, arg.range, "domain",
        fmt::format("'ilog2' takes a positive int, but '{}' may be {}",
                    quote(arg.value),
                    x.isConstant()
                        ? printConstant(x.node)
                        : "less than 1; declare a range, or use max(…)"));
  if (x.isConstant()) {
    Integer value(int64_t(x.node->integer.log2()));
    return {graph.integer(value, e->range), Interval::exactly(value)};
  }
  // At run time an int is below 2^63.
  double most = std::min(62.0, std::floor(std::log2(x.range.hi)));
  return {graph.make(NodeOp::ILog2, NumberType::Int, {x.node}, e->range),
          {std::floor(std::log2(x.range.lo)), most}};
}

/// The lesser or the greater of two constants; ints are compared exactly.
static const Node *pick(bool least, const Node *a, const Node *b) {
  bool less = a->op == NodeOp::IntConstant && b->op == NodeOp::IntConstant
                  ? a->integer < b->integer
                  : a->asReal() < b->asReal();
  return less == least ? a : b;
}

Meaning Sema::applyExtremum(const CallExpr *e, llvm::ArrayRef<Scalar> args,
                            Env &env) {
  bool ints = true, constant = true;
  for (const Scalar &arg : args) {
    ints &= arg.node->type == NumberType::Int;
    constant &= arg.isConstant();
  }
  bool isClamp = args.size() == 3, isMin = e->name.text == "min";
  if (isClamp && args[1].isConstant() && args[2].isConstant() &&
      args[1].node->asReal() > args[2].node->asReal())
    return fail(env, e->range, "range",
                fmt::format("the lower bound of 'clamp' is {}, above its upper "
                            "bound {}",
                            printConstant(args[1].node),
                            printConstant(args[2].node)));
  if (constant) {
    const Node *value = isClamp ? pick(false, args[1].node,
                                       pick(true, args[0].node, args[2].node))
                                : pick(isMin, args[0].node, args[1].node);
    if (ints)
      return {value, Interval::exactly(value->integer)};
    return constantReal(value->asReal(), e->range, env);
  }
  Interval range = isClamp
                       ? clamped(args[0].range, args[1].range, args[2].range)
                   : isMin ? minimum(args[0].range, args[1].range)
                           : maximum(args[0].range, args[1].range);
  llvm::SmallVector<const Node *, 3> nodes;
  for (const Scalar &arg : args)
    nodes.push_back(arg.node);
  const Node *made =
      graph.make(isClamp ? NodeOp::Clamp
                 : isMin ? NodeOp::Min
                         : NodeOp::Max,
                 ints ? NumberType::Int : NumberType::Real, nodes, e->range);
  if (!fitsRunTime(made, e, env))
    return Meaning();
  return {made, range};
}

const Node *Sema::vectorNode(const VectorInfo *vector, SourceRange range) {
  if (vector->row)
    return vector->row;
  Node node{.op = NodeOp::List, .type = vector->type};
  llvm::SmallVector<const Node *> operands;
  for (const Scalar &element : vector->elements)
    operands.push_back(element.node);
  node.operands = operands;
  node.length = int32_t(vector->length);
  node.range = range;
  return graph.intern(std::move(node));
}

Meaning Sema::applyDot(const CallExpr *e, Env &env) {
  const VectorInfo *vectors[2] = {};
  for (int side : {0, 1}) {
    const Argument &arg = e->args[side];
    Meaning value = eval(arg.value, env);
    if (value.isPoison())
      continue;
    if (value.kind == Meaning::TokenVectors) {
      number(value, arg.value, env);
      continue;
    }
    if (value.kind != Meaning::Vector) {
      fail(env, arg.range, "type",
           fmt::format("'dot' takes two vectors, but '{}' is {}",
                       quote(arg.value), describeNoVector(value)));
      continue;
    }
    vectors[side] = value.vector;
  }
  if (!vectors[0] || !vectors[1])
    return Meaning();
  if (vectors[0]->length != vectors[1]->length)
    return fail(env, e->range, "length",
                fmt::format("'dot' takes two vectors of one length, but they "
                            "have {} and {} elements",
                            vectors[0]->length, vectors[1]->length));
  if (vectors[0]->isConstant() && vectors[1]->isConstant()) {
    double total = 0;
    for (int64_t p = 0; p != vectors[0]->length; ++p)
      total += vectors[0]->elements[p].node->asReal() *
               vectors[1]->elements[p].node->asReal();
    return constantReal(total, e->range, env);
  }
  return {graph.make(NodeOp::Dot, NumberType::Real,
                     {vectorNode(vectors[0], e->range),
                      vectorNode(vectors[1], e->range)},
                     e->range),
          {}};
}
