// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves a comparison with 0 for the key index.
#include "passes/BoundMasksSet.h"

using namespace mlir;

namespace torsor {

KeyBounds KeySolver::atMostZero(const LinearExpr &value,
                                Conditions conditions) {
  auto [low, high] = context.range(value);
  if (high <= 0)
    return all();
  if (low > 0)
    return none();
  if (budget == 0)
    return unknown();
  --budget;
  if (auto number = context.findChoice(value, /*opaque=*/false))
    return choice(value, *number, conditions);
  if (auto number = context.findChoice(value, /*opaque=*/true))
    return overRange(value, *number, conditions);
  return solve(value);
}

KeyBounds KeySolver::choice(const LinearExpr &value, unsigned number,
                            Conditions conditions) {
  ExprTerm term = context.term(number);
  ExprContext::Result first = context.substitute(value, number, term.a);
  ExprContext::Result second = context.substitute(value, number, term.b);
  if (!first || !second)
    return unknown();
  KeyBounds withFirst = atMostZero(*first, conditions);
  KeyBounds withSecond = atMostZero(*second, conditions);
  if (term.kind == TermKind::Select)
    return choose(conditions(term.value), withFirst, withSecond);
  // f(max(a, b)) = max(f(a), f(b)) for f that never falls, min for f that never
  // rises.
  int direction = context.direction(value, number);
  if (direction != 0)
    return direction > 0 ? both(withFirst, withSecond)
                         : either(withFirst, withSecond);
  ExprContext::Result difference = context.sub(term.b, term.a);
  ExprContext::Result reverse =
      difference ? context.scale(*difference, -1) : std::nullopt;
  ExprContext::Result strict =
      reverse ? context.add(*reverse, ExprContext::constant(1)) : std::nullopt;
  if (!strict)
    return unknown();
  KeyTruth isFirst{atMostZero(*difference, conditions),
                   atMostZero(*strict, conditions)};
  return choose(isFirst, withFirst, withSecond);
}

/// A term of which only the range is known: the superset takes its most
/// generous value, the subset its least.
KeyBounds KeySolver::overRange(const LinearExpr &value, unsigned number,
                               Conditions conditions) {
  int direction = context.direction(value, number);
  if (direction == 0)
    return unknown();
  auto [low, high] = context.range(LinearExpr{{{number, 1}}, 0});
  if (direction < 0)
    std::swap(low, high);
  KeyBounds result = unknown();
  auto at = [&](ExprContext::Wide end) {
    return context.substitute(value, number,
                              ExprContext::constant(int64_t(end)));
  };
  if (auto generous = at(low))
    result.may = atMostZero(*generous, conditions).may;
  if (auto strict = at(high))
    result.must = atMostZero(*strict, conditions).must;
  return result;
}

/// The key stands in one term k t, the rest e has none:
///   k j + e <= 0           j <= floor(-e / k), or j >= ceil(e / -k) for k < 0
///   k floor(x / c) + e <= 0   x <= c floor(-e / k) + c - 1, or
///                             x >= c ceil(e / -k) for k < 0
KeyBounds KeySolver::solve(const LinearExpr &value) {
  auto exactly = [](KeyCell cell) { return KeyBounds{{cell}, {cell}, true}; };
  LinearExpr key, rest;
  rest.constant = value.constant;
  for (auto pair : value.terms) {
    LinearExpr single{{pair}, 0};
    (context.contains(single, TermKind::Key) ? key : rest)
        .terms.push_back(pair);
  }
  if (key.terms.empty()) {
    KeyCell cell;
    cell.guards.push_back(value);
    return exactly(cell);
  }
  if (key.terms.size() != 1)
    return relax(value, key);
  auto [number, coefficient] = key.terms[0];
  ExprTerm term = context.term(number);
  bool isUpper = coefficient > 0;
  ExprContext::Result end = isUpper ? context.scale(rest, -1) : rest;
  if (end)
    end = isUpper ? context.floorDiv(*end, coefficient)
                  : context.ceilDiv(*end, -coefficient);
  if (!end)
    return unknown();
  if (term.kind == TermKind::Key) {
    KeyCell cell;
    if (isUpper)
      end = context.add(*end, ExprContext::constant(1));
    if (!end)
      return unknown();
    (isUpper ? cell.uppers : cell.lowers).push_back(*end);
    return exactly(cell);
  }
  ExprContext::Result scaled = context.scale(*end, term.divisor);
  if (isUpper && scaled)
    scaled = context.add(*scaled, ExprContext::constant(term.divisor - 1));
  ExprContext::Result inner = !scaled   ? std::nullopt
                              : isUpper ? context.sub(term.a, *scaled)
                                        : context.sub(*scaled, term.a);
  if (!inner)
    return unknown();
  auto [low, high] = context.range(*inner);
  if (high <= 0)
    return all();
  if (low > 0)
    return none();
  return solve(*inner);
}

/// The key stands in several terms. One floor among them is let go:
///   x - c + 1 <= c floor(x / c) <= x
/// so the superset takes the end that makes the value less, the subset the
/// other.
KeyBounds KeySolver::relax(const LinearExpr &value, const LinearExpr &key) {
  if (budget == 0)
    return unknown();
  --budget;
  for (auto [number, coefficient] : key.terms) {
    ExprTerm term = context.term(number);
    if (term.kind != TermKind::Floor)
      continue;
    ExprContext::Result rest =
        context.sub(value, LinearExpr{{{number, coefficient}}, 0});
    ExprContext::Result scaled =
        rest ? context.scale(*rest, term.divisor) : std::nullopt;
    ExprContext::Result upper = context.scale(term.a, coefficient);
    ExprContext::Result lower =
        context.sub(term.a, ExprContext::constant(term.divisor - 1));
    lower = lower ? context.scale(*lower, coefficient) : std::nullopt;
    if (!scaled || !upper || !lower)
      return unknown();
    if (coefficient < 0)
      std::swap(lower, upper);
    KeyBounds bounds = unknown();
    auto solved = [&](const ExprContext::Result &end) {
      ExprContext::Result whole = context.add(*scaled, *end);
      if (!whole)
        return unknown();
      auto [low, high] = context.range(*whole);
      return high <= 0 ? all() : low > 0 ? none() : solve(*whole);
    };
    bounds.may = solved(lower).may;
    bounds.must = solved(upper).must;
    return bounds;
  }
  return unknown();
}

} // namespace torsor
