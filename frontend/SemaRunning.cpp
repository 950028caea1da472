// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: clocks that are running sums, and what actions need of clocks
// and masks.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include "fmt/format.h"

using namespace torsor;

void Sema::readRunningSums(SchemeState &state) {
  for (const Clause *clause : state.item.clauses) {
    auto *declared = llvm::dyn_cast<ClockClause>(clause);
    if (!declared || !declared->value)
      continue;
    llvm::StringRef name = declared->binders.front().name.text;
    for (ClockInfo &clock : state.scheme.clocks)
      if (clock.running && clock.name == name && clock.terms.empty())
        readRunningSum(state, clock, declared);
  }
}

void Sema::readRunningSum(SchemeState &state, ClockInfo &clock,
                          const ClockClause *clause) {
  Env env = makeClauseEnv(state, Where::Clock);
  // What follows from a clock that is wrong stays silent.
  auto spoil = [&] {
    if (auto found = state.names.find(clock.name); found != state.names.end())
      found->second.value = Meaning();
  };
  auto *sum = llvm::dyn_cast<SumExpr>(clause->value);
  auto *key = sum ? llvm::dyn_cast_or_null<NameExpr>(sum->hi) : nullptr;
  if (!sum || sum->bound == SumKind::In || !key || key->text != "j") {
    fail(env, clause->value->range, "clock",
         "a clock is a running sum: 'sum l <= j: …' (this token counted) or "
         "'sum l < j: …' (not counted)");
    return spoil();
  }
  if (!bindIndex(sum->name, sum->range, env))
    return spoil();
  clock.inclusive = sum->bound == SumKind::LessEqual;
  clock.token = graph.makeToken(sum->name.text);
  Node index{.op = NodeOp::Index, .type = NumberType::Int};
  index.token = clock.token;
  index.varies = varies::key;
  index.range = sum->name.range;
  env.locals[sum->name.text] = {
      {graph.intern(std::move(index)), {0, Interval::inf}}, {}};
  const Name &member = clause->binders.front().index;
  if (member && !bindIndex(member, sum->range, env))
    return spoil();
  bool poisoned = false;
  for (int64_t n = 0; n < std::max<int64_t>(clock.members, 1) && !poisoned;
       ++n) {
    if (member)
      env.locals[member.text] = {
          {graph.integer(n, member.range), Interval::exactly(Integer(n))}, {}};
    Meaning term = evalNumber(sum->body, env);
    if (!term.isPoison() && (term.getVaries() & varies::query))
      term = fail(env, sum->body->range, "clock",
                  "a clock runs over the keys' own stream and cannot depend on "
                  "the query");
    if (!term.isPoison() && readsOtherToken(term.scalar.node, clock.token))
      term = fail(env, sum->body->range, "clock",
                  fmt::format("a running sum reads each token at '{}', not at "
                              "'j'",
                              sum->name.text.str()));
    poisoned = term.isPoison();
    if (!poisoned) {
      clock.terms.push_back(term.scalar);
      clock.varies |= term.getVaries() & ~(varies::key | varies::path);
    }
  }
  if (poisoned) {
    clock.terms.clear();
    return spoil();
  }
  clock.monotone = llvm::all_of(
      clock.terms, [](const Scalar &term) { return term.range.lo >= 0; });
  if (member) {
    // Once more with the index left open, for printing.
    Node open{.op = NodeOp::Index, .type = NumberType::Int};
    open.token = graph.makeToken(member.text);
    env.locals[member.text] = {
        {graph.intern(std::move(open)), {0, double(clock.members - 1)}}, {}};
    ++allUnchecked;
    Meaning term = evalNumber(sum->body, env);
    --allUnchecked;
    clock.openTerm = term.isPoison() ? nullptr : term.scalar.node;
  }
}

bool Sema::readsOtherToken(const Node *node, TokenId own) const {
  return anyNode(node, [&](const Node *each) {
    return each->token != TokenId::None && each->token != own &&
           each->op != NodeOp::PathSum;
  });
}

void Sema::checkAction(SchemeState &state, const ActionNode *action,
                       const TermClause *clause) {
  Env env = makeClauseEnv(state, Where::Action);
  // Errors stand in this scheme's own text.
  auto placeOf = [&](SourceRange range) {
    return range.file == state.item.range.file ? range : clause->value->range;
  };
  auto walk = [&](auto &&self, const ActionNode *x, bool laidOut,
                  const ActionNode *place) -> bool {
    SourceRange at = placeOf(x->range);
    if (x->op == ActionOp::Turn && !laidOut) {
      fail(env, at, "layout",
           "which lanes form a pair? write split(…) (lane p with p + width/2) "
           "or adjacent(…) (lanes 2p and 2p + 1) around the rotation");
      return false;
    }
    if (x->op == ActionOp::At)
      place = x;
    if ((x->op == ActionOp::Decay || x->op == ActionOp::Jordan) &&
        !checkGrowth(state, x, place, at, env))
      return false;
    laidOut |= x->op == ActionOp::Split || x->op == ActionOp::Adjacent;
    // One message for an action: what is wrong with one part is often wrong
    // with the next.
    for (const ActionNode *kid : x->kids)
      if (!self(self, kid, laidOut, place))
        return false;
    return true;
  };
  walk(walk, action, false, nullptr);
}

bool Sema::checkGrowth(SchemeState &state, const ActionNode *block,
                       const ActionNode *place, SourceRange at, Env &env) {
  auto wrong = [&](std::string text) {
    fail(env, at, "growth", std::move(text));
    return false;
  };
  std::string name = getSpelling(block->op).str();
  bool grows = block->op == ActionOp::Jordan ||
               !(block->rate.isConstant() && block->rate.node->asReal() == 0);
  if (grows && !state.causal)
    return wrong(fmt::format("'{}' grows without bound when a query sees later "
                             "keys, and this mask does not exclude them; write "
                             "'mask causal and …'",
                             name));
  const ClockInfo *clock = place ? place->clock.clock : state.pos;
  if (grows && !clock)
    return wrong(fmt::format("'{}' needs a clock that never runs backwards, "
                             "and explicit times give no such promise",
                             name));
  if (grows && !clock->monotone) {
    std::string shown = clock->name;
    if (place->clock.member >= 0)
      shown += fmt::format("[{}]", place->clock.member);
    return wrong(fmt::format(
        "a decay needs a clock that never runs backwards, but '{}' may; {}",
        shown,
        clock->running ? "add up something that is at least 0"
                       : "declare it 'rising'"));
  }
  if (block->op != ActionOp::Jordan || block->order == 1)
    return true;
  bool fades = false;
  walkAction(block->kids.front(),
             [&](const ActionNode *x) { fades |= x->op == ActionOp::Decay; });
  return fades || wrong("a Jordan block without decay grows polynomially; "
                        "multiply its block by a decay");
}
