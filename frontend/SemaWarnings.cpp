// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: what is legal but rarely meant.
#include "frontend/Canonical.h"
#include "frontend/Probe.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;

void Sema::warnAbout(SchemeState &state) {
  warnUnused(state);
  warnGrowing(state);
  warnFuture(state);
  warnEmpty(state);
  warnMaskBias(state);
  warnInfinite(state);
}

void Sema::warnUnused(SchemeState &state) {
  for (const Clause *clause : state.item.clauses) {
    auto check = [&](const Name &name) {
      auto found = state.names.find(name.text);
      if (name.text == "pos" || found == state.names.end() ||
          found->second.used)
        return;
      warn(name.range, "unused",
           fmt::format("'{}' is never used", name.text.str()));
      // It is still checked.
      if (const LetClause *let = found->second.let) {
        Env env = makeClauseEnv(state, Where::Let);
        forceLet(let, let->name.range, env);
      }
    };
    if (auto *let = llvm::dyn_cast<LetClause>(clause))
      check(let->name);
    else if (auto *tensor = llvm::dyn_cast<TensorClause>(clause))
      llvm::for_each(tensor->names, check);
    else if (auto *clock = llvm::dyn_cast<ClockClause>(clause))
      for (const ClockBinder &binder : clock->binders)
        check(binder.name);
  }
}

void Sema::warnAbsolute(const BinaryExpr *e, Scalar a, Scalar b,
                        const Node *made, const Env &env) {
  if (e->op != BinaryOp::Mul || env.where != Where::Bias || !env.scheme ||
      made->type != NumberType::Real)
    return;
  const ClockInfo *pos = env.scheme->pos;
  for (const Scalar &side : {a, b})
    if (side.node->op == NodeOp::Time && side.node->clock == pos)
      return warn(e->range, "absolute",
                  "an absolute position is multiplied before the difference is "
                  "taken; write it with 'age' to keep f32 exact");
}

/// Does this read only what every call has: tokens, their number, heads?
static bool readsOnlyThePair(const Node *node) {
  constexpr Varies others = varies::loaded | varies::content | varies::moving |
                            varies::path | varies::score;
  if (node->varies & others)
    return false;
  return !anyNode(node, [](const Node *each) {
    return each->tensor || each->isVector() ||
           (each->clock && each->clock->name != "pos");
  });
}

void Sema::warnGrowing(SchemeState &state) {
  const Scheme &scheme = state.scheme;
  if (!scheme.bias || !readsOnlyThePair(scheme.bias))
    return;
  // Head 0 of 8 looks back from token 4000, from 10 tokens on ever farther.
  // What swings grows somewhere, too, but not all the way.
  double last = probe(scheme.bias, {.query = 4000, .key = 3990}), first = last;
  for (int64_t back = 11; back < 4000; back += 1 + back / 8) {
    double next = probe(scheme.bias, {.query = 4000, .key = 4000 - back});
    if (!(next >= last - 1e-9))
      return;
    last = next;
  }
  if (last > first + 1e-9)
    warn(scheme.biasRange, "growing",
         "this bias favours distant keys: it grows with the distance");
}

void Sema::warnFuture(SchemeState &state) {
  const Scheme &scheme = state.scheme;
  if (!scheme.mask || scheme.causal || !readsOnlyThePair(scheme.mask))
    return;
  auto sees = [&](int64_t query, int64_t key) {
    return probe(scheme.mask, {.query = query, .key = key}) != 0;
  };
  // Seen from a token in the middle of a long sequence.
  constexpr int64_t middle = 1 << 24;
  bool allAfter = sees(middle, middle + 1) && sees(middle, 2 * middle - 1);
  bool before = sees(middle, middle - 1), farBefore = sees(middle, 1);
  bool self = sees(middle, middle);
  if (allAfter && !farBefore)
    warn(scheme.maskRange, "future",
         before || self
             ? "this mask bounds the keys before the query but sees all keys "
               "after it; write 'causal and …' if they are not meant"
             : "this mask sees only keys after the query; keys before it are "
               "'j <= i'");
}

/// Numbers at which a mask may begin or end: those that stand in it, and their
/// neighbours.
static llvm::SetVector<int64_t> bordersOf(const Node *mask) {
  llvm::SetVector<int64_t> borders;
  anyNode(mask, [&](const Node *node) {
    constexpr double far = 1 << 24;
    if (node->op != NodeOp::IntConstant && node->op != NodeOp::RealConstant)
      return false;
    if (double value = std::abs(node->asReal()); value <= far)
      for (int64_t near : {-1, 0, 1})
        borders.insert(std::max<int64_t>(int64_t(value) + near, 0));
    return borders.size() > 64;
  });
  return borders;
}

void Sema::warnEmpty(SchemeState &state) {
  const Scheme &scheme = state.scheme;
  if (!scheme.mask || !readsOnlyThePair(scheme.mask))
    return;
  ProbePoint point;
  int64_t heads = scheme.mask->varies & varies::head ? point.heads : 1;
  auto sees = [&](int64_t query, int64_t key) {
    point.query = query, point.key = key;
    for (point.head = 0; point.head < heads; ++point.head)
      if (key >= 0 && probe(scheme.mask, point) != 0)
        return true;
    return false;
  };
  llvm::SetVector<int64_t> queries = bordersOf(scheme.mask), others = queries;
  for (int64_t near = 0; near < 64; ++near) {
    queries.insert(near);
    queries.insert(4000 + near);
  }
  queries.insert(1 << 24);
  // All distances that are small, ever fewer of those that are not, powers
  // of 2.
  for (int64_t back = 0; back < 1 << 24; back += 1 + back / 256)
    others.insert(back);
  for (int64_t power = 1024; power <= 1 << 24; power *= 2)
    for (int64_t near : {-1, 0, 1})
      others.insert(power + near);
  for (int64_t query : queries)
    for (int64_t other : others)
      if (sees(query, query - other) || sees(query, query + other) ||
          sees(query, other))
        return;
  warn(scheme.maskRange, "empty",
       fmt::format("this mask shows no key to any query that was tried (0, 1, "
                   "4000 and {} more): o is 0 and the LSE is -inf there",
                   queries.size() - 3));
}

/// The constant of `if c then x else 0`, or of either order, that hides pairs.
static const Node *findHidingConstant(const Node *node,
                                      llvm::DenseSet<const Node *> &seen) {
  if (!seen.insert(node).second)
    return nullptr;
  if (node->op == NodeOp::Add || node->op == NodeOp::Sub) {
    for (const Node *operand : node->operands)
      if (const Node *found = findHidingConstant(operand, seen))
        return found;
    return nullptr;
  }
  if (node->op == NodeOp::Mul)
    for (int side : {0, 1}) {
      // if c then 1 else 0, times a large number
      const Node *factor = node->operands[side];
      const Node *choice = node->operands[1 - side];
      if (factor->isConstant() && factor->asReal() <= -1e4 &&
          choice->op == NodeOp::Select && choice->operands[1]->isConstant() &&
          choice->operands[2]->isConstant())
        return factor;
    }
  if (node->op != NodeOp::Select)
    return nullptr;
  for (size_t arm : {1, 2}) {
    const Node *value = node->operands[arm];
    if (value->isConstant() && value->asReal() <= -1e4)
      return value;
    if (const Node *found = findHidingConstant(value, seen))
      return found;
  }
  return nullptr;
}

void Sema::warnMaskBias(SchemeState &state) {
  const Scheme &scheme = state.scheme;
  llvm::DenseSet<const Node *> seen;
  const Node *found =
      scheme.bias ? findHidingConstant(scheme.bias, seen) : nullptr;
  if (!found)
    return;
  bool here = found->range.file == state.item.range.file &&
              found->range.begin >= scheme.biasRange.begin &&
              found->range.end <= scheme.biasRange.end;
  warn(here ? found->range : scheme.biasRange, "mask-bias",
       fmt::format("a bias of {} does not hide a pair; write the condition in "
                   "'mask'",
                   printConstant(found)));
}

/// Where a divisor is 0, in words, by what it depends on.
static std::string describePlace(const Node *divisor, const ProbePoint &point) {
  bool query = divisor->varies & varies::query;
  bool key = divisor->varies & varies::key;
  if (query && key)
    return point.query == point.key
               ? "at a query's own key"
               : fmt::format("at query {} and key {}", point.query, point.key);
  if (query || key)
    return fmt::format("at {} {}", query ? "query" : "key",
                       query ? point.query : point.key);
  return fmt::format("in head {}", point.head);
}

/// What follows from a value that is not finite in a clause, and the fix.
static std::string describeEffect(llvm::StringRef clause, double value,
                                  const std::string &divisor, bool positive) {
  bool perPair = clause == "bias" || clause == "logit";
  std::string fix = positive ? fmt::format("max({}, 1)", divisor)
                             : std::string("what is never 0");
  if (perPair && value < 0)
    return fmt::format("hides the pair; write that in 'mask', or divide by {}",
                       fix);
  return fmt::format("makes the row NaN; divide by {}, or give the case a "
                     "value of its own with 'if'",
                     fix);
}

void Sema::warnInfinite(SchemeState &state) {
  const Scheme &scheme = state.scheme;
  struct Term {
    llvm::StringRef clause;
    const Node *node;
    SourceRange range;
  };
  llvm::SmallVector<Term> terms = {
      {"scale", scheme.scale, scheme.scaleRange},
      {"softcap", scheme.softcap, scheme.softcapRange},
      {"bias", scheme.bias, scheme.biasRange},
      {"logit", scheme.logit, scheme.logitRange},
      {"sink", scheme.sink, scheme.sinkRange}};
  if (scheme.valueBias)
    for (const Scalar &element : scheme.valueBias->elements)
      terms.push_back({"value_bias", element.node, scheme.valueBiasRange});
  // A query's own key first: there every age is 0.
  constexpr std::pair<int64_t, int64_t> pairs[] = {
      {4000, 4000}, {4000, 3999}, {4000, 4001}, {4000, 0}, {0, 0}, {1, 0}};
  for (const Term &term : terms)
    for (auto [query, key] : pairs) {
      ProbePoint point{.query = query, .key = key, .unknown = 0.5};
      if (!term.node || (scheme.mask && probe(scheme.mask, point) == 0))
        continue;
      const Node *pole = findPole(term.node, point);
      if (!pole)
        continue;
      const Node *divisor = pole->operands[pole->op == NodeOp::Div ? 1 : 0];
      std::string text = printNode(out, scheme, divisor);
      if (text.size() > 48)
        text = text.substr(0, 47) + "…";
      bool isFar = probe(divisor, {.query = 4000, .key = 10, .head = 1}) > 0;
      bool here = pole->range.file == term.range.file &&
                  pole->range.begin >= term.range.begin &&
                  pole->range.end <= term.range.end;
      double value = probe(term.node, point);
      return warn(here ? pole->range : term.range, "infinite",
                  fmt::format("'{}' is 0 {}, where this {} is {} and {}", text,
                              describePlace(divisor, point), term.clause.str(),
                              value,
                              describeEffect(term.clause, value, text, isFar)));
    }
}
