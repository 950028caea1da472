// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: a scheme from its clauses, in the order their facts are needed.
#include "frontend/Check.h"
#include "frontend/Clauses.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "fmt/format.h"

using namespace torsor;

Env Sema::makeClauseEnv(SchemeState &state, Where where) const {
  Env env;
  env.file = state.item.range.file;
  env.scheme = &state;
  env.seesScheme = true;
  env.where = where;
  return env;
}

Scheme *Sema::checkScheme(const SchemeItem *item, llvm::StringMap<Binding> args,
                          std::string name, SourceRange range,
                          SourceRange call) {
  // Arguments left out take their defaults.
  Env env = makeFileEnv(item, Where::File);
  for (const Formal &formal : item->formals) {
    if (args.contains(formal.name.text))
      continue;
    env.locals = args;
    Meaning value = fit(
        eval(formal.defaultValue, env), formal.type, formal.defaultValue, env,
        fmt::format("'{}'", formal.name.text.str()), args, item->range.file);
    args[formal.name.text] = {value, formal.defaultValue->range};
  }
  for (const auto &arg : args)
    if (arg.second.value.isPoison())
      return nullptr;
  std::string key = argumentKey(args, item->formals);
  if (!key.empty()) {
    key += fmt::format(" {} {}", static_cast<const void *>(item), name);
    if (auto known = knownSchemes.find(key); known != knownSchemes.end())
      return known->second;
  }
  auto scheme = std::make_unique<Scheme>();
  scheme->name = std::move(name);
  scheme->range = range;
  scheme->doc = llvm::join(item->doc, "\n");
  SchemeState state(*scheme, *item);
  if (!item->formals.empty() && !item->range.contains(call))
    state.use = call;
  for (auto &arg : args) {
    SchemeState::Entity entity;
    entity.value = arg.second.value;
    entity.argument = arg.second.argument;
    entity.range = item->name.range;
    entity.used = true;
    state.names[arg.first()] = entity;
  }
  for (const Formal &formal : item->formals) {
    if (!mayDefine(env, formal.name))
      return nullptr;
    state.names[formal.name.text].range = formal.name.range;
  }
  unsigned before = diagnostics.getErrorCount();
  readClauses(state, call);
  bool good = before == diagnostics.getErrorCount();
  if (good)
    warnAbout(state);
  Scheme *made = scheme.get();
  out.schemes.push_back(std::move(scheme));
  if (!key.empty())
    knownSchemes[key] = good ? made : nullptr;
  return good ? made : nullptr;
}

void Sema::readClauses(SchemeState &state, SourceRange call) {
  const Clause *first[32] = {};
  Env env = makeClauseEnv(state, Where::File);
  for (const Clause *clause : state.item.clauses) {
    switch (clause->kind) {
    case ClauseKind::Let:
    case ClauseKind::Require:
    case ClauseKind::Clock:
    case ClauseKind::Param:
    case ClauseKind::Input:
      continue;
    default:
      break;
    }
    const Clause *&earlier = first[size_t(clause->kind)];
    if (earlier)
      report(env, clause->word, "clause-twice",
             fmt::format("the clause '{}' stands twice{}",
                         getClauseWord(clause->kind).str(),
                         clause->kind == ClauseKind::Mask
                             ? "; join the conditions with 'and'"
                         : clause->kind == ClauseKind::Bias ? "; add the terms"
                                                            : ""))
          .note(earlier->word, "the first is here");
    else
      earlier = clause;
  }
  declareLets(state);
  readHead(state);
  findValueWidth(state);
  declareNames(state);
  for (const Clause *clause : state.item.clauses)
    if (auto *require = llvm::dyn_cast<RequireClause>(clause)) {
      Env inner = makeClauseEnv(state, Where::Require);
      for (auto &entry : state.names)
        if (!entry.second.let)
          inner.locals[entry.first()] = {entry.second.value,
                                         entry.second.argument};
      // A scheme whose contract is broken says no more.
      if (!checkRequire(require, inner, state.item.name.text, call))
        return;
    }
  readMask(state);
  readRunningSums(state);
  readAction(state);
  readValue(state);
  readReadout(state);
  readNorm(state);
  readValueAction(state);
  readTerms(state);
  readVectors(state);
  checkTermsFit(state);
}

void Sema::readMask(SchemeState &state) {
  const TermClause *clause = findTerm(state, ClauseKind::Mask);
  Env env = makeClauseEnv(state, Where::Mask);
  if (!clause) {
    bool onlyEmbeds =
        findTerm(state, ClauseKind::Embed) &&
        llvm::none_of(state.item.clauses, [](const Clause *c) {
          return c->kind == ClauseKind::Action || c->kind == ClauseKind::Bias ||
                 c->kind == ClauseKind::Scale || c->kind == ClauseKind::Logit ||
                 c->kind == ClauseKind::Readout ||
                 c->kind == ClauseKind::Sink ||
                 c->kind == ClauseKind::Softcap ||
                 c->kind == ClauseKind::ValueAction ||
                 c->kind == ClauseKind::ValueBias ||
                 c->kind == ClauseKind::Norm;
        });
    if (!onlyEmbeds)
      fail(env, state.item.name.range, "mask",
           fmt::format("the scheme '{}' has no mask; write 'mask causal', or "
                       "'mask all' if every key may be seen",
                       state.item.name.text.str()));
    state.causal = !onlyEmbeds;
    return;
  }
  state.scheme.maskRange = clause->value->range;
  Meaning mask = evalBoolean(clause->value, env);
  if (mask.isPoison()) {
    // What would follow from another mask is not to blame.
    state.causal = true;
    return;
  }
  state.scheme.mask = mask.scalar.node;
  state.causal = state.scheme.causal = impliesCausal(mask.scalar.node);
}

void Sema::readAction(SchemeState &state) {
  const TermClause *clause = findTerm(state, ClauseKind::Action);
  if (!clause)
    return;
  Scheme &scheme = state.scheme;
  Env env = makeClauseEnv(state, Where::Action);
  scheme.actionRange = clause->value->range;
  Meaning value = eval(clause->value, env);
  if (value.isPoison())
    return;
  if (value.kind != Meaning::Action) {
    fail(env, clause->value->range, "type",
         fmt::format("'action' needs an action, but '{}' is {}",
                     quote(clause->value), describe(value)));
    return;
  }
  int64_t width = value.action->width;
  if (width > mostLanes) {
    fail(env, clause->value->range, "width",
         fmt::format("a head is at most 1024 lanes wide, but this action has "
                     "{}",
                     width));
    return;
  }
  if (state.headIsWrong || scheme.headIsOpen)
    return;
  if (width != scheme.head) {
    Diagnostic &message = report(
        env, clause->value->range, "width",
        fmt::format("the action is {} lanes wide, but the head is {}{}", width,
                    scheme.head,
                    width < scheme.head
                        ? fmt::format("; name the lanes that stay: + zero({})",
                                      scheme.head - width)
                        : ""));
    if (const TermClause *head = findTerm(state, ClauseKind::Head))
      message.note(head->range, "the head width is set here");
    return;
  }
  checkAction(state, value.action, clause);
  scheme.action = value.action;
}

void Sema::readValueAction(SchemeState &state) {
  const TermClause *clause = findTerm(state, ClauseKind::ValueAction);
  if (!clause)
    return;
  Scheme &scheme = state.scheme;
  scheme.valueActionRange = clause->value->range;
  Env env = makeClauseEnv(state, Where::ValueAction);
  Meaning value = eval(clause->value, env);
  if (value.isPoison())
    return;
  if (scheme.valueIsOpen) {
    fail(env, clause->word, "const", openWidth);
    return;
  }
  if (value.kind != Meaning::Action || value.action->width != scheme.value) {
    fail(env, clause->value->range, "width",
         fmt::format("'value_action' must be an action of the value's width "
                     "{}, but it is {}",
                     scheme.value, describe(value)));
    return;
  }
  const ActionNode *bad = nullptr;
  walkAction(value.action, [&](const ActionNode *x) {
    bool oblique = x->op == ActionOp::Basis && !x->columns->orthogonal;
    if (!bad &&
        (x->op == ActionOp::Decay || x->op == ActionOp::Jordan ||
         x->op == ActionOp::Gain || x->op == ActionOp::Choose || oblique))
      bad = x;
  });
  if (bad) {
    bool here = bad->range.file == state.item.range.file;
    fail(env, here ? bad->range : clause->value->range, "value-action",
         fmt::format("'value_action' must preserve length on every pair, so "
                     "'{}' is not allowed there",
                     getSpelling(bad->op).str()));
    return;
  }
  checkAction(state, value.action, clause);
  scheme.valueAction = value.action;
}

void Sema::readVectors(SchemeState &state) {
  Scheme &scheme = state.scheme;
  if (const TermClause *clause = findTerm(state, ClauseKind::ValueBias)) {
    Env env = makeClauseEnv(state, Where::ValueBias);
    scheme.valueBiasRange = clause->value->range;
    Meaning value = eval(clause->value, env);
    bool fits =
        value.kind == Meaning::Vector && value.vector->length == scheme.value;
    if (scheme.valueIsOpen)
      fail(env, clause->word, "const", openWidth);
    else if (fits)
      scheme.valueBias = value.vector;
    else if (!value.isPoison())
      fail(env, clause->value->range, "width",
           fmt::format("'value_bias' must be a vector of the value's width {}, "
                       "but '{}' is {}",
                       scheme.value, quote(clause->value),
                       describeNoVector(value)));
  }
  if (const TermClause *clause = findTerm(state, ClauseKind::Embed)) {
    Env env = makeClauseEnv(state, Where::Embed);
    scheme.embedRange = clause->value->range;
    Meaning value = eval(clause->value, env);
    if (value.kind == Meaning::Vector)
      scheme.embed = value.vector;
    else if (!value.isPoison())
      fail(env, clause->value->range, "type",
           fmt::format("'embed' must be a vector, one element per channel, but "
                       "'{}' is {}",
                       quote(clause->value), describeNoVector(value)));
  }
}
