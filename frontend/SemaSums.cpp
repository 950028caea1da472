// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: lists and sums.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;

bool Sema::bindIndex(const Name &name, SourceRange all, Env &env) {
  if (!mayDefine(env, name))
    return false;
  bool taken =
      env.locals.contains(name.text) ||
      (env.scheme && env.seesScheme && env.scheme->names.contains(name.text)) ||
      (!env.file->isPrelude() && items.contains(name.text));
  if (taken)
    report(env, name.range, "twice",
           fmt::format("'{}' already has a meaning here; names are never "
                       "hidden",
                       name.text.str()));
  return !taken;
}

std::optional<int64_t> Sema::evalBound(const Expr *e, Env &env) {
  auto count = evalSize(e, env, "the bound of a 'for' or 'sum'");
  if (!count)
    return std::nullopt;
  if (*count >= 0 && *count <= 65536)
    return count;
  fail(env, e->range, "large",
       fmt::format("the bound must lie in 0 .. 65536, but it is {}",
                   printSize(*count)));
  return std::nullopt;
}

static NumberType joinTypes(llvm::ArrayRef<Scalar> elements) {
  return llvm::any_of(
             elements,
             [](const Scalar &x) { return x.node->type == NumberType::Real; })
             ? NumberType::Real
             : NumberType::Int;
}

Meaning Sema::evalFor(const ForExpr *e, Env &env) {
  if (!bindIndex(e->name, e->range, env))
    return Meaning();
  std::optional<int64_t> count = evalBound(e->bound, env);
  if (!count)
    return Meaning();
  VectorInfo vector;
  vector.length = *count;
  bool poisoned = false;
  for (int64_t p = 0; p != *count && !poisoned; ++p) {
    if (!spend(env, e->range, 3))
      poisoned = true;
    env.locals[e->name.text] = {
        {graph.integer(p, e->name.range), Interval::exactly(Integer(p))}, {}};
    Meaning element = evalNumber(e->body, env);
    // One element that is wrong is enough to report.
    poisoned = element.isPoison();
    vector.elements.push_back(element.scalar);
  }
  env.locals.erase(e->name.text);
  if (poisoned)
    return Meaning();
  vector.type = joinTypes(vector.elements);
  return make(std::move(vector));
}

Meaning Sema::evalList(const ListExpr *e, Env &env) {
  VectorInfo vector;
  vector.length = e->items.size();
  bool poisoned = false;
  for (const Expr *item : e->items) {
    Meaning element = evalNumber(item, env);
    poisoned |= element.isPoison();
    vector.elements.push_back(element.scalar);
  }
  if (poisoned)
    return Meaning();
  vector.type = joinTypes(vector.elements);
  return make(std::move(vector));
}

Meaning Sema::evalSum(const SumExpr *e, Env &env) {
  if (e->bound == SumKind::In)
    return evalPathSum(e, env);
  if (!bindIndex(e->name, e->range, env))
    return Meaning();
  Meaning bound = eval(e->hi, env);
  if (bound.isPoison())
    return bound;
  if (e->bound == SumKind::Less && bound.isConstant()) {
    std::optional<int64_t> count = evalBound(e->hi, env);
    return count ? evalCountedSum(e, *count, env) : Meaning();
  }
  if (env.where == Where::Clock)
    return fail(env, e->range, "clock",
                "a running sum is written 'sum l <= j: …' or 'sum l < j: …'");
  if (e->bound == SumKind::LessEqual && bound.isConstant())
    return fail(env, e->hi->range, "prefix",
                "a sum over numbers is written 'sum p < n: …'; '<=' is for "
                "running sums, 'clock c = sum l <= j: …'");
  if (e->bound == SumKind::Less && bound.isNumber() &&
      !(bound.scalar.node->varies & (varies::query | varies::key)))
    return fail(env, e->hi->range, "const",
                fmt::format("the bound of a sum must be known at compile time, "
                            "but '{}' is not; sum to a constant, with 'if' for "
                            "the terms that are left out",
                            quote(e->hi)));
  return fail(env, e->hi->range, e->bound == SumKind::Less ? "const" : "prefix",
              "a bound known only at run time is allowed in 'clock c = sum l "
              "<= j: …' and in 'sum l in j .. i: …'");
}

Meaning Sema::evalCountedSum(const SumExpr *e, int64_t count, Env &env) {
  std::vector<Meaning> terms;
  for (int64_t p = 0; p != count; ++p) {
    if (!spend(env, e->range, 3))
      break;
    env.locals[e->name.text] = {
        {graph.integer(p, e->name.range), Interval::exactly(Integer(p))}, {}};
    Meaning term = eval(e->body, env);
    if (term.isPoison()) {
      env.locals.erase(e->name.text);
      return term;
    }
    terms.push_back(term);
  }
  env.locals.erase(e->name.text);
  if (terms.empty())
    return {graph.integer(0, e->range), Interval::exactly(0.0)};
  if (terms.front().kind != Meaning::Action)
    return addNumbers(terms, e, env);
  std::vector<const ActionNode *> parts;
  for (const Meaning &term : terms) {
    if (term.kind != Meaning::Action)
      return fail(env, e->range, "type",
                  fmt::format("the parts of a direct sum are actions, but one "
                              "is {}",
                              describe(term)));
    parts.push_back(term.action);
  }
  return directSum(parts, e, env);
}

/// The sum of reals, compensated for rounding, so that folding a long sum does
/// not depend on its order in the last digits.
static double addReals(llvm::ArrayRef<Meaning> terms) {
  double sum = 0, lost = 0;
  for (const Meaning &term : terms) {
    double x = term.scalar.node->asReal(), next = sum + x;
    lost += std::abs(sum) >= std::abs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return std::isfinite(lost) ? sum + lost : sum;
}

Meaning Sema::addNumbers(llvm::ArrayRef<Meaning> terms, const SumExpr *e,
                         Env &env) {
  bool ints = true, constant = true;
  for (const Meaning &term : terms) {
    if (!term.isNumber())
      return fail(env, e->body->range, "type",
                  fmt::format("'sum' adds numbers or actions, but this is {}",
                              describe(term)));
    ints &= term.scalar.node->type == NumberType::Int;
    constant &= term.isConstant();
  }
  if (constant && !ints)
    return constantReal(addReals(terms), e->range, env);
  if (constant) {
    std::optional<Integer> total = Integer(0);
    for (const Meaning &term : terms)
      if (total)
        total = total->plus(term.scalar.node->integer);
    if (!total)
      return fail(
          env, e->range, "large",
          fmt::format("this int needs more than {} bits", Integer::maxBits));
    Interval range = Interval::exactly(*total);
    return {graph.integer(std::move(*total), e->range), range};
  }
  // From left to right, as it would be written out; long sums are cut in parts
  // so that the graph stays shallow.
  std::vector<Scalar> level;
  for (const Meaning &term : terms)
    level.push_back(term.scalar);
  constexpr size_t run = 64;
  do {
    std::vector<Scalar> next;
    for (size_t first = 0; first < level.size(); first += run) {
      Scalar total = level[first];
      for (size_t p = first + 1; p < std::min(first + run, level.size()); ++p) {
        NumberType type = total.node->type == NumberType::Int &&
                                  level[p].node->type == NumberType::Int
                              ? NumberType::Int
                              : NumberType::Real;
        total = {graph.make(NodeOp::Add, type, {total.node, level[p].node},
                            e->range),
                 torsor::sum(total.range, level[p].range)};
        if (type == NumberType::Int)
          total.range = wrapped(total.range);
        if (!spend(env, e->range) || !fitsRunTime(total.node, e, env))
          return Meaning();
      }
      next.push_back(total);
    }
    level = std::move(next);
  } while (level.size() > 1);
  return level.front();
}

/// `j .. i` gives false, `j + 1 .. i` true, anything else nothing.
static std::optional<bool> leavesOutKey(const SumExpr *e) {
  auto isName = [](const Expr *x, llvm::StringRef name) {
    auto *found = llvm::dyn_cast<NameExpr>(x);
    return found && found->text == name;
  };
  if (!isName(e->hi, "i"))
    return std::nullopt;
  if (isName(e->lo, "j"))
    return false;
  auto *plus = llvm::dyn_cast<BinaryExpr>(e->lo);
  auto *one = plus ? llvm::dyn_cast<IntExpr>(plus->right) : nullptr;
  if (one && plus->op == BinaryOp::Add && isName(plus->left, "j") &&
      one->digits == "1")
    return true;
  return std::nullopt;
}

Meaning Sema::evalPathSum(const SumExpr *e, Env &env) {
  if (!bindIndex(e->name, e->range, env))
    return Meaning();
  std::optional<bool> after = leavesOutKey(e);
  bool counts = llvm::isa<IntExpr>(e->lo);
  bool allowed = env.where == Where::Bias || env.where == Where::Logit ||
                 env.where == Where::Let;
  if (!allowed && !counts)
    return fail(env, e->range, "path",
                "a sum over the tokens between key and query is allowed only "
                "in 'bias' and 'logit'");
  if (!after)
    return fail(env, e->lo->range.to(e->hi->range), "path",
                fmt::format("a sum over tokens runs over 'j .. i' or 'j + 1 .. "
                            "i'{}",
                            counts
                                ? "; one over numbers is written 'sum p < n: …'"
                                : ""));
  if (!env.scheme)
    return fail(env, e->range, "ambient",
                "a sum over tokens is known only where a scheme is evaluated");
  // One token for each sum that is written, so that equal sums stay equal.
  auto [token, fresh] = pathTokens.try_emplace(e, TokenId::None);
  if (fresh)
    token->second = graph.makeToken(e->name.text);
  Node index{.op = NodeOp::Index, .type = NumberType::Int};
  index.token = token->second;
  index.varies = varies::key | varies::path;
  index.range = e->name.range;
  env.locals[e->name.text] = {
      {graph.intern(std::move(index)), {0, Interval::inf}}, {}};
  Meaning body = evalNumber(e->body, env);
  env.locals.erase(e->name.text);
  if (body.isPoison())
    return body;
  Node node{.op = NodeOp::PathSum, .type = NumberType::Real};
  const Node *operands[] = {body.scalar.node};
  node.operands = operands;
  node.token = pathTokens[e];
  node.after = *after;
  node.varies = varies::query | varies::key | varies::path;
  node.range = e->range;
  Interval term = body.scalar.range;
  return {graph.intern(std::move(node)),
          {term.lo < 0 ? -Interval::inf : 0, term.hi > 0 ? Interval::inf : 0}};
}
