// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: stacks and instances of schemes.
#include "frontend/Check.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

static StringRef getKindWord(const Item *item) {
  switch (item->kind) {
  case ItemKind::Let:
    return "let";
  case ItemKind::Function:
    return "fn";
  case ItemKind::Stack:
    return "stack";
  default:
    return "scheme";
  }
}

Scheme *Sema::useScheme(const Expr *e, Env &env, const InstanceItem *instance) {
  if (auto *name = llvm::dyn_cast<NameExpr>(e))
    return useItem(e, env, {name->text, name->range}, {}, instance);
  if (auto *call = llvm::dyn_cast<CallExpr>(e))
    return useItem(e, env, call->name, call->args, instance);
  fail(env, e->range, "use",
       llvm::isa<ListExpr>(e)
           ? "schemes of one layer are written 'use a, b', without brackets"
           : "expected a scheme; a choice is written 'if layer mod 2 == 0 then "
             "a else b'");
  return nullptr;
}

/// "gemma2(true)" as a name of the IR and of headers: gemma2_true.
static std::string makeName(StringRef scheme,
                            const llvm::StringMap<Binding> &args,
                            llvm::ArrayRef<Formal> formals) {
  std::string name = scheme.str();
  for (const Formal &formal : formals) {
    auto found = args.find(formal.name.text);
    if (found == args.end() || found->second.value.kind != Meaning::Number)
      continue;
    name += '_';
    for (char c : printConstant(found->second.value.scalar.node))
      name += llvm::isAlnum(c) ? c : c == '-' ? 'm' : '_';
  }
  return name;
}

Scheme *Sema::useItem(const Expr *e, Env &env, const Name &name,
                      llvm::ArrayRef<Argument> args,
                      const InstanceItem *instance) {
  const Item *item = findItem(name.text, env);
  if (!item) {
    unknown(name.text, name.range, env, "scheme");
    return nullptr;
  }
  if (item->broken)
    return nullptr;
  if (auto *other = llvm::dyn_cast<InstanceItem>(item)) {
    if (!args.empty()) {
      fail(env, e->range, "call",
           fmt::format("'{}' has its arguments already", name.text.str()));
      return nullptr;
    }
    for (const Env *at = &env; at; at = at->caller)
      if (at->definition == other) {
        fail(env, name.range, "recursive",
             fmt::format("'{}' is defined by itself; the language has no "
                         "recursion",
                         name.text.str()));
        return nullptr;
      }
    Env inner = makeFileEnv(other, Where::File);
    inner.definition = other;
    inner.caller = &env;
    inner.call = e->range;
    return useScheme(other->value, inner, instance ? instance : other);
  }
  auto *scheme = llvm::dyn_cast<SchemeItem>(item);
  if (!scheme) {
    fail(env, name.range, "use",
         fmt::format("'{}' is a '{}', not a scheme", name.text.str(),
                     getKindWord(item).str()));
    return nullptr;
  }
  llvm::StringMap<Binding> bound;
  if (!bindArguments(scheme, scheme->formals, args, name.range, env, bound))
    return nullptr;
  if (instance)
    return checkScheme(scheme, std::move(bound), instance->name.text.str(),
                       instance->name.range, e->range);
  std::string shown = scheme->name.text.str();
  if (args.empty())
    return checkScheme(scheme, std::move(bound), std::move(shown),
                       scheme->name.range, e->range);
  // What a stack makes has no name of its own; the same arguments give the same
  // scheme.
  std::string key = argumentKey(bound, scheme->formals);
  if (!key.empty())
    key += fmt::format(" {}", static_cast<const void *>(scheme));
  if (auto known = stackSchemes.find(key);
      !key.empty() && known != stackSchemes.end())
    return known->second;
  std::string wanted = makeName(shown, bound, scheme->formals);
  shown = wanted;
  auto taken = [&] {
    return items.contains(shown) ||
           llvm::any_of(out.schemes, [&](const auto &other) {
             return other->name == shown;
           });
  };
  for (int n = 2; taken(); ++n)
    shown = fmt::format("{}_{}", wanted, n);
  Scheme *made = checkScheme(scheme, std::move(bound), std::move(shown),
                             scheme->name.range, e->range);
  if (!key.empty())
    stackSchemes[key] = made;
  return made;
}

Scheme *Sema::pickScheme(const Expr *e, Env &env) {
  while (auto *choice = llvm::dyn_cast<IfExpr>(e)) {
    Meaning condition = eval(choice->condition, env);
    if (condition.isPoison())
      return nullptr;
    condition = boolean(condition, choice->condition, env);
    if (condition.isPoison())
      return nullptr;
    if (!condition.isConstant()) {
      fail(env, choice->condition->range, "use",
           "the choice of a layer's scheme must be known at compile time");
      return nullptr;
    }
    e = condition.scalar.node->truth ? choice->yes : choice->no;
  }
  return useScheme(e, env, nullptr);
}

/// Names in the branches that no layer takes are names of schemes, too.
bool Sema::resolveUse(const Expr *e, Env &env, llvm::StringSet<> &bound) {
  if (auto *choice = llvm::dyn_cast<IfExpr>(e)) {
    resolveNames(choice->condition, env, bound);
    bool yes = resolveUse(choice->yes, env, bound);
    return resolveUse(choice->no, env, bound) && yes;
  }
  auto *name = llvm::dyn_cast<NameExpr>(e);
  auto *call = llvm::dyn_cast<CallExpr>(e);
  if (!name && !call)
    return true;
  if (call)
    for (const Argument &arg : call->args)
      resolveNames(arg.value, env, bound);
  StringRef text = name ? name->text : call->name.text;
  if (findItem(text, env))
    return true;
  unknown(text, name ? name->range : call->name.range, env, "scheme");
  return false;
}

void Sema::checkStack(const StackItem *item) {
  Env env = makeFileEnv(item, Where::Stack);
  int64_t layers = options.layers > 0 ? options.layers : 12;
  if (item->layers) {
    auto given = evalSize(item->layers, env, "the number of layers");
    if (!given)
      return;
    layers = *given;
  }
  if (layers < 1 || layers > mostLayers) {
    fail(env, item->layers ? item->layers->range : item->name.range, "large",
         fmt::format("a stack has 1 to {} layers, not {}", mostLayers,
                     printSize(layers)));
    return;
  }
  llvm::StringSet<> bound;
  for (const LetClause *let : item->lets)
    bound.insert(let->name.text);
  bool known = true;
  for (const Expr *use : item->uses)
    known &= resolveUse(use, env, bound);
  if (!known)
    return;
  Stack stack;
  stack.name = item->name.text.str();
  stack.range = item->name.range;
  for (int64_t layer = 0; layer != layers; ++layer) {
    Env inner = makeFileEnv(item, Where::Stack);
    inner.layer = layer;
    inner.layers = layers;
    for (const LetClause *let : item->lets) {
      if (!mayDefine(inner, let->name))
        return;
      if (items.contains(let->name.text) ||
          inner.locals.contains(let->name.text)) {
        fail(inner, let->name.range, "twice",
             fmt::format("'{}' is defined twice", let->name.text.str()));
        return;
      }
      inner.locals[let->name.text] = {eval(let->value, inner), {}};
    }
    std::vector<const Scheme *> attentions;
    for (const Expr *use : item->uses) {
      Scheme *scheme = pickScheme(use, inner);
      // What is wrong in one layer is wrong in the next.
      if (!scheme)
        return;
      attentions.push_back(scheme);
    }
    stack.layers.push_back(std::move(attentions));
  }
  out.stacks.push_back(std::move(stack));
}
