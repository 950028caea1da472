// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: the widths of heads and values.
#include "frontend/Check.h"
#include "frontend/Clauses.h"
#include "frontend/Sema.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

using namespace torsor;

bool Sema::checkWidth(int64_t width, const Expr *expr, Env &env,
                      const char *what) {
  if (width >= 1 && width <= mostLanes)
    return true;
  fail(env, expr->range, "width",
       width < 1 ? fmt::format("{} must be at least 1, but it is {}", what,
                               printSize(width))
                 : fmt::format("{} must be at most {}, but it is {}", what,
                               mostLanes, printSize(width)));
  return false;
}

void Sema::readHead(SchemeState &state) {
  Scheme &scheme = state.scheme;
  const TermClause *clause = findTerm(state, ClauseKind::Head);
  scheme.headIsOpen = !clause && options.head <= 0;
  scheme.head = options.head > 0 && !clause ? options.head : 0;
  if (clause) {
    Env env = makeClauseEnv(state, Where::Head);
    auto width = evalSize(clause->value, env, "the head width");
    bool isRight =
        width && checkWidth(*width, clause->value, env, "the head width");
    // After an error any width will do.
    scheme.head = isRight ? *width : 1;
    state.headIsWrong = !isRight;
  }
  scheme.value = scheme.head;
  scheme.valueIsOpen = scheme.headIsOpen;
}

void Sema::findOpenWidth(SchemeState &state) {
  const TermClause *clause = findTerm(state, ClauseKind::Action);
  Scheme &scheme = state.scheme;
  if (findTerm(state, ClauseKind::Head) || !clause)
    return;
  // Tried once without messages: the action's width is the head's.
  Env env = makeClauseEnv(state, Where::Action);
  ++allUnchecked;
  bool causal = std::exchange(state.causal, true);
  Meaning action = eval(clause->value, env);
  state.causal = causal;
  --allUnchecked;
  state.letValues.clear();
  callResults.clear();
  if (action.kind != Meaning::Action)
    return;
  scheme.headIsOpen = scheme.valueIsOpen = false;
  scheme.head = scheme.value = action.action->width;
  findValueWidth(state);
}

/// The value width as far as it is known before the names, whose axes may read
/// it. readValue says what is wrong with it.
void Sema::findValueWidth(SchemeState &state) {
  Scheme &scheme = state.scheme;
  auto *clause = findClause<ValueClause>(state, ClauseKind::Value);
  std::optional<int64_t> width;
  if (clause) {
    Env env = makeClauseEnv(state, Where::Value);
    ++allUnchecked;
    if (clause->width) {
      width = evalSize(clause->width, env, "the value width");
    } else {
      auto low = evalSize(clause->lanes.lo, env, "a lane");
      auto high = evalSize(clause->lanes.hi, env, "a lane");
      if (low && high && *high <= mostLanes && *low >= 0)
        width = *high - *low + 1;
    }
    --allUnchecked;
    state.letValues.clear();
    callResults.clear();
  } else if (options.value > 0 && !findTerm(state, ClauseKind::Head) &&
             !findTerm(state, ClauseKind::Action)) {
    width = options.value;
  }
  if (!width || *width < 1 || *width > mostLanes)
    return;
  scheme.value = *width;
  scheme.valueIsOpen = false;
}

void Sema::readValue(SchemeState &state) {
  Scheme &scheme = state.scheme;
  auto *clause = findClause<ValueClause>(state, ClauseKind::Value);
  scheme.value = scheme.head;
  scheme.valueIsOpen = scheme.headIsOpen;
  if (!clause) {
    bool open = !findTerm(state, ClauseKind::Head) && !scheme.action;
    if (open && options.value > 0) {
      scheme.value = options.value;
      scheme.valueIsOpen = false;
    }
    return;
  }
  Env env = makeClauseEnv(state, Where::Value);
  if (clause->width) {
    auto width = evalSize(clause->width, env, "the value width");
    if (width && checkWidth(*width, clause->width, env, "the value width"))
      scheme.value = *width;
    scheme.valueIsOpen &= !width;
    return;
  }
  if (scheme.headIsOpen) {
    fail(env, clause->word, "const", openWidth);
    return;
  }
  auto lo = evalSize(clause->lanes.lo, env, "a lane");
  auto hi = evalSize(clause->lanes.hi, env, "a lane");
  if (!lo || !hi)
    return;
  if (*lo < 0 || *lo > *hi || *hi >= scheme.head) {
    SourceRange lanes = clause->lanes.lo->range.to(clause->lanes.hi->range);
    if (*lo > *hi)
      fail(env, lanes, "width",
           fmt::format("lanes run upwards: {1} .. {0}, not {0} .. {1}",
                       printSize(*lo), printSize(*hi)));
    else
      fail(env, lanes, "width",
           fmt::format(
               "the lanes {} .. {} are not lanes of the key, which has 0 "
               ".. {}",
               printSize(*lo), printSize(*hi), scheme.head - 1));
    return;
  }
  scheme.value = *hi - *lo + 1;
  scheme.valueLanes = {*lo, *hi};
}
