// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unions of intervals: intersection, union, simplification.
#include "passes/BoundMasksSet.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace torsor {
namespace {

/// The most cells of a set. Beyond, a superset forgets conditions and a subset
/// forgets cells.
constexpr size_t maxCells = 16;
/// The most bounds of a kind in one cell; the same holds.
constexpr size_t maxBounds = 8;

} // namespace

bool KeySolver::isNatural(const LinearExpr &a) const {
  if (context.range(a).first >= 0)
    return true;
  // p First + q Last with p < 0 < q is at least (p + q) First.
  LinearExpr joined = a;
  int64_t *first = nullptr, *last = nullptr;
  for (auto &[number, coefficient] : joined.terms)
    if (number == unsigned(TermKind::First))
      first = &coefficient;
    else if (number == unsigned(TermKind::Last))
      last = &coefficient;
  if (!first || !last || *first > 0 || *last < 0)
    return false;
  *first += *last;
  *last = 0;
  return context.range(joined).first >= 0;
}

bool KeySolver::isAtLeast(const LinearExpr &a, const LinearExpr &b) {
  ExprContext::Result difference = context.sub(a, b);
  return difference && isNatural(*difference);
}

bool KeySolver::simplifyCell(KeyCell &cell) {
  const LinearExpr length = context.leaf(TermKind::Length);
  auto isZeroOrLess = [&](const LinearExpr &a) {
    return context.range(a).second <= 0;
  };
  llvm::erase_if(cell.lowers, isZeroOrLess);
  llvm::erase_if(cell.guards, isZeroOrLess);
  llvm::erase_if(cell.uppers, [&](const LinearExpr &upper) {
    return isAtLeast(upper, length);
  });
  // Keeps of comparable bounds the tightest; of equal ones the first.
  auto prune = [&](auto &bounds, auto isTighter) {
    for (size_t n = bounds.size(); n-- > 0;)
      for (size_t m = 0; m < bounds.size(); ++m)
        if (m != n && isTighter(bounds[m], bounds[n]) &&
            (m < n || !isTighter(bounds[n], bounds[m]))) {
          bounds.erase(bounds.begin() + n);
          break;
        }
  };
  auto above = [&](const LinearExpr &a, const LinearExpr &b) {
    return isAtLeast(a, b);
  };
  auto below = [&](const LinearExpr &a, const LinearExpr &b) {
    return isAtLeast(b, a);
  };
  prune(cell.lowers, above);
  prune(cell.uppers, below);
  prune(cell.guards, above);

  bool isEmpty = llvm::any_of(cell.guards, [&](const LinearExpr &guard) {
    return context.range(guard).first > 0;
  });
  isEmpty |= llvm::any_of(cell.uppers, isZeroOrLess);
  for (const LinearExpr &lower : cell.lowers) {
    isEmpty |= isAtLeast(lower, length);
    for (const LinearExpr &upper : cell.uppers)
      isEmpty |= isAtLeast(lower, upper);
  }
  return !isEmpty;
}

/// Does every key of `a` lie in `b`?
bool KeySolver::isInside(const KeyCell &a, const KeyCell &b) {
  auto implied = [&](const auto &weak, const auto &strong, bool above) {
    return llvm::all_of(weak, [&](const LinearExpr &bound) {
      return llvm::any_of(strong, [&](const LinearExpr &other) {
        return above ? isAtLeast(other, bound) : isAtLeast(bound, other);
      });
    });
  };
  return implied(b.lowers, a.lowers, true) &&
         implied(b.uppers, a.uppers, false) &&
         implied(b.guards, a.guards, true);
}

/// Does `b` begin inside or right behind `a`, not before it, and end not before
/// it? Then the two are one interval.
bool KeySolver::continues(const KeyCell &a, const KeyCell &b) {
  if (!(a.guards == b.guards) || a.uppers.empty() || b.lowers.empty())
    return false;
  for (const LinearExpr &upper : a.uppers)
    for (const LinearExpr &lower : b.lowers)
      if (!isAtLeast(upper, lower))
        return false;
  auto implied = [&](const auto &bounds, const auto &others) {
    return llvm::all_of(bounds, [&](const LinearExpr &bound) {
      return llvm::any_of(others, [&](const LinearExpr &other) {
        return &bounds == &a.lowers ? isAtLeast(other, bound)
                                    : isAtLeast(bound, other);
      });
    });
  };
  return implied(a.lowers, b.lowers) && implied(b.uppers, a.uppers);
}

void KeySolver::simplify(KeySet &set) {
  llvm::erase_if(set, [&](KeyCell &cell) { return !simplifyCell(cell); });
  for (size_t n = 0; n < set.size(); ++n)
    for (size_t m = 0; m < set.size(); ++m) {
      if (m == n)
        continue;
      bool inside = isInside(set[m], set[n]);
      if (!inside && !continues(set[n], set[m]))
        continue;
      if (!inside)
        set[n].uppers = set[m].uppers;
      set.erase(set.begin() + m);
      n = size_t(-1); // A changed cell may meet others: look again at all.
      break;
    }
}

KeySet KeySolver::meet(const KeySet &a, const KeySet &b, bool may) {
  // A superset may forget one of the two conditions.
  if (a.size() * b.size() > maxCells && may)
    return a.size() < b.size() ? a : b;
  KeySet result;
  for (const KeyCell &left : a)
    for (const KeyCell &right : b) {
      KeyCell cell = left;
      cell.lowers.append(right.lowers);
      cell.uppers.append(right.uppers);
      cell.guards.append(right.guards);
      if (!simplifyCell(cell))
        continue;
      bool large = false;
      for (auto *bounds : {&cell.lowers, &cell.uppers, &cell.guards})
        if (bounds->size() > maxBounds) {
          large = true;
          bounds->truncate(maxBounds);
        }
      if ((!large || may) && result.size() < maxCells)
        result.push_back(std::move(cell));
    }
  simplify(result);
  return result;
}

KeySet KeySolver::join(const KeySet &a, const KeySet &b, bool may) {
  KeySet result = a;
  result.append(b.begin(), b.end());
  simplify(result);
  if (result.size() <= maxCells)
    return result;
  if (may)
    return {KeyCell()};
  result.truncate(maxCells);
  return result;
}

/// Where the subset has become the superset, both are the set.
static KeyBounds settle(KeyBounds bounds) {
  bounds.exact |= bounds.may == bounds.must;
  return bounds;
}

KeyBounds KeySolver::both(const KeyBounds &a, const KeyBounds &b) {
  bool fits = a.may.size() * b.may.size() <= maxCells;
  return settle({meet(a.may, b.may, true), meet(a.must, b.must, false),
                 a.exact && b.exact && fits});
}

KeyBounds KeySolver::either(const KeyBounds &a, const KeyBounds &b) {
  bool fits = a.may.size() + b.may.size() <= maxCells;
  return settle({join(a.may, b.may, true), join(a.must, b.must, false),
                 a.exact && b.exact && fits});
}

KeyBounds KeySolver::choose(const KeyTruth &c, const KeyBounds &a,
                            const KeyBounds &b) {
  KeyBounds result = either(both(c.holds, a), both(c.fails, b));
  if (!c.holds.exact) {
    // Whatever c is, one of the two holds: both hold only where it must.
    result.must = join(result.must, meet(a.must, b.must, false), false);
    result.may = meet(result.may, join(a.may, b.may, true), true);
  }
  return settle(std::move(result));
}

} // namespace torsor
