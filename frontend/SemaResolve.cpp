// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: names in what is not evaluated. A definition that nobody uses,
// or a scheme that waits for its arguments, is still written in known names.
#include "frontend/Sema.h"

#include "fmt/format.h"

using namespace torsor;

void Sema::resolveNames(const Expr *e, Env &env, llvm::StringSet<> &bound) {
  if (!e)
    return;
  auto known = [&](llvm::StringRef name) {
    return bound.contains(name) || isBuiltinName(name) || findItem(name, env);
  };
  switch (e->kind) {
  case ExprKind::Int:
  case ExprKind::Real:
  case ExprKind::Bool:
    return;
  case ExprKind::Name: {
    auto *name = llvm::cast<NameExpr>(e);
    if (!known(name->text))
      unknown(name->text, name->range, env);
    return;
  }
  case ExprKind::Call: {
    auto *call = llvm::cast<CallExpr>(e);
    if (!known(call->name.text))
      unknown(call->name.text, call->name.range, env, "function");
    for (const Argument &arg : call->args)
      resolveNames(arg.value, env, bound);
    return;
  }
  case ExprKind::Index: {
    auto *index = llvm::cast<IndexExpr>(e);
    resolveNames(index->value, env, bound);
    for (const Expr *part : index->indices)
      resolveNames(part, env, bound);
    return;
  }
  case ExprKind::List:
    for (const Expr *item : llvm::cast<ListExpr>(e)->items)
      resolveNames(item, env, bound);
    return;
  case ExprKind::For: {
    auto *loop = llvm::cast<ForExpr>(e);
    resolveNames(loop->bound, env, bound);
    bool fresh = bound.insert(loop->name.text).second;
    resolveNames(loop->body, env, bound);
    if (fresh)
      bound.erase(loop->name.text);
    return;
  }
  case ExprKind::Sum: {
    auto *sum = llvm::cast<SumExpr>(e);
    resolveNames(sum->lo, env, bound);
    resolveNames(sum->hi, env, bound);
    bool fresh = bound.insert(sum->name.text).second;
    resolveNames(sum->body, env, bound);
    if (fresh)
      bound.erase(sum->name.text);
    return;
  }
  case ExprKind::If: {
    auto *choice = llvm::cast<IfExpr>(e);
    resolveNames(choice->condition, env, bound);
    resolveNames(choice->yes, env, bound);
    return resolveNames(choice->no, env, bound);
  }
  case ExprKind::Binary: {
    auto *binary = llvm::cast<BinaryExpr>(e);
    resolveNames(binary->left, env, bound);
    return resolveNames(binary->right, env, bound);
  }
  case ExprKind::Compare: {
    auto *compare = llvm::cast<CompareExpr>(e);
    resolveNames(compare->first, env, bound);
    for (const CompareLink &link : compare->links)
      resolveNames(link.right, env, bound);
    return;
  }
  case ExprKind::Not:
    return resolveNames(llvm::cast<NotExpr>(e)->value, env, bound);
  case ExprKind::Negate:
    return resolveNames(llvm::cast<NegateExpr>(e)->value, env, bound);
  case ExprKind::At: {
    auto *at = llvm::cast<AtExpr>(e);
    resolveNames(at->value, env, bound);
    resolveNames(at->clock, env, bound);
    resolveNames(at->query, env, bound);
    return resolveNames(at->key, env, bound);
  }
  }
}

namespace {

void addFormals(llvm::ArrayRef<Formal> formals, llvm::StringSet<> &bound) {
  for (const Formal &formal : formals) {
    bound.insert(formal.name.text);
    if (auto *size = llvm::dyn_cast_or_null<NameExpr>(formal.type.size))
      bound.insert(size->text);
  }
}

void addClauseNames(const Clause *clause, llvm::StringSet<> &bound) {
  if (auto *let = llvm::dyn_cast<LetClause>(clause))
    bound.insert(let->name.text);
  if (auto *tensor = llvm::dyn_cast<TensorClause>(clause))
    for (const Name &name : tensor->names)
      bound.insert(name.text);
  if (auto *clock = llvm::dyn_cast<ClockClause>(clause))
    for (const ClockBinder &binder : clock->binders) {
      bound.insert(binder.name.text);
      if (binder.index)
        bound.insert(binder.index.text);
    }
}

/// The expressions of a clause, where a name may stand.
void forEachExpr(const Clause *clause,
                 llvm::function_ref<void(const Expr *)> visit) {
  if (auto *let = llvm::dyn_cast<LetClause>(clause))
    visit(let->value);
  else if (auto *require = llvm::dyn_cast<RequireClause>(clause))
    visit(require->condition);
  else if (auto *term = llvm::dyn_cast<TermClause>(clause))
    visit(term->value);
  else if (auto *value = llvm::dyn_cast<ValueClause>(clause)) {
    visit(value->width);
    visit(value->lanes.lo);
    visit(value->lanes.hi);
  } else if (auto *clock = llvm::dyn_cast<ClockClause>(clause)) {
    visit(clock->value);
    for (const ClockBinder &binder : clock->binders)
      visit(binder.bound);
  } else if (auto *call = llvm::dyn_cast<CallClause>(clause)) {
    for (const Argument &arg : call->args)
      visit(arg.value);
    visit(call->divisor);
  }
}

} // namespace

void Sema::checkNames(const Item *item) {
  Env env = makeFileEnv(item, Where::File);
  llvm::ArrayRef<Formal> formals;
  if (auto *function = llvm::dyn_cast<FunctionItem>(item)) {
    formals = function->formals;
    for (const Clause *clause : function->body)
      if (auto *let = llvm::dyn_cast<LetClause>(clause))
        mayDefineInside(env, let->name);
  } else if (auto *scheme = llvm::dyn_cast<SchemeItem>(item)) {
    formals = scheme->formals;
  }
  llvm::StringMap<SourceRange> seen;
  for (const Formal &formal : formals) {
    mayDefineInside(env, formal.name);
    auto [first, fresh] =
        seen.try_emplace(formal.name.text, formal.name.range);
    if (!fresh)
      report(env, formal.name.range, "twice",
             fmt::format("'{}' is defined twice", formal.name.text.str()))
          .note(first->second, "first defined here");
  }
}

void Sema::resolveItem(const Item *item) {
  if (item->broken)
    return;
  Env env = makeFileEnv(item, Where::File);
  llvm::StringSet<> bound;
  if (auto *let = llvm::dyn_cast<LetItem>(item))
    return resolveNames(let->value, env, bound);
  llvm::ArrayRef<const Clause *> clauses;
  if (auto *function = llvm::dyn_cast<FunctionItem>(item)) {
    addFormals(function->formals, bound);
    clauses = function->body;
  } else if (auto *scheme = llvm::dyn_cast<SchemeItem>(item)) {
    addFormals(scheme->formals, bound);
    clauses = scheme->clauses;
  }
  for (const Clause *clause : clauses)
    addClauseNames(clause, bound);
  for (const Clause *clause : clauses)
    forEachExpr(clause,
                [&](const Expr *e) { resolveNames(e, env, bound); });
  if (auto *function = llvm::dyn_cast<FunctionItem>(item))
    resolveNames(function->value, env, bound);
}
