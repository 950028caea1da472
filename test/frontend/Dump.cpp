// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tree of a file as text without places, to compare two trees.
#include "Dump.h"

#include <fmt/format.h>

using namespace torsor;

static std::string dumpArgs(llvm::ArrayRef<Argument> args) {
  std::string out;
  for (const Argument &arg : args)
    out += " " + (arg.label ? arg.label.text.str() + "=" : "") +
           dumpExpr(arg.value);
  return out;
}

static std::string dumpSum(const SumExpr &sum) {
  const char *ops[] = {"<", "<=", "in"};
  return fmt::format("(sum {} {} {}{}: {})", sum.name.text.str(),
                     ops[int(sum.bound)],
                     sum.lo ? dumpExpr(sum.lo) + " .. " : "", dumpExpr(sum.hi),
                     dumpExpr(sum.body));
}

static std::string dumpCompare(const CompareExpr &compare) {
  std::string out = "(cmp " + dumpExpr(compare.first);
  for (const CompareLink &link : compare.links)
    out += " " + getSpelling(link.op).str() + " " + dumpExpr(link.right);
  return out + ")";
}

static std::string dumpAt(const AtExpr &at) {
  if (at.clock)
    return fmt::format("(at {} {})", dumpExpr(at.value), dumpExpr(at.clock));
  return fmt::format("(at {} q={} k={})", dumpExpr(at.value),
                     dumpExpr(at.query), dumpExpr(at.key));
}

std::string torsor::dumpExpr(const Expr *expr) {
  using namespace llvm;
  if (!expr)
    return "?";
  if (auto *e = dyn_cast<IntExpr>(expr))
    return e->digits.str();
  if (auto *e = dyn_cast<RealExpr>(expr))
    return fmt::format("{:a}", e->value);
  if (auto *e = dyn_cast<BoolExpr>(expr))
    return e->value ? "true" : "false";
  if (auto *e = dyn_cast<NameExpr>(expr))
    return e->text.str();
  if (auto *e = dyn_cast<CallExpr>(expr))
    return "(" + e->name.text.str() + "()" + dumpArgs(e->args) + ")";
  if (auto *e = dyn_cast<SumExpr>(expr))
    return dumpSum(*e);
  if (auto *e = dyn_cast<CompareExpr>(expr))
    return dumpCompare(*e);
  if (auto *e = dyn_cast<AtExpr>(expr))
    return dumpAt(*e);
  if (auto *e = dyn_cast<ForExpr>(expr))
    return fmt::format("[for {} < {}: {}]", e->name.text.str(),
                       dumpExpr(e->bound), dumpExpr(e->body));
  if (auto *e = dyn_cast<IfExpr>(expr))
    return fmt::format("(if {} {} {})", dumpExpr(e->condition),
                       dumpExpr(e->yes), dumpExpr(e->no));
  if (auto *e = dyn_cast<BinaryExpr>(expr))
    return fmt::format("({} {} {})", getSpelling(e->op).str(),
                       dumpExpr(e->left), dumpExpr(e->right));
  if (auto *e = dyn_cast<NotExpr>(expr))
    return "(not " + dumpExpr(e->value) + ")";
  if (auto *e = dyn_cast<NegateExpr>(expr))
    return "(- " + dumpExpr(e->value) + ")";
  ArrayRef<const Expr *> items;
  std::string out = "[";
  if (auto *e = dyn_cast<IndexExpr>(expr)) {
    items = e->indices;
    out = "(index " + dumpExpr(e->value);
  } else {
    items = cast<ListExpr>(expr)->items;
  }
  for (const Expr *item : items)
    out += " " + dumpExpr(item);
  return out + (expr->kind == ExprKind::Index ? ")" : "]");
}

static std::string dumpRange(const RangeNode &range) {
  return range.lo ? " in " + dumpExpr(range.lo) + " .. " + dumpExpr(range.hi)
                  : "";
}

static std::string dumpClock(const ClockClause &clock) {
  std::string out;
  for (const ClockBinder &binder : clock.binders) {
    out += " " + binder.name.text.str();
    if (binder.bound)
      out +=
          "[" + binder.index.text.str() + " < " + dumpExpr(binder.bound) + "]";
  }
  if (clock.value)
    return out + " = " + dumpExpr(clock.value);
  return out + ": " + clock.storage.text.str() +
         (clock.moving ? " moving" : "") + (clock.rising ? " rising" : "") +
         dumpRange(clock.bounds);
}

static std::string dumpTensor(const TensorClause &tensor) {
  std::string out;
  for (const Name &name : tensor.names)
    out += " " + name.text.str();
  out += ": " + tensor.storage.text.str();
  for (const Axis &axis : tensor.axes)
    out += axis.extent ? "[" + dumpExpr(axis.extent) + "]" : "[*]";
  if (tensor.per)
    out += " per " + tensor.per.text.str();
  if (tensor.orthogonal)
    out += " orthogonal";
  if (tensor.condition)
    out += " condition " + dumpExpr(tensor.condition);
  return out + dumpRange(tensor.bounds);
}

static std::string dumpClause(const Clause *clause) {
  using namespace llvm;
  std::string out = getClauseWord(clause->kind).str();
  for (StringRef line : clause->doc)
    out = "/// " + line.str() + "\n" + out;
  if (auto *c = dyn_cast<LetClause>(clause))
    out += " " + c->name.text.str() + " = " + dumpExpr(c->value);
  else if (auto *c = dyn_cast<RequireClause>(clause))
    out += " " + dumpExpr(c->condition) + " \"" + c->message.str() + "\"";
  else if (auto *c = dyn_cast<TermClause>(clause))
    out += " " + dumpExpr(c->value);
  else if (auto *c = dyn_cast<ValueClause>(clause))
    out += c->width ? " " + dumpExpr(c->width) : " key" + dumpRange(c->lanes);
  else if (auto *c = dyn_cast<ClockClause>(clause))
    out += dumpClock(*c);
  else if (auto *c = dyn_cast<TensorClause>(clause))
    out += dumpTensor(*c);
  else if (auto *c = dyn_cast<CallClause>(clause))
    out += " " + c->name.text.str() + dumpArgs(c->args) +
           (c->divisor ? " / " + dumpExpr(c->divisor) : "");
  return out + "\n";
}

static std::string dumpType(const TypeNode &type) {
  return std::to_string(int(type.base)) +
         (type.size ? "[" + dumpExpr(type.size) + "]" : "");
}

static std::string dumpFormals(llvm::ArrayRef<Formal> formals) {
  std::string out = "(";
  for (const Formal &formal : formals)
    out += formal.name.text.str() + ": " + dumpType(formal.type) +
           (formal.defaultValue ? " = " + dumpExpr(formal.defaultValue) : "") +
           ", ";
  return out + ")";
}

static std::string dumpItem(const Item *item) {
  using namespace llvm;
  std::string out;
  for (StringRef line : item->doc)
    out += "/// " + line.str() + "\n";
  std::string name = item->name.text.str();
  if (auto *i = dyn_cast<LetItem>(item))
    return out + "let " + name + " = " + dumpExpr(i->value) + "\n";
  if (auto *i = dyn_cast<InstanceItem>(item))
    return out + "scheme " + name + " = " + dumpExpr(i->value) + "\n";
  if (auto *i = dyn_cast<FunctionItem>(item)) {
    out += "fn " + name + dumpFormals(i->formals) + " -> " +
           dumpType(i->result) + "\n";
    for (const Clause *clause : i->body)
      out += dumpClause(clause);
    return out + "= " + dumpExpr(i->value) + "\n";
  }
  if (auto *i = dyn_cast<SchemeItem>(item)) {
    out += "scheme " + name + dumpFormals(i->formals) + "\n";
    for (const Clause *clause : i->clauses)
      out += dumpClause(clause);
    return out;
  }
  auto *stack = cast<StackItem>(item);
  out += "stack " + name + "\n";
  for (const LetClause *let : stack->lets)
    out += dumpClause(let);
  if (stack->layers)
    out += "layers " + dumpExpr(stack->layers) + "\n";
  for (const Expr *use : stack->uses)
    out += "use " + dumpExpr(use) + "\n";
  return out;
}

std::string torsor::dumpFile(const ParsedFile &file) {
  std::string out;
  for (const Import &import : file.imports)
    out += "import " + import.path.str() + "\n";
  for (const Item *item : file.items)
    out += dumpItem(item);
  return out;
}
