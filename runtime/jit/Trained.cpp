// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme's text says of the training.
#include "frontend/Ast.h"
#include "frontend/Scheme.h"
#include "runtime/jit/Stability.h"

#include "llvm/ADT/STLExtras.h"

using namespace torsor;

namespace {

/// Looks for arguments such as `trained = n` in the expressions of one scheme.
class TrainedFinder {
public:
  TrainedFinder(const CheckedFile &file, llvm::ArrayRef<Formal> formals,
                llvm::ArrayRef<Argument> given)
      : file(file), formals(formals), given(given) {}

  TrainingFacts found;

  void visit(const Expr *e);

private:
  const CheckedFile &file;
  llvm::ArrayRef<Formal> formals;
  llvm::ArrayRef<Argument> given;
  unsigned depth = 0;

  void visitCall(const CallExpr *call);
  double evaluate(const Expr *e) const;
};

} // namespace

/// A literal, or a formal with one; 0 for what is neither.
double TrainedFinder::evaluate(const Expr *e) const {
  if (auto *number = llvm::dyn_cast<IntExpr>(e)) {
    int64_t value = 0;
    return number->digits.getAsInteger(10, value) ? 0
                                                  : static_cast<double>(value);
  }
  if (auto *number = llvm::dyn_cast<RealExpr>(e))
    return number->value;
  auto *name = llvm::dyn_cast<NameExpr>(e);
  for (size_t n = 0; name && n < formals.size(); ++n)
    if (formals[n].name.text == name->text) {
      for (const Argument &argument : given)
        if (argument.label.text == name->text || (!argument.label && n == 0))
          return llvm::isa<NameExpr>(argument.value) ? 0
                                                     : evaluate(argument.value);
      return formals[n].defaultValue &&
                     !llvm::isa<NameExpr>(formals[n].defaultValue)
                 ? evaluate(formals[n].defaultValue)
                 : 0;
    }
  return 0;
}

void TrainedFinder::visitCall(const CallExpr *call) {
  auto keep = [](double &known, double value) {
    known = std::max(known, value);
  };
  bool spectrum = call->name.text == "spectrum" || call->name.text == "rope" ||
                  call->name.text == "yarn";
  for (const Argument &argument : call->args) {
    llvm::StringRef label = argument.label.text;
    double value = evaluate(argument.value);
    if (label == "trained" && value < 1e15)
      keep(found.trained, value);
    else if (label == "factor")
      keep(found.factor, value);
    else if (spectrum && label == "base")
      keep(found.base, value);
    else if (spectrum && !argument.label)
      keep(found.width, value);
    visit(argument.value);
  }
}

void TrainedFinder::visit(const Expr *e) {
  if (!e || depth > 512)
    return;
  ++depth;
  if (auto *call = llvm::dyn_cast<CallExpr>(e))
    visitCall(call);
  else if (auto *index = llvm::dyn_cast<IndexExpr>(e))
    visit(index->value);
  else if (auto *list = llvm::dyn_cast<ListExpr>(e))
    llvm::for_each(list->items, [this](const Expr *item) { visit(item); });
  else if (auto *all = llvm::dyn_cast<ForExpr>(e))
    visit(all->body);
  else if (auto *sum = llvm::dyn_cast<SumExpr>(e))
    visit(sum->body);
  else if (auto *choice = llvm::dyn_cast<IfExpr>(e)) {
    visit(choice->yes);
    visit(choice->no);
  } else if (auto *binary = llvm::dyn_cast<BinaryExpr>(e)) {
    visit(binary->left);
    visit(binary->right);
  } else if (auto *negate = llvm::dyn_cast<NegateExpr>(e))
    visit(negate->value);
  else if (auto *at = llvm::dyn_cast<AtExpr>(e))
    visit(at->value);
  else if (auto *name = llvm::dyn_cast<NameExpr>(e))
    for (const auto &parsed : file.files) // a let of a file
      for (const Item *item : parsed->items)
        if (auto *let = llvm::dyn_cast<LetItem>(item);
            let && let->name.text == name->text && depth < 64)
          visit(let->value);
  --depth;
}

static const Item *findItem(const CheckedFile &file, llvm::StringRef name) {
  const Item *best = nullptr;
  for (const auto &parsed : file.files)
    for (const Item *item : parsed->items) {
      bool scheme = llvm::isa<SchemeItem, InstanceItem>(item);
      // What a stack makes is named scheme_argument_….
      bool named =
          item->name.text == name || (name.starts_with(item->name.text) &&
                                      name[item->name.text.size()] == '_');
      if (scheme && named &&
          (!best || best->name.text.size() < item->name.text.size()))
        best = item;
    }
  return best;
}

TrainingFacts torsor::findTraining(const CheckedFile &file,
                                   llvm::StringRef name) {
  const Item *item = findItem(file, name);
  llvm::ArrayRef<Argument> given;
  for (int steps = 0; steps < 16; ++steps) {
    auto *instance = llvm::dyn_cast_or_null<InstanceItem>(item);
    if (!instance)
      break;
    auto *call = llvm::dyn_cast<CallExpr>(instance->value);
    auto *alias = llvm::dyn_cast<NameExpr>(instance->value);
    if (call)
      given = call->args;
    item = call    ? findItem(file, call->name.text)
           : alias ? findItem(file, alias->text)
                   : nullptr;
  }
  auto *scheme = llvm::dyn_cast_or_null<SchemeItem>(item);
  if (!scheme)
    return {};
  TrainedFinder finder(file, scheme->formals, given);
  for (const Clause *clause : scheme->clauses) {
    if (auto *term = llvm::dyn_cast<TermClause>(clause))
      finder.visit(term->value);
    else if (auto *let = llvm::dyn_cast<LetClause>(clause))
      finder.visit(let->value);
  }
  return finder.found;
}
