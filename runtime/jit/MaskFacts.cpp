// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the affine bounds of a mask.
#include "runtime/jit/MaskFacts.h"

#include "mlir/IR/AffineMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace torsor;

/// As people write it: d0 is i0, d1 is i1, s0 is N.
static std::string describe(mlir::AffineExpr expr) {
  std::string text, result;
  llvm::raw_string_ostream(text) << expr;
  for (size_t n = 0; n < text.size(); ++n) {
    llvm::StringRef rest = llvm::StringRef(text).drop_front(n);
    if (rest.starts_with("d0") || rest.starts_with("d1")) {
      result += std::string("i") + text[++n];
    } else if (rest.starts_with("s0")) {
      result += "N";
      ++n;
    } else if (rest.starts_with("floordiv")) {
      result += "div";
      n += 7;
    } else {
      result += text[n];
    }
  }
  return result;
}

static std::string describeEnd(mlir::AffineMap map, const char *function,
                               int64_t shift) {
  std::string list;
  for (mlir::AffineExpr expr : map.getResults())
    list += (list.empty() ? "" : ", ") + describe(expr + shift);
  return map.getNumResults() == 1 ? list
                                  : std::string(function) + "(" + list + ")";
}

/// An upper end of N + 2147483647 x is a condition, x >= 0: it leaves N keys,
/// or none. Gives x; null: `expr` is no such end.
static mlir::AffineExpr readCondition(mlir::AffineExpr expr, int &lengths) {
  constexpr int64_t large = 2147483647;
  auto make = [&](int64_t value) {
    return mlir::getAffineConstantExpr(value, expr.getContext());
  };
  if (llvm::isa<mlir::AffineSymbolExpr>(expr)) {
    ++lengths;
    return make(0);
  }
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue() % large == 0 ? make(constant.getValue() / large)
                                            : mlir::AffineExpr();
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  if (binary.getKind() == mlir::AffineExprKind::Add) {
    mlir::AffineExpr a = readCondition(binary.getLHS(), lengths);
    mlir::AffineExpr b = readCondition(binary.getRHS(), lengths);
    return a && b ? a + b : mlir::AffineExpr();
  }
  auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != mlir::AffineExprKind::Mul || !factor ||
      factor.getValue() % large != 0)
    return {};
  return binary.getLHS() * (factor.getValue() / large);
}

/// "i0 <= 2" of x = 2 - i0.
static std::string describeCondition(mlir::AffineExpr x) {
  for (unsigned dim : {0, 1}) {
    mlir::AffineExpr row = mlir::getAffineDimExpr(dim, x.getContext());
    if (auto most = llvm::dyn_cast<mlir::AffineConstantExpr>(
            mlir::simplifyAffineExpr(x + row, 2, 1)))
      return describe(row) + " <= " + std::to_string(most.getValue());
    if (auto least = llvm::dyn_cast<mlir::AffineConstantExpr>(
            mlir::simplifyAffineExpr(row - x, 2, 1)))
      return describe(row) + " >= " + std::to_string(least.getValue());
  }
  return describe(x) + " >= 0";
}

std::string torsor::describeInterval(IntervalAttr interval) {
  llvm::SmallVector<mlir::AffineExpr> ends;
  std::string conditions;
  for (mlir::AffineExpr end : interval.getUpper().getResults()) {
    int lengths = 0;
    mlir::AffineExpr x = readCondition(end, lengths);
    if (!x || lengths != 1 || llvm::isa<mlir::AffineConstantExpr>(x))
      ends.push_back(end);
    else
      conditions +=
          (conditions.empty() ? ", where " : " and ") + describeCondition(x);
  }
  if (ends.empty())
    ends.push_back(
        mlir::getAffineSymbolExpr(0, interval.getUpper().getContext()));
  auto upper = mlir::AffineMap::get(2, 1, ends, ends.front().getContext());
  return describeEnd(interval.getLower(), "max", 0) + " … " +
         describeEnd(upper, "min", -1) + conditions;
}

static int64_t evaluate(mlir::AffineExpr expr, int64_t i0, int64_t i1,
                        int64_t total) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dim.getPosition() == 0 ? i0 : i1;
  if (llvm::isa<mlir::AffineSymbolExpr>(expr))
    return total;
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), i0, i1, total);
  int64_t b = evaluate(binary.getRHS(), i0, i1, total);
  int64_t quotient = b == 0 ? 0 : a / b, rest = b == 0 ? 0 : a % b;
  bool below = rest != 0 && (rest < 0) != (b < 0);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return a + b;
  case mlir::AffineExprKind::Mul:
    return a * b;
  case mlir::AffineExprKind::FloorDiv:
    return quotient - below;
  case mlir::AffineExprKind::CeilDiv:
    return quotient + (rest != 0 && !below);
  case mlir::AffineExprKind::Mod:
    return below ? rest + b : rest;
  default:
    return 0;
  }
}

std::pair<int64_t, int64_t> torsor::evaluateInterval(IntervalAttr interval,
                                                     int64_t i0, int64_t i1,
                                                     int64_t total) {
  int64_t lower = 0, upper = total;
  for (mlir::AffineExpr expr : interval.getLower().getResults())
    lower = std::max(lower, evaluate(expr, i0, i1, total));
  for (mlir::AffineExpr expr : interval.getUpper().getResults())
    upper = std::min(upper, evaluate(expr, i0, i1, total));
  return {lower, std::max(lower, upper)};
}

TileCounts torsor::countTiles(llvm::ArrayRef<IntervalAttr> visible,
                              llvm::ArrayRef<IntervalAttr> full, int64_t length,
                              int64_t rows, int64_t keys) {
  TileCounts counts;
  for (int64_t i0 = 0; i0 < length; i0 += rows) {
    int64_t i1 = std::min(i0 + rows, length) - 1;
    for (int64_t j0 = 0; j0 < length; j0 += keys) {
      int64_t j1 = std::min(j0 + keys, length);
      bool some = false, all = false;
      for (IntervalAttr interval : visible) {
        auto [lower, upper] = evaluateInterval(interval, i0, i1, length);
        some |= lower < j1 && upper > j0;
      }
      for (IntervalAttr interval : full) {
        auto [lower, upper] = evaluateInterval(interval, i0, i1, length);
        all |= lower <= j0 && upper >= j1;
      }
      ++(all ? counts.full : some ? counts.partial : counts.skipped);
    }
  }
  return counts;
}

double torsor::countKeys(llvm::ArrayRef<IntervalAttr> visible, int64_t i,
                         int64_t total) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (IntervalAttr interval : visible)
    ranges.push_back(evaluateInterval(interval, i, i, total));
  llvm::sort(ranges); // they may overlap: count each key once
  double keys = 0;
  int64_t end = 0;
  for (auto [lower, upper] : ranges) {
    lower = std::max(lower, end);
    keys += static_cast<double>(std::max<int64_t>(0, upper - lower));
    end = std::max(end, upper);
  }
  return keys;
}

double torsor::countPairs(llvm::ArrayRef<IntervalAttr> visible,
                          int64_t length) {
  double pairs = 0;
  for (int64_t i = 0; i < length; ++i)
    pairs += countKeys(visible, i, length);
  return pairs;
}
