// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is asked of index expressions, and their extremes over a tile.
#include "passes/BoundMasksExpr.h"

#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace torsor {
namespace {

/// Can a value rise, and can it fall, as a term grows?
struct Trend {
  bool rises = false, falls = false;

  Trend operator|(Trend other) const {
    return {rises || other.rises, falls || other.falls};
  }
  Trend times(int64_t factor) const {
    return factor > 0 ? *this : Trend{falls, rises};
  }
};

Trend trendOf(const ExprContext &context, const LinearExpr &a,
              unsigned number) {
  Trend trend;
  for (auto [other, coefficient] : a.terms) {
    const ExprTerm &term = context.term(other);
    Trend inner = other == number ? Trend{true, false}
                                  : trendOf(context, term.a, number) |
                                        trendOf(context, term.b, number);
    trend = trend | inner.times(coefficient);
  }
  return trend;
}

} // namespace

bool ExprContext::contains(const LinearExpr &a,
                           ArrayRef<TermKind> kinds) const {
  return llvm::any_of(a.terms, [&](auto pair) {
    const ExprTerm &inner = term(pair.first);
    return llvm::is_contained(kinds, inner.kind) || contains(inner.a, kinds) ||
           contains(inner.b, kinds);
  });
}

std::optional<unsigned> ExprContext::findChoice(const LinearExpr &a,
                                                bool opaque) const {
  for (auto [number, coefficient] : a.terms) {
    const ExprTerm &inner = term(number);
    if (opaque ? inner.kind == TermKind::Opaque
               : inner.kind == TermKind::Max || inner.kind == TermKind::Select)
      return number;
    for (const LinearExpr *part : {&inner.a, &inner.b})
      if (auto found = findChoice(*part, opaque))
        return found;
  }
  return std::nullopt;
}

int ExprContext::direction(const LinearExpr &a, unsigned number) const {
  Trend trend = trendOf(*this, a, number);
  return trend.rises == trend.falls ? 0 : trend.rises ? 1 : -1;
}

ExprContext::Result ExprContext::substitute(const LinearExpr &a,
                                            unsigned number,
                                            const LinearExpr &by) {
  Result total = constant(a.constant);
  for (auto [other, coefficient] : a.terms) {
    ExprTerm inner = term(other);
    Result value = LinearExpr{{{other, 1}}, 0};
    if (other == number) {
      value = by;
    } else if (inner.kind == TermKind::Floor) {
      value = substitute(inner.a, number, by);
      if (value)
        value = floorDiv(*value, inner.divisor);
    } else if (inner.kind == TermKind::Max || inner.kind == TermKind::Select) {
      Result first = substitute(inner.a, number, by);
      Result second = substitute(inner.b, number, by);
      if (!first || !second)
        return std::nullopt;
      value = inner.kind == TermKind::Max
                  ? max(*first, *second)
                  : select(inner.value, *first, *second);
    }
    Result part = value ? scale(*value, coefficient) : std::nullopt;
    total = part ? add(*total, *part) : std::nullopt;
    if (!total)
      return std::nullopt;
  }
  return total;
}

ExprContext::Result ExprContext::extreme(const LinearExpr &a, bool greatest) {
  Result total = constant(a.constant);
  for (auto [number, coefficient] : a.terms) {
    ExprTerm inner = term(number);
    bool up = greatest == (coefficient > 0);
    Result value = LinearExpr{{{number, 1}}, 0};
    if (inner.kind == TermKind::Query)
      value = leaf(up ? TermKind::Last : TermKind::First);
    else if (inner.kind == TermKind::Floor) {
      value = extreme(inner.a, up);
      if (value)
        value = floorDiv(*value, inner.divisor);
    }
    Result part = value ? scale(*value, coefficient) : std::nullopt;
    total = part ? add(*total, *part) : std::nullopt;
    if (!total)
      return std::nullopt;
  }
  return total;
}

AffineExpr ExprContext::toAffine(const LinearExpr &a, MLIRContext *context) {
  Wide most = a.constant < 0 ? -Wide(a.constant) : Wide(a.constant);
  AffineExpr total;
  for (auto [number, coefficient] : a.terms) {
    const ExprTerm &inner = term(number);
    auto [low, high] = ranges[number];
    most += std::max(low < 0 ? -low : low, high < 0 ? -high : high) *
            (coefficient < 0 ? -Wide(coefficient) : Wide(coefficient));
    AffineExpr value;
    switch (inner.kind) {
    case TermKind::Length:
      value = getAffineSymbolExpr(0, context);
      break;
    case TermKind::First:
      value = getAffineDimExpr(0, context);
      break;
    case TermKind::Last:
      value = getAffineDimExpr(1, context);
      break;
    case TermKind::Floor:
      value = toAffine(inner.a, context);
      if (value)
        value = value.floorDiv(inner.divisor);
      break;
    default:
      break;
    }
    if (!value)
      return {};
    value = value * coefficient;
    total = total ? total + value : value;
  }
  if (most > Wide(std::numeric_limits<int64_t>::max()))
    return {};
  if (!total)
    return getAffineConstantExpr(a.constant, context);
  return a.constant ? total + a.constant : total;
}

} // namespace torsor
