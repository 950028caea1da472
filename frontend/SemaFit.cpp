// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: whether a value has the type that is asked for.
#include "frontend/Sema.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

StringRef torsor::getTypeWord(TypeBase base) {
  static constexpr StringRef words[] = {"int", "real", "bool", "action",
                                        "clock"};
  return words[size_t(base)];
}

bool Sema::fitSize(const TypeNode &type, int64_t length, const Expr *e,
                   Env &env, const std::string &what,
                   llvm::StringMap<Binding> &scope,
                   const SourceFile *typeFile) {
  auto *name = llvm::dyn_cast<NameExpr>(type.size);
  if (name && !scope.contains(name->text) && !isBuiltinName(name->text)) {
    scope[name->text] = {
        {graph.integer(length, e->range), Interval::exactly(Integer(length))},
        {}};
    return true;
  }
  Env inner;
  inner.file = typeFile;
  inner.scheme = env.scheme;
  inner.where = env.where;
  inner.caller = &env;
  inner.call = e->range;
  inner.locals = scope;
  auto want = evalSize(type.size, inner, "a vector's length");
  if (!want)
    return false;
  if (*want == length)
    return true;
  fail(env, e->range, "length",
       fmt::format("{} must have {} elements, but it has {}", what,
                   printSize(*want), length));
  return false;
}

/// "w[h, p]": lane p of the row that `e` is.
static std::string showLane(const Expr *e) {
  std::string text = quote(e);
  bool indexed = llvm::isa<IndexExpr>(e) && text.ends_with("]");
  return indexed ? text.substr(0, text.size() - 1) + ", p]" : text + "[p]";
}

Meaning Sema::fit(Meaning value, const TypeNode &type, const Expr *e, Env &env,
                  const std::string &what, llvm::StringMap<Binding> &scope,
                  const SourceFile *typeFile) {
  if (value.isPoison())
    return value;
  if (type.base == TypeBase::Action || type.base == TypeBase::Clock) {
    bool action = type.base == TypeBase::Action;
    if (value.kind != (action ? Meaning::Action : Meaning::Clock))
      return fail(env, e->range, "type",
                  fmt::format("{} must be {}, but '{}' is {}", what,
                              action ? "an action" : "a clock", quote(e),
                              describe(value)));
    if (type.size && action &&
        !fitSize(type, value.action->width, e, env, what, scope, typeFile))
      return Meaning();
    return value;
  }
  NumberType base = NumberType(uint8_t(type.base));
  if (!type.size)
    return coerce(value, base, e, env, what);
  if (value.kind != Meaning::Vector)
    return fail(env, e->range, "type",
                fmt::format("{} must be a vector, but '{}' is {}", what,
                            quote(e), describeNoVector(value)));
  const VectorInfo *vector = value.vector;
  if (vector->row)
    return fail(env, e->range, "type",
                fmt::format("{} must be a vector of scalars, but '{}' is a "
                            "row; write [for p < {}: {}]",
                            what, quote(e), vector->length, showLane(e)));
  if (!fitSize(type, vector->length, e, env, what, scope, typeFile))
    return Meaning();
  if (base == NumberType::Int && vector->type == NumberType::Real)
    return fail(
        env, e->range, "type",
        fmt::format("{} must be a vector of ints, but it holds reals", what));
  if (base == vector->type)
    return value;
  VectorInfo reals = *vector;
  reals.type = base;
  return make(std::move(reals));
}

/// How to turn a real into the int that is needed.
static std::string adviseInt(const Expr *e, const Node *node) {
  if (node->op != NodeOp::RealConstant)
    return "";
  if (node->real != std::trunc(node->real))
    return fmt::format(" ({})", printConstant(node));
  if (llvm::isa<RealExpr>(e))
    return "; write " + Integer::fromReal(node->real).toString();
  return "; use 'div', or floor(…)";
}

Meaning Sema::coerce(Meaning value, NumberType type, const Expr *e, Env &env,
                     const std::string &what) {
  if (value.isPoison())
    return value;
  if (value.kind == Meaning::Tensor || value.kind == Meaning::TokenVectors)
    return number(value, e, env);
  std::string must =
      fmt::format("{} must be {}", what, getTypeName(type).str());
  if (value.kind != Meaning::Number)
    return fail(
        env, e->range, "type",
        fmt::format("{}, but '{}' is {}", must, quote(e), describe(value)));
  const Node *node = value.scalar.node;
  if (node->type == type)
    return value;
  if (type == NumberType::Real && node->type == NumberType::Int) {
    if (node->isConstant()) {
      double real = node->integer.toReal();
      if (std::isinf(real))
        return fail(
            env, e->range, "range",
            fmt::format("'{}' is an int beyond the range of a real", quote(e)));
      return {graph.real(real, node->range), Interval::exactly(real)};
    }
    return {graph.make(NodeOp::ToReal, NumberType::Real, {node}, node->range),
            value.scalar.range};
  }
  if (type == NumberType::Int && node->type == NumberType::Real)
    return fail(env, e->range, "type",
                fmt::format("{} must be an int, but '{}' is real{}", what,
                            quote(e), adviseInt(e, node)));
  return fail(env, e->range, "type",
              fmt::format("{}, but '{}' is {}", must, quote(e),
                          getTypeName(node->type).str()));
}

Meaning Sema::coerceResult(Meaning value, const FunctionItem *item,
                           Env &inner) {
  const TypeNode &type = item->result;
  bool action = type.base == TypeBase::Action;
  if (value.isPoison())
    return value;
  if (action || type.base == TypeBase::Clock) {
    if (value.kind == (action ? Meaning::Action : Meaning::Clock))
      return value;
    return fail(inner, item->value->range, "type",
                fmt::format("'{}' promises {}, but its value is {}",
                            item->name.text.str(), getTypeWord(type.base).str(),
                            describe(value)));
  }
  llvm::StringMap<Binding> scope = inner.locals;
  return fit(value, type, item->value, inner,
             fmt::format("the value of '{}'", item->name.text.str()), scope,
             item->range.file);
}
