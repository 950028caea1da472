// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: names in what is not evaluated. A definition that nobody uses,
// or a scheme that waits for its arguments, is still written in known names.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include "fmt/format.h"

using namespace torsor;

/// Calls `visit` for the parts of an expression that bind no name of it.
static void visitParts(const Expr *e,
                       llvm::function_ref<void(const Expr *)> visit) {
  if (auto *call = llvm::dyn_cast<CallExpr>(e)) {
    for (const Argument &arg : call->args)
      visit(arg.value);
  } else if (auto *index = llvm::dyn_cast<IndexExpr>(e)) {
    visit(index->value);
    llvm::for_each(index->indices, visit);
  } else if (auto *list = llvm::dyn_cast<ListExpr>(e)) {
    llvm::for_each(list->items, visit);
  } else if (auto *choice = llvm::dyn_cast<IfExpr>(e)) {
    visit(choice->condition);
    visit(choice->yes);
    visit(choice->no);
  } else if (auto *binary = llvm::dyn_cast<BinaryExpr>(e)) {
    visit(binary->left);
    visit(binary->right);
  } else if (auto *compare = llvm::dyn_cast<CompareExpr>(e)) {
    visit(compare->first);
    for (const CompareLink &link : compare->links)
      visit(link.right);
  } else if (auto *no = llvm::dyn_cast<NotExpr>(e)) {
    visit(no->value);
  } else if (auto *minus = llvm::dyn_cast<NegateExpr>(e)) {
    visit(minus->value);
  } else if (auto *at = llvm::dyn_cast<AtExpr>(e)) {
    for (const Expr *part : {at->value, at->clock, at->query, at->key})
      visit(part);
  } else if (auto *loop = llvm::dyn_cast<ForExpr>(e)) {
    visit(loop->bound);
  } else if (auto *sum = llvm::dyn_cast<SumExpr>(e)) {
    visit(sum->lo);
    visit(sum->hi);
  }
}

void Sema::resolveNames(const Expr *e, Env &env, llvm::StringSet<> &bound) {
  if (!e)
    return;
  auto known = [&](llvm::StringRef name) {
    return bound.contains(name) || isBuiltinName(name) || findItem(name, env);
  };
  auto *name = llvm::dyn_cast<NameExpr>(e);
  if (name && !known(name->text))
    unknown(name->text, name->range, env);
  auto *call = llvm::dyn_cast<CallExpr>(e);
  if (call && !known(call->name.text))
    unknown(call->name.text, call->name.range, env, "function");
  visitParts(e, [&](const Expr *part) { resolveNames(part, env, bound); });
  auto *loop = llvm::dyn_cast<ForExpr>(e);
  auto *sum = llvm::dyn_cast<SumExpr>(e);
  if (!loop && !sum)
    return;
  llvm::StringRef index = loop ? loop->name.text : sum->name.text;
  bool fresh = bound.insert(index).second;
  resolveNames(loop ? loop->body : sum->body, env, bound);
  if (fresh)
    bound.erase(index);
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
    auto [first, fresh] = seen.try_emplace(formal.name.text, formal.name.range);
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
    forEachExpr(clause, [&](const Expr *e) { resolveNames(e, env, bound); });
  if (auto *function = llvm::dyn_cast<FunctionItem>(item))
    resolveNames(function->value, env, bound);
}
