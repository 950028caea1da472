// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: arithmetic on numbers, folded where both sides are known.
#include "frontend/Sema.h"

#include <cfloat>
#include <cmath>

#include "fmt/format.h"

using namespace torsor;

/// What may have been meant by an action on one side alone.
static const char *adviseMixed(BinaryOp op, const Meaning &a,
                               const Meaning &b) {
  if (a.kind == Meaning::Clock || b.kind == Meaning::Clock)
    return "; two clocks on the same lanes are written (A at c) * (B at d)";
  bool isNumber = a.isNumber() || b.isNumber();
  if (op == BinaryOp::Mul && isNumber)
    return "; a constant factor on both sides is written gain(A, by = g)";
  if (op == BinaryOp::Div && isNumber)
    return "; a slower clock is written A at (q = s / n, k = t / n)";
  return "";
}

Meaning Sema::evalBinary(const BinaryExpr *e, Env &env) {
  if (e->op == BinaryOp::And || e->op == BinaryOp::Or)
    return evalLogic(e, env);
  Meaning a = eval(e->left, env), b = eval(e->right, env);
  bool mayBeAction = e->op == BinaryOp::Add || e->op == BinaryOp::Mul ||
                     (e->op == BinaryOp::Div && a.kind == Meaning::Action);
  if (mayBeAction && !a.isPoison() && !b.isPoison() &&
      (a.kind == Meaning::Action || b.kind == Meaning::Action)) {
    if (a.kind != b.kind || e->op == BinaryOp::Div)
      return fail(
          env, e->range, "type",
          fmt::format("the left side of '{}' is {}, but the right side is {}{}",
                      getSpelling(e->op).str(), describe(a), describe(b),
                      adviseMixed(e->op, a, b)));
    return e->op == BinaryOp::Add ? directSum({a.action, b.action}, e, env)
                                  : product(a.action, b.action, e, env);
  }
  // What stands beside an error may have been meant to be an action too.
  if ((a.isPoison() && b.kind == Meaning::Action) ||
      (b.isPoison() && a.kind == Meaning::Action))
    return Meaning();
  a = number(a, e->left, env);
  b = number(b, e->right, env);
  if (a.isPoison() || b.isPoison())
    return Meaning();
  return arithmetic(e, a.scalar, b.scalar, env);
}

static NodeOp getNodeOp(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return NodeOp::Add;
  case BinaryOp::Sub:
    return NodeOp::Sub;
  case BinaryOp::Mul:
    return NodeOp::Mul;
  case BinaryOp::Div:
    return NodeOp::Div;
  case BinaryOp::FloorDiv:
    return NodeOp::FloorDiv;
  case BinaryOp::Mod:
    return NodeOp::Mod;
  default:
    return NodeOp::Power;
  }
}

Meaning Sema::arithmetic(const BinaryExpr *e, Scalar a, Scalar b, Env &env) {
  bool ints =
      a.node->type == NumberType::Int && b.node->type == NumberType::Int;
  if (e->op == BinaryOp::FloorDiv || e->op == BinaryOp::Mod) {
    if (!ints) {
      const Expr *bad = a.node->type != NumberType::Int ? e->left : e->right;
      return fail(env, bad->range, "type",
                  fmt::format("'{}' is for integers, but '{}' is real",
                              getSpelling(e->op).str(), quote(bad)));
    }
  }
  if (e->op == BinaryOp::Div)
    ints = false;
  if (e->op == BinaryOp::Pow)
    ints &= b.range.lo >= 0;
  if (!divisorIsSafe(e, b, env) ||
      (e->op == BinaryOp::Pow && !powerIsSafe(e, a, b, ints, env)))
    return Meaning();
  if (a.isConstant() && b.isConstant())
    return ints ? foldInts(e, a.node->integer, b.node->integer, env)
                : foldReals(e, a.node->asReal(), b.node->asReal(), env);
  const Node *made =
      graph.make(getNodeOp(e->op), ints ? NumberType::Int : NumberType::Real,
                 {a.node, b.node}, e->range);
  if (!fitsRunTime(made, e, env))
    return Meaning();
  warnAbsolute(e, a, b, made, env);
  Interval range = boundsOf(e, a, b, ints, env);
  return {made, ints ? wrapped(range) : range};
}

bool Sema::divisorIsSafe(const BinaryExpr *e, Scalar b, Env &env) {
  bool zero = b.isConstant() && b.node->asReal() == 0;
  if (e->op == BinaryOp::Div) {
    if (zero)
      fail(env, e->range, "zero", "division by zero");
    return !zero;
  }
  if (e->op != BinaryOp::FloorDiv && e->op != BinaryOp::Mod)
    return true;
  if (zero) {
    fail(env, e->range, "zero",
         fmt::format("'{}' by zero", getSpelling(e->op).str()));
    return false;
  }
  if (!b.isConstant() && b.range.contains(0)) {
    fail(env, e->right->range, "zero",
         fmt::format("'{}' may be zero here; give it a range without 0",
                     quote(e->right)));
    return false;
  }
  return true;
}

bool Sema::powerIsSafe(const BinaryExpr *e, Scalar a, Scalar b, bool ints,
                       Env &env) {
  const Node *exponent = b.node;
  if (ints && exponent->isConstant() &&
      exponent->integer.compare(Integer(4096)) > 0) {
    fail(env, e->right->range, "large",
         fmt::format("the exponent {} is above 4096", printConstant(exponent)));
    return false;
  }
  bool whole =
      exponent->type == NumberType::Int ||
      (exponent->isConstant() && exponent->real == std::trunc(exponent->real));
  if (a.isConstant() && exponent->isConstant()) {
    double base = a.node->asReal();
    if (base == 0 && exponent->asReal() < 0) {
      fail(env, e->range, "zero", "division by zero: 0 to a negative power");
      return false;
    }
    if (base < 0 && !whole) {
      fail(env, e->range, "domain",
           "a negative number has no real power with a fractional exponent");
      return false;
    }
    return true;
  }
  if (a.range.lo < 0 && exponent->type == NumberType::Real) {
    fail(env, e->left->range, "domain",
         fmt::format("a real power needs a base of at least 0, and this cannot "
                     "be shown for '{}'; declare a range, or use max(…)",
                     quote(e->left)));
    return false;
  }
  return true;
}

Meaning Sema::foldInts(const BinaryExpr *e, const Integer &a, const Integer &b,
                       Env &env) {
  // Long integers are paid by their words.
  uint64_t words = uint64_t(a.wordCount()) * b.wordCount();
  if (!spend(env, e->range, words / 16))
    return Meaning();
  std::optional<Integer> result;
  switch (e->op) {
  case BinaryOp::Add:
    result = a.plus(b);
    break;
  case BinaryOp::Sub:
    result = a.minus(b);
    break;
  case BinaryOp::Mul:
    result = a.times(b);
    break;
  case BinaryOp::FloorDiv:
    result = a.floorDiv(b);
    break;
  case BinaryOp::Mod:
    result = a.floorMod(b);
    break;
  default:
    result = a.power(b);
    break;
  }
  if (!result)
    return fail(
        env, e->range, "large",
        fmt::format("this int needs more than {} bits", Integer::maxBits));
  Interval range = Interval::exactly(*result);
  return {graph.integer(std::move(*result), e->range), range};
}

Meaning Sema::constantReal(double value, SourceRange range, Env &env) {
  if (!std::isfinite(value))
    return fail(env, range, "range", "this constant is not a finite number");
  return {graph.real(value, range), Interval::exactly(value)};
}

Meaning Sema::foldReals(const BinaryExpr *e, double a, double b, Env &env) {
  for (auto [value, side] : {std::pair{a, e->left}, {b, e->right}})
    if (!std::isfinite(value))
      return fail(env, side->range, "range",
                  fmt::format("'{}' is an int beyond the range of a real",
                              quote(side)));
  double result = 0;
  switch (e->op) {
  case BinaryOp::Add:
    result = a + b;
    break;
  case BinaryOp::Sub:
    result = a - b;
    break;
  case BinaryOp::Mul:
    result = a * b;
    break;
  case BinaryOp::Div:
    result = a / b;
    break;
  default:
    result = std::pow(a, b);
    break;
  }
  return constantReal(result, e->range, env);
}

/// Are these the times (or the indices) of query and key, in this order?
static bool areSides(const Node *a, const Node *b, const ClockInfo *pos) {
  if (a->token != TokenId::Query || b->token != TokenId::Key || a->op != b->op)
    return false;
  return a->op == NodeOp::Index ||
         (a->op == NodeOp::Time && a->clock == pos && b->clock == pos);
}

Interval Sema::boundsOf(const BinaryExpr *e, Scalar a, Scalar b, bool ints,
                        const Env &env) const {
  switch (e->op) {
  case BinaryOp::Add:
    return sum(a.range, b.range);
  case BinaryOp::Sub: {
    Interval range = difference(a.range, b.range);
    if (env.scheme && env.scheme->causal) {
      if (areSides(a.node, b.node, env.scheme->pos))
        range.lo = std::max(range.lo, 0.0);
      else if (areSides(b.node, a.node, env.scheme->pos))
        range.hi = std::min(range.hi, 0.0);
    }
    return range;
  }
  case BinaryOp::Mul:
    return a.node == b.node ? squared(a.range)
                            : torsor::product(a.range, b.range);
  case BinaryOp::Div:
    return quotient(a.range, b.range);
  case BinaryOp::FloorDiv:
    return floorQuotient(a.range, b.range);
  case BinaryOp::Mod:
    return floorRemainder(a.range, b.range);
  default:
    return power(a.range, b.range, b.node->type == NumberType::Int);
  }
}

bool Sema::fitsRunTime(const Node *result, const Expr *at, Env &env) {
  constexpr Varies pair = varies::query | varies::key;
  bool perPair = (result->varies & pair) == pair;
  for (const Node *operand : result->operands) {
    if (operand->op == NodeOp::IntConstant && !operand->integer.toInt64()) {
      fail(env, operand->range.file ? operand->range : at->range, "range",
           "this int does not fit in 64 bits, which ints have at run time");
      return false;
    }
    // Ints stay ints where the result is one.
    bool asReal = operand->op == NodeOp::RealConstant ||
                  (operand->op == NodeOp::IntConstant &&
                   result->type == NumberType::Real);
    if (perPair && asReal && std::abs(operand->asReal()) > FLT_MAX) {
      fail(env, operand->range.file ? operand->range : at->range, "range",
           fmt::format("{} is beyond f32, which reals have per pair",
                       printConstant(operand)));
      return false;
    }
  }
  return true;
}
