// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets of keys per query: unions of intervals with affine ends.
#ifndef TORSOR_PASSES_BOUNDMASKSSET_H
#define TORSOR_PASSES_BOUNDMASKSSET_H

#include "passes/BoundMasksExpr.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace torsor {

/// The keys j with lower <= j < upper for each bound, if each guard is <= 0 for
/// the query. Every cell also lies in 0 <= j < N.
struct KeyCell {
  llvm::SmallVector<LinearExpr, 2> lowers, uppers, guards;

  bool operator==(const KeyCell &) const = default;
};

/// A union of cells. No cell: no key. One cell without bounds: all keys.
using KeySet = llvm::SmallVector<KeyCell, 2>;

/// What is known of the pairs for which something holds.
struct KeyBounds {
  /// A superset of its pairs.
  KeySet may;
  /// A subset.
  KeySet must;
  /// Both are the set itself.
  bool exact = true;
};

/// A truth value per pair: where it is true, and where it is false.
struct KeyTruth {
  KeyBounds holds, fails;
};

/// Solves comparisons for the key index and joins the solutions.
class KeySolver {
public:
  explicit KeySolver(ExprContext &context) : context(context) {}

  static KeyBounds all() { return {{KeyCell()}, {KeyCell()}, true}; }
  static KeyBounds none() { return {{}, {}, true}; }
  /// Nothing is known.
  static KeyBounds unknown() { return {{KeyCell()}, {}, false}; }

  /// The truth of the condition of a Select term.
  using Conditions = llvm::function_ref<const KeyTruth &(mlir::Value)>;

  /// Where value <= 0.
  KeyBounds atMostZero(const LinearExpr &value, Conditions conditions);

  KeyBounds both(const KeyBounds &a, const KeyBounds &b);
  KeyBounds either(const KeyBounds &a, const KeyBounds &b);
  /// Where a holds if c holds, else b.
  KeyBounds choose(const KeyTruth &c, const KeyBounds &a, const KeyBounds &b);

  /// Drops bounds and cells that say nothing, and joins cells that touch.
  void simplify(KeySet &set);

  /// Is `a` >= 0 for all indices with First <= Last?
  bool isNatural(const LinearExpr &a) const;
  /// Is `a` >= `b`?
  bool isAtLeast(const LinearExpr &a, const LinearExpr &b);

  /// Allows so many more steps of `atMostZero`; without any it knows nothing.
  void setBudget(unsigned steps) { budget = steps; }

private:
  KeyBounds choice(const LinearExpr &value, unsigned number,
                   Conditions conditions);
  KeyBounds overRange(const LinearExpr &value, unsigned number,
                      Conditions conditions);
  KeyBounds solve(const LinearExpr &value);
  KeyBounds relax(const LinearExpr &value, const LinearExpr &key);
  KeySet meet(const KeySet &a, const KeySet &b, bool may);
  KeySet join(const KeySet &a, const KeySet &b, bool may);
  bool simplifyCell(KeyCell &cell);
  bool isInside(const KeyCell &a, const KeyCell &b);
  bool continues(const KeyCell &a, const KeyCell &b);

  ExprContext &context;
  unsigned budget = 0;
};

} // namespace torsor

#endif
