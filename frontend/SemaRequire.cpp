// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: contracts of definitions and schemes.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

namespace {

/// Collects the arguments that a condition names, in the order a reader meets
/// them (bodies of sums before their bounds).
struct ArgumentFinder {
  const llvm::StringMap<Binding> &locals;
  std::vector<StringRef> found;

  void visit(const Expr *e) {
    if (!e)
      return;
    switch (e->kind) {
    case ExprKind::Name:
      return addName(llvm::cast<NameExpr>(e)->text);
    case ExprKind::Call:
      for (const Argument &arg : llvm::cast<CallExpr>(e)->args)
        visit(arg.value);
      return;
    case ExprKind::Index:
      visit(llvm::cast<IndexExpr>(e)->value);
      for (const Expr *index : llvm::cast<IndexExpr>(e)->indices)
        visit(index);
      return;
    case ExprKind::List:
      for (const Expr *item : llvm::cast<ListExpr>(e)->items)
        visit(item);
      return;
    case ExprKind::For:
      visit(llvm::cast<ForExpr>(e)->body);
      return visit(llvm::cast<ForExpr>(e)->bound);
    case ExprKind::Sum:
      visit(llvm::cast<SumExpr>(e)->body);
      visit(llvm::cast<SumExpr>(e)->lo);
      return visit(llvm::cast<SumExpr>(e)->hi);
    case ExprKind::If:
      visit(llvm::cast<IfExpr>(e)->condition);
      visit(llvm::cast<IfExpr>(e)->yes);
      return visit(llvm::cast<IfExpr>(e)->no);
    case ExprKind::Binary:
      visit(llvm::cast<BinaryExpr>(e)->left);
      return visit(llvm::cast<BinaryExpr>(e)->right);
    case ExprKind::Compare:
      visit(llvm::cast<CompareExpr>(e)->first);
      for (const CompareLink &link : llvm::cast<CompareExpr>(e)->links)
        visit(link.right);
      return;
    case ExprKind::Not:
      return visit(llvm::cast<NotExpr>(e)->value);
    case ExprKind::Negate:
      return visit(llvm::cast<NegateExpr>(e)->value);
    default:
      return;
    }
  }

private:
  void addName(StringRef name) {
    auto local = locals.find(name);
    if (local != locals.end() && local->second.argument.isValid() &&
        !llvm::is_contained(found, name))
      found.push_back(name);
  }
};

/// The value of an argument in a message; "" for one that is not known.
std::string showArgument(const Meaning &value) {
  if (!value.isConstant())
    return "";
  if (value.kind == Meaning::Number)
    return printConstant(value.scalar.node);
  std::string text = "[";
  const auto &elements = value.vector->elements;
  for (size_t p = 0; p != std::min<size_t>(elements.size(), 4); ++p)
    text += (p ? ", " : "") + printConstant(elements[p].node);
  return text + (elements.size() > 4 ? ", …]" : "]");
}

} // namespace

bool Sema::checkRequire(const RequireClause *clause, Env &env, StringRef name,
                        SourceRange call) {
  bool outside = std::exchange(env.proves, true);
  Meaning condition = evalBoolean(clause->condition, env);
  env.proves = outside;
  if (condition.isPoison())
    return false;
  if (condition.isConstant() && condition.scalar.node->truth)
    return true;
  ArgumentFinder finder{env.locals, {}};
  finder.visit(clause->condition);
  // Where the user wrote an argument; the call, if the library supplied it.
  auto placeOf = [&](StringRef argument) {
    SourceRange range = env.locals.find(argument)->second.argument;
    return range.file->isPrelude() ? call : range;
  };
  std::string text = fmt::format("{}: {}", name.str(), clause->message.str());
  if (!condition.isConstant()) {
    for (StringRef argument : finder.found)
      if (!env.locals.find(argument)->second.value.isConstant()) {
        report(env, placeOf(argument), "unproved",
               fmt::format("{}; this cannot be shown for '{}'; give a "
                           "constant, or declare a range ('in …')",
                           text, argument.str()));
        return false;
      }
    report(env, call, "unproved",
           text + "; this cannot be shown here; give constants, or declare "
                  "ranges ('in …')");
    return false;
  }
  std::string but;
  size_t shown = 0;
  for (StringRef argument : finder.found) {
    std::string value = showArgument(env.locals.find(argument)->second.value);
    if (value.empty() || shown == 3)
      continue;
    but += fmt::format("{}{} is {}", shown++ ? " and " : ", but ",
                       argument.str(), value);
  }
  report(env, finder.found.empty() ? call : placeOf(finder.found.front()),
         "require", text + but);
  return false;
}
