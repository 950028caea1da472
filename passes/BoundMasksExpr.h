// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer expressions of the indices of a pair, in a normal form.
#ifndef TORSOR_PASSES_BOUNDMASKSEXPR_H
#define TORSOR_PASSES_BOUNDMASKSEXPR_H

#include "passes/IntervalAnalysis.h"

#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace torsor {

/// constant + sum of coefficient * term, over terms numbered by an ExprContext,
/// in rising order and without zeros. Equal expressions are equal values.
struct LinearExpr {
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms;
  int64_t constant = 0;

  bool isConstant() const { return terms.empty(); }
  bool operator==(const LinearExpr &other) const {
    return constant == other.constant && terms == other.terms;
  }
  bool operator<(const LinearExpr &other) const {
    return constant != other.constant ? constant < other.constant
                                      : terms < other.terms;
  }
};

/// What a term is.
enum class TermKind {
  Query,  ///< i, the index of the query
  Key,    ///< j, the index of the key
  Length, ///< N
  First,  ///< the first query index of the tile
  Last,   ///< the last query index of the tile
  Floor,  ///< floor(a / divisor), divisor >= 2
  Max,    ///< the larger of a and b
  Select, ///< a if `value` holds, else b
  Opaque  ///< `value`, of which only the range is known
};

struct ExprTerm {
  TermKind kind;
  LinearExpr a, b;
  int64_t divisor = 1;
  mlir::Value value;

  bool operator<(const ExprTerm &other) const {
    const void *mine = value.getAsOpaquePointer();
    const void *its = other.value.getAsOpaquePointer();
    return std::tie(kind, divisor, mine, a, b) <
           std::tie(other.kind, other.divisor, its, other.a, other.b);
  }
};

/// Owns the terms. Operations give nothing where a coefficient or a constant
/// would leave its bounds (2^40, 2^62), so that no range overflows 128 bits, or
/// an expression would grow too large.
class ExprContext {
public:
  using Result = std::optional<LinearExpr>;
  using Wide = __int128;

  ExprContext();

  static LinearExpr constant(int64_t value) { return {{}, value}; }
  /// Query, Key, Length, First or Last.
  LinearExpr leaf(TermKind kind);
  LinearExpr opaque(mlir::Value value, IntRange range);
  Result select(mlir::Value condition, const LinearExpr &a,
                const LinearExpr &b);
  Result max(const LinearExpr &a, const LinearExpr &b);

  Result add(const LinearExpr &a, const LinearExpr &b) { return sum(a, b, 1); }
  Result sub(const LinearExpr &a, const LinearExpr &b) { return sum(a, b, -1); }
  Result scale(const LinearExpr &a, int64_t factor);
  /// floor(a / divisor) for a divisor that is not 0.
  Result floorDiv(const LinearExpr &a, int64_t divisor);
  Result ceilDiv(const LinearExpr &a, int64_t divisor);
  Result min(const LinearExpr &a, const LinearExpr &b);

  const ExprTerm &term(unsigned number) const { return *terms[number]; }

  /// The least and the greatest value, over all indices.
  std::pair<Wide, Wide> range(const LinearExpr &a) const;

  /// Does a term of one of these kinds stand in `a`, at any depth?
  bool contains(const LinearExpr &a, llvm::ArrayRef<TermKind> kinds) const;

  /// The number of the first term of kind Max or Select, or with `opaque` of
  /// kind Opaque, at any depth.
  std::optional<unsigned> findChoice(const LinearExpr &a, bool opaque) const;

  /// How `a` depends on a term: 1 it never falls as the term grows, -1 never
  /// rises, 0 neither is known. Terms Max and Select count as a choice.
  int direction(const LinearExpr &a, unsigned number) const;

  /// `a` with `by` in place of a term.
  Result substitute(const LinearExpr &a, unsigned number, const LinearExpr &by);

  /// The least value of `a` over the queries of a tile, or the greatest, as an
  /// expression of First, Last and N. `a` has no Key, Max, Select or Opaque.
  Result extreme(const LinearExpr &a, bool greatest);

  /// As an affine expression of d0 = First, d1 = Last and s0 = N, null where
  /// its evaluation could leave 64 bits.
  mlir::AffineExpr toAffine(const LinearExpr &a, mlir::MLIRContext *context);

private:
  Result sum(const LinearExpr &a, const LinearExpr &b, int64_t sign);
  unsigned intern(ExprTerm term);
  Wide rangeEnd(const LinearExpr &a, bool high) const;
  unsigned sizeOf(const LinearExpr &a) const;
  bool mayNest(const LinearExpr &a) const;

  std::map<ExprTerm, unsigned> numbers;
  std::vector<const ExprTerm *> terms;
  std::vector<std::pair<Wide, Wide>> ranges;
  std::vector<unsigned> sizes;
};

} // namespace torsor

#endif
