// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: what names stand for.
#include "frontend/Habits.h"
#include "frontend/Sema.h"

#include <numbers>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

Meaning Sema::unknown(StringRef name, SourceRange range, Env &env,
                      StringRef what) {
  // A definition that could not be read may have given the name.
  if (broken)
    return Meaning();
  std::string text = fmt::format("unknown {} '{}'", what.str(), name.str());
  // Nobody will read it: no need to search for what was meant.
  if (diagnostics.getErrorCount() >= DiagnosticList::errorLimit)
    return fail(env, range, "unknown", std::move(text));
  std::vector<StringRef> pool;
  for (const auto &entry : env.locals)
    pool.push_back(entry.getKey());
  if (env.scheme && env.seesScheme)
    for (const auto &entry : env.scheme->names)
      pool.push_back(entry.getKey());
  for (const auto *table : {&items, &preludeItems})
    for (const auto &entry : *table)
      pool.push_back(entry.getKey());
  for (auto names : {getAmbientNames(), getFunctionNames(), getBlockNames()})
    pool.insert(pool.end(), names.begin(), names.end());
  llvm::erase(pool, name); // of another kind
  std::sort(pool.begin(), pool.end());
  StringRef near = getNearest(name, pool), hint = getHabitHint(name);
  for (StringRef known : pool) // 'd' for 'D'
    if (near.empty() && known.equals_insensitive(name))
      near = known;
  if (hint.empty() && near.empty() && env.scheme && what == "name")
    hint = "what comes from outside is declared by 'param', 'input' or 'clock'";
  if (!hint.empty())
    text += "; " + hint.str();
  else if (!near.empty())
    text += fmt::format("; did you mean '{}'?", near.str());
  Diagnostic &message = report(env, range, "unknown", std::move(text));
  if (hint.empty() && !near.empty())
    message.withFix(near.str());
  return Meaning();
}

bool Sema::mayDefine(const Env &env, const Name &name) {
  if (!isBuiltinName(name.text))
    return true;
  StringRef meaning = describeBuiltin(name.text);
  report(env, name.range, "taken",
         fmt::format(
             "'{}' is built in{} and cannot be defined again", name.text.str(),
             meaning.empty() ? "" : fmt::format(" ({})", meaning.str())));
  return false;
}

bool Sema::mayDefineInside(const Env &env, const Name &name) {
  if (!mayDefine(env, name))
    return false;
  const Item *item = items.lookup(name.text);
  bool hides = item && llvm::isa<LetItem, FunctionItem>(item);
  if (!hides || (env.file && env.file->isPrelude()))
    return true;
  report(env, name.range, "twice",
         fmt::format("'{}' is defined twice", name.text.str()))
      .note(item->name.range, "first defined here");
  return false;
}

/// `f(a, b)`: how a definition is called.
static std::string showCall(StringRef name, llvm::ArrayRef<Formal> formals) {
  std::string text = name.str() + "(";
  for (const Formal &formal : formals) {
    if (&formal != formals.begin())
      text += ", ";
    text += formal.name.text.str();
  }
  return text + ")";
}

Meaning Sema::evalName(const NameExpr *e, Env &env) {
  StringRef name = e->text;
  if (auto local = env.locals.find(name); local != env.locals.end())
    return local->second.value;
  if (env.scheme && env.seesScheme) {
    if (auto found = env.scheme->names.find(name);
        found != env.scheme->names.end()) {
      SchemeState::Entity &entity = found->second;
      entity.used = true;
      if (entity.pending)
        return fail(env, e->range, "const",
                    fmt::format("'{}' is no constant, which a width, an axis "
                                "or a range needs",
                                name.str()));
      if (entity.let)
        return forceLet(entity.let, e->range, env);
      return entity.value;
    }
  }
  if (const Item *item = findItem(name, env)) {
    if (item->broken)
      return Meaning();
    if (auto *let = llvm::dyn_cast<LetItem>(item))
      return inlineLet(let, e->range, env);
    if (auto *function = llvm::dyn_cast<FunctionItem>(item)) {
      if (function->formals.empty())
        return callFunction(function, {}, e->range, e->range, env);
      return fail(env, e->range, "call",
                  fmt::format("'{}' is a function; call it with its "
                              "arguments: {}",
                              name.str(), showCall(name, function->formals)));
    }
    if (llvm::isa<StackItem>(item))
      return fail(env, e->range, "use",
                  fmt::format("'{}' is a stack, not a value", name.str()));
    Meaning scheme;
    scheme.kind = Meaning::SchemeName;
    return scheme;
  }
  if (isFunctionName(name) && name != "age" && name != "delta")
    return fail(env, e->range, "call",
                fmt::format("'{}' is a function; call it with its arguments",
                            name.str()));
  if (isBlockName(name))
    return fail(env, e->range, "call",
                fmt::format("'{}' is an action; call it with its arguments",
                            name.str()));
  if (!isBuiltinName(name))
    return unknown(name, e->range, env);
  return evalAmbient(name, e, env);
}

namespace {

/// The plain leaves among the built-in names.
struct Leaf {
  StringRef name;
  NodeOp op;
  NumberType type;
  TokenId token;
  Varies varies;
  Interval range;
};

constexpr double inf = Interval::inf;
constexpr Leaf leaves[] = {
    {"i",
     NodeOp::Index,
     NumberType::Int,
     TokenId::Query,
     varies::query,
     {0, inf}},
    {"j", NodeOp::Index, NumberType::Int, TokenId::Key, varies::key, {0, inf}},
    {"h", NodeOp::Head, NumberType::Int, TokenId::None, varies::head, {0, inf}},
    {"g",
     NodeOp::Group,
     NumberType::Int,
     TokenId::None,
     varies::group,
     {0, inf}},
    {"H",
     NodeOp::Heads,
     NumberType::Int,
     TokenId::None,
     varies::call,
     {1, inf}},
    {"G",
     NodeOp::Groups,
     NumberType::Int,
     TokenId::None,
     varies::call,
     {1, inf}},
    {"N",
     NodeOp::Length,
     NumberType::Int,
     TokenId::None,
     varies::sequence,
     {0, inf}},
    {"score",
     NodeOp::Score,
     NumberType::Real,
     TokenId::None,
     varies::query | varies::key | varies::content | varies::head |
         varies::score,
     {-inf, inf}},
    {"total",
     NodeOp::Total,
     NumberType::Real,
     TokenId::None,
     varies::query | varies::content | varies::head,
     {-inf, inf}}};

/// Why a scheme's name is not known in a clause, or "".
std::string findAmbientFault(StringRef name, Where where) {
  if (name == "score" && where != Where::Logit)
    return "'score' is the logit before scale and softcap, and is known only "
           "in the clause 'logit'";
  if (name == "total" && where != Where::Divisor)
    return "'total' is the sum of a row's scores, and is known only after "
           "'readout linear /'";
  if ((name == "D" || name == "V") && where == Where::Head)
    return fmt::format("'{}' is what 'head' says, and is not known there",
                       name.str());
  bool oneToken = where == Where::Embed;
  if (oneToken && (name == "i" || name == "h" || name == "g" || name == "H" ||
                   name == "G" || name == "N"))
    return fmt::format("'{}' has no meaning in 'embed': one token is seen "
                       "there, as 'j' and 't'",
                       name.str());
  return "";
}

/// D or V: a constant, unless the compile command is to say it.
Meaning readWidth(NodeGraph &graph, const Scheme &scheme, bool head,
                  SourceRange at) {
  if (head ? scheme.headIsOpen : scheme.valueIsOpen) {
    Node node{.op = head ? NodeOp::Width : NodeOp::ValueWidth,
              .type = NumberType::Int};
    node.range = at;
    return {graph.intern(std::move(node)), {1, 1024}};
  }
  int64_t width = head ? scheme.head : scheme.value;
  return {graph.integer(width, at), Interval::exactly(Integer(width))};
}

} // namespace

Meaning Sema::evalAmbient(StringRef name, const NameExpr *e, Env &env) {
  SourceRange at = e->range;
  // The scheme tried to give the name another meaning, which was reported.
  if (env.scheme && env.scheme->takenNames.contains(name))
    return Meaning();
  if (name == "pi")
    return {graph.real(std::numbers::pi, at),
            Interval::exactly(std::numbers::pi)};
  if (name == "inf")
    return fail(env, at, "inf",
                std::string("'inf' stands only in a range ('in 0 .. inf')") +
                    (env.where == Where::Bias || env.where == Where::Logit
                         ? "; hide a pair with 'mask'"
                         : ""));
  if (name == "layer" || name == "L") {
    if (auto value = name == "L" ? env.layers : env.layer)
      return {graph.integer(*value, at), Interval::exactly(Integer(*value))};
    readsScheme = true;
    if (env.where == Where::Stack)
      return fail(
          env, at, "ambient",
          fmt::format("'{}' is known behind 'use'; the number of layers "
                      "is a constant, or left out and given when "
                      "compiling (--layers)",
                      name.str()));
    return fail(env, at, "ambient",
                fmt::format("'{}' is known only inside a stack; pass it to the "
                            "scheme as an argument",
                            name.str()));
  }
  if (!env.scheme) {
    readsScheme = true;
    return fail(env, at, "ambient",
                fmt::format("'{}' is known only where a scheme is evaluated",
                            name.str()));
  }
  if (std::string fault = findAmbientFault(name, env.where); !fault.empty())
    return fail(env, at, "ambient", fault);
  for (const Leaf &leaf : leaves)
    if (leaf.name == name) {
      Node node{.op = leaf.op, .type = leaf.type};
      node.token = leaf.token;
      node.varies = leaf.varies;
      node.range = at;
      return {graph.intern(std::move(node)), leaf.range};
    }
  if (name == "D" || name == "V")
    return readWidth(graph, env.scheme->scheme, name == "D", at);
  ClockRef pos{env.scheme->pos};
  if (name == "s" || name == "t")
    return readClock(pos, name == "s" ? TokenId::Query : TokenId::Key, at, env);
  if (name == "age" || name == "delta")
    return clockDifference(pos, name == "age", at, env);
  if (name == "pos")
    return pos;
  Meaning vectors;
  vectors.kind = Meaning::TokenVectors;
  vectors.isKey = name == "k";
  return vectors;
}

Meaning Sema::forceLet(const LetClause *let, SourceRange use, Env &env) {
  SchemeState &state = *env.scheme;
  auto key = std::make_pair(static_cast<const void *>(let), env.where);
  if (auto known = state.letValues.find(key); known != state.letValues.end())
    return known->second;
  if (llvm::is_contained(state.forcing, let))
    return fail(env, use, "recursive",
                fmt::format("'{}' is defined by itself; the language has no "
                            "recursion",
                            let->name.text.str()));
  state.forcing.push_back(let);
  Env inner = makeClauseEnv(state, env.where);
  Meaning value = eval(let->value, inner);
  state.forcing.pop_back();
  if (mayKeep(value))
    state.letValues[key] = value;
  return value;
}

static bool isBeingEvaluated(const void *definition, const Env &env) {
  for (const Env *at = &env; at; at = at->caller)
    if (at->definition == definition)
      return true;
  return false;
}

Meaning Sema::inlineLet(const LetItem *let, SourceRange use, Env &env) {
  auto key = std::make_pair(static_cast<const void *>(let), env.where);
  auto *kept = env.scheme  ? &env.scheme->letValues
               : env.layer ? nullptr // may read the layer
                           : &fileLetValues;
  if (kept)
    if (auto known = kept->find(key); known != kept->end())
      return known->second;
  if (isBeingEvaluated(let, env))
    return fail(env, use, "recursive",
                fmt::format("'{}' is defined by itself; the language has no "
                            "recursion",
                            let->name.text.str()));
  Env inner;
  inner.file = let->range.file;
  inner.scheme = env.scheme;
  inner.where = env.where;
  inner.definition = let;
  inner.definitionName = let->name.text;
  inner.call = use;
  inner.caller = &env;
  inner.layer = env.layer;
  inner.layers = env.layers;
  Meaning value = eval(let->value, inner);
  if (kept && mayKeep(value))
    (*kept)[key] = value;
  return value;
}
