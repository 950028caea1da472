// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: calls of definitions, their arguments and contracts.
#include "frontend/Habits.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

Meaning Sema::evalCall(const CallExpr *e, Env &env) {
  StringRef name = e->name.text;
  if (isFunctionName(name))
    return evalFunction(e, env);
  if (isBlockName(name))
    return evalBlock(e, env);
  bool bound =
      env.locals.contains(name) ||
      (env.scheme && env.seesScheme && env.scheme->names.contains(name)) ||
      isAmbientName(name);
  if (isAmbientName(name) && name != "q" && name != "k" && name != "pos")
    return fail(
        env, e->range, "call",
        fmt::format("'{0}' is not a function; write '{0}'", name.str()));
  if (bound)
    return fail(env, e->range, "call",
                fmt::format("'{0}' is not a function; an element is written "
                            "{0}[…]",
                            name.str()));
  const Item *item = findItem(name, env);
  if (!item)
    return unknown(name, e->name.range, env, "function");
  if (item->broken)
    return Meaning();
  if (auto *function = llvm::dyn_cast<FunctionItem>(item))
    return callFunction(function, e->args, e->range, e->name.range, env);
  if (llvm::isa<LetItem>(item))
    return fail(env, e->range, "call",
                fmt::format("'{}' is not a function", name.str()));
  Meaning scheme;
  scheme.kind = Meaning::SchemeName;
  return scheme;
}

/// Where an argument was written. One that is handed through a definition was
/// written by the first caller: they are to blame.
static SourceRange originOf(const Expr *e, const Env &env) {
  if (auto *name = llvm::dyn_cast<NameExpr>(e))
    if (auto local = env.locals.find(name->text);
        local != env.locals.end() && local->second.argument.isValid())
      return local->second.argument;
  return e->range;
}

/// Matches arguments to formals by position (the first) and by name.
static bool
matchArguments(StringRef name, llvm::ArrayRef<Formal> formals,
               llvm::ArrayRef<Argument> args,
               llvm::StringMap<const Argument *> &out,
               llvm::function_ref<void(SourceRange, std::string)> error) {
  for (const Argument &arg : args) {
    size_t k = &arg - args.begin();
    StringRef key = arg.label.text;
    if (!arg.label && k > 0) {
      error(arg.range,
            k < formals.size()
                ? fmt::format("only the first argument of '{}' may go without "
                              "its name; write '{} = {}'",
                              name.str(), formals[k].name.text.str(),
                              quote(arg.value))
                : fmt::format("'{}' takes {} argument{}", name.str(),
                              formals.size(), formals.size() == 1 ? "" : "s"));
      return false;
    }
    if (!arg.label) {
      if (formals.empty()) {
        error(arg.range, "");
        return false;
      }
      key = formals.front().name.text;
    }
    std::vector<StringRef> known;
    for (const Formal &formal : formals)
      known.push_back(formal.name.text);
    if (!llvm::is_contained(known, key)) {
      StringRef near = getNearest(key, known);
      std::string text =
          fmt::format("'{}' has no argument '{}'", name.str(), key.str());
      if (!near.empty())
        text += fmt::format("; did you mean '{}'?", near.str());
      else if (!known.empty())
        text += "; it takes " + llvm::join(known, ", ");
      error(arg.label.range, std::move(text));
      return false;
    }
    if (!out.try_emplace(key, &arg).second) {
      error(arg.range, fmt::format("'{}' is given twice", key.str()));
      return false;
    }
  }
  return true;
}

bool Sema::bindArguments(const Item *item, llvm::ArrayRef<Formal> formals,
                         llvm::ArrayRef<Argument> args, SourceRange nameRange,
                         Env &env, llvm::StringMap<Binding> &out) {
  StringRef name = item->name.text;
  llvm::StringMap<const Argument *> given;
  bool matched = matchArguments(
      name, formals, args, given, [&](SourceRange range, std::string text) {
        if (text.empty())
          fail(env, range, "call",
               fmt::format("'{}' takes no argument", name.str()));
        else
          fail(env, range, "named", std::move(text));
      });
  if (!matched) {
    // The arguments have faults of their own.
    for (const Argument &arg : args)
      eval(arg.value, env);
    return false;
  }
  bool poisoned = false;
  for (const Formal &formal : formals) {
    StringRef key = formal.name.text;
    std::string what = fmt::format("'{}'", key.str());
    const Argument *arg = given.lookup(key);
    if (!arg && !formal.defaultValue) {
      fail(env, nameRange, "missing",
           fmt::format("'{}' needs its argument '{}' ({})", name.str(),
                       key.str(), getTypeWord(formal.type.base).str()));
      poisoned = true;
      continue;
    }
    Meaning value;
    SourceRange origin;
    if (arg) {
      value = fit(eval(arg->value, env), formal.type, arg->value, env, what,
                  out, item->range.file);
      origin = originOf(arg->value, env);
    } else {
      Env inner = makeFileEnv(item, env.where);
      inner.scheme = env.scheme;
      inner.caller = &env;
      inner.call = nameRange;
      inner.definitionName = name;
      inner.locals = out;
      value = fit(eval(formal.defaultValue, inner), formal.type,
                  formal.defaultValue, inner, what, out, item->range.file);
      origin = originOf(formal.defaultValue, inner);
    }
    poisoned |= value.isPoison();
    out[key] = {value, origin};
  }
  return !poisoned;
}

std::string Sema::argumentKey(const llvm::StringMap<Binding> &args,
                              llvm::ArrayRef<Formal> formals) const {
  std::string key = "(";
  for (const Formal &formal : formals) {
    auto found = args.find(formal.name.text);
    if (found == args.end() || !found->second.value.isConstant())
      return "";
    const Meaning &value = found->second.value;
    if (value.kind == Meaning::Number) {
      key += fmt::format("{},", value.scalar.node->id);
      continue;
    }
    key += value.vector->type == NumberType::Real ? "r[" : "[";
    for (const Scalar &element : value.vector->elements)
      key += fmt::format("{},", element.node->id);
    key += "],";
  }
  return key + ")";
}

/// An argument that the length of a result needs and that is not known at
/// compile time; null: there is none.
static const Binding *findOpenLength(const Expr *length, const Env &inner) {
  if (auto *binary = llvm::dyn_cast_or_null<BinaryExpr>(length)) {
    const Binding *open = findOpenLength(binary->left, inner);
    return open ? open : findOpenLength(binary->right, inner);
  }
  auto *name = llvm::dyn_cast_or_null<NameExpr>(length);
  if (!name)
    return nullptr;
  auto local = inner.locals.find(name->text);
  bool isOpen = local != inner.locals.end() && local->second.value.isNumber() &&
                !local->second.value.isConstant();
  return isOpen ? &local->second : nullptr;
}

Meaning Sema::callFunction(const FunctionItem *item,
                           llvm::ArrayRef<Argument> args, SourceRange call,
                           SourceRange nameRange, Env &env) {
  for (const Env *at = &env; at; at = at->caller)
    if (at->definition == item)
      return fail(env, nameRange, "recursive",
                  fmt::format("'{}' calls itself; the language has no "
                              "recursion",
                              item->name.text.str()));
  // A call is worth many small steps.
  if (!spend(env, call, 16))
    return Meaning();
  Env inner = makeFileEnv(item, env.where);
  inner.scheme = env.scheme;
  inner.definition = item;
  inner.definitionName = item->name.text;
  inner.call = call;
  inner.caller = &env;
  inner.layer = env.layer;
  inner.layers = env.layers;
  if (!bindArguments(item, item->formals, args, nameRange, env, inner.locals))
    return Meaning();
  if (const Binding *open = findOpenLength(item->result.size, inner)) {
    bool isWidth = open->value.scalar.node->op == NodeOp::Width;
    return fail(env, open->argument, "const",
                fmt::format("a width must be known at compile time, but '{}' "
                            "is not{}",
                            open->argument.getText().str(),
                            isWidth ? "; say it with the clause 'head', or "
                                      "when compiling (--head-width)"
                                    : ""));
  }
  std::string key = argumentKey(inner.locals, item->formals);
  if (!key.empty()) {
    // What else a constant result may depend on.
    const SchemeState *state = env.scheme;
    key += fmt::format("{} {} {} {} {} {}", static_cast<const void *>(item),
                       static_cast<const void *>(state), int(env.where),
                       state && state->causal, env.layer.value_or(-1),
                       env.layers.value_or(-1));
    if (auto known = callResults.find(key); known != callResults.end())
      return known->second;
  }
  bool enters = item->range.file->isPrelude() && !call.file->isPrelude();
  SourceRange before = graph.setCall(enters ? call : graph.getCall());
  Meaning value = runBody(item, inner, call);
  graph.setCall(before);
  if (!key.empty() && value.isConstant())
    callResults[key] = value;
  return value;
}

Meaning Sema::runBody(const FunctionItem *item, Env &inner, SourceRange call) {
  bool poisoned = false;
  for (const Clause *clause : item->body) {
    if (auto *require = llvm::dyn_cast<RequireClause>(clause)) {
      poisoned |= !checkRequire(require, inner, item->name.text, call);
      continue;
    }
    auto *let = llvm::cast<LetClause>(clause);
    if (!mayDefine(inner, let->name))
      return Meaning();
    if (inner.locals.contains(let->name.text))
      return fail(inner, let->name.range, "twice",
                  fmt::format("'{}' is defined twice", let->name.text.str()));
    // A broken contract makes what follows from it meaningless.
    if (poisoned)
      return Meaning();
    Meaning value = eval(let->value, inner);
    if (value.isPoison())
      return value;
    inner.locals[let->name.text] = {value, {}};
  }
  if (poisoned)
    return Meaning();
  return coerceResult(eval(item->value, inner), item, inner);
}
