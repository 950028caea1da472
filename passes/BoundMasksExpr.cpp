// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer expressions of the indices of a pair, in a normal form.
#include "passes/BoundMasksExpr.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace torsor {
namespace {

using Wide = ExprContext::Wide;

constexpr int64_t maxCoefficient = int64_t(1) << 40;
constexpr int64_t maxConstant = int64_t(1) << 62;
constexpr size_t maxTerms = 16;
/// The most terms of an expression, those within terms counted each time, so
/// that walks over them may recurse.
constexpr unsigned maxSize = 128;
/// What a term may hold, so that ranges of sums of terms fit in 128 bits.
constexpr Wide maxNested = Wide(1) << 66;

Wide floorOf(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient * b != a && a < 0 ? quotient - 1 : quotient;
}

bool inBounds(Wide value, int64_t bound) {
  return -Wide(bound) <= value && value <= bound;
}

} // namespace

ExprContext::ExprContext() {
  // Numbers of the leaves follow the order of TermKind.
  for (TermKind kind : {TermKind::Query, TermKind::Key, TermKind::Length,
                        TermKind::First, TermKind::Last})
    intern({kind, {}, {}, 1, {}});
}

unsigned ExprContext::intern(ExprTerm term) {
  auto [at, fresh] = numbers.try_emplace(std::move(term), terms.size());
  if (!fresh)
    return at->second;
  const ExprTerm &stored = at->first;
  std::pair<Wide, Wide> bounds = {0, maxIndex};
  if (stored.kind == TermKind::Floor) {
    auto [low, high] = range(stored.a);
    bounds = {floorOf(low, stored.divisor), floorOf(high, stored.divisor)};
  } else if (stored.kind == TermKind::Max || stored.kind == TermKind::Select) {
    auto [lowA, highA] = range(stored.a);
    auto [lowB, highB] = range(stored.b);
    bool max = stored.kind == TermKind::Max;
    bounds = {max ? std::max(lowA, lowB) : std::min(lowA, lowB),
              std::max(highA, highB)};
  }
  terms.push_back(&stored);
  ranges.push_back(bounds);
  sizes.push_back(1 + sizeOf(stored.a) + sizeOf(stored.b));
  return terms.size() - 1;
}

LinearExpr ExprContext::leaf(TermKind kind) {
  return {{{unsigned(kind), 1}}, 0};
}

LinearExpr ExprContext::opaque(Value value, IntRange range) {
  if (range.isConstant())
    return constant(range.low);
  unsigned number = intern({TermKind::Opaque, {}, {}, 1, value});
  ranges[number] = {range.low, range.high};
  return {{{number, 1}}, 0};
}

ExprContext::Result ExprContext::select(Value condition, const LinearExpr &a,
                                        const LinearExpr &b) {
  if (a == b)
    return a;
  if (!mayNest(a) || !mayNest(b))
    return std::nullopt;
  return LinearExpr{{{intern({TermKind::Select, a, b, 1, condition}), 1}}, 0};
}

ExprContext::Result ExprContext::max(const LinearExpr &a, const LinearExpr &b) {
  // a - b of one sign decides; also where a and b share terms.
  if (Result difference = sub(a, b)) {
    auto [low, high] = range(*difference);
    if (low >= 0)
      return a;
    if (high <= 0)
      return b;
  }
  if (!mayNest(a) || !mayNest(b))
    return std::nullopt;
  const LinearExpr &first = std::min(a, b), &second = std::max(a, b);
  return LinearExpr{{{intern({TermKind::Max, first, second, 1, {}}), 1}}, 0};
}

ExprContext::Result ExprContext::min(const LinearExpr &a, const LinearExpr &b) {
  Result minusA = scale(a, -1), minusB = scale(b, -1);
  if (!minusA || !minusB)
    return std::nullopt;
  Result larger = max(*minusA, *minusB);
  return larger ? scale(*larger, -1) : std::nullopt;
}

ExprContext::Result ExprContext::sum(const LinearExpr &a, const LinearExpr &b,
                                     int64_t sign) {
  Wide constant = Wide(a.constant) + Wide(sign) * b.constant;
  if (!inBounds(constant, maxConstant))
    return std::nullopt;
  LinearExpr result{{}, int64_t(constant)};
  auto *left = a.terms.begin(), *right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    unsigned number = left == a.terms.end() ? right->first
                      : right == b.terms.end()
                          ? left->first
                          : std::min(left->first, right->first);
    Wide coefficient = 0;
    if (left != a.terms.end() && left->first == number)
      coefficient += (left++)->second;
    if (right != b.terms.end() && right->first == number)
      coefficient += Wide(sign) * (right++)->second;
    if (!inBounds(coefficient, maxCoefficient))
      return std::nullopt;
    if (coefficient != 0)
      result.terms.push_back({number, int64_t(coefficient)});
  }
  if (result.terms.size() > maxTerms)
    return std::nullopt;
  return result;
}

ExprContext::Result ExprContext::scale(const LinearExpr &a, int64_t factor) {
  if (factor == 0)
    return constant(0);
  LinearExpr result;
  Wide scaled = Wide(a.constant) * factor;
  if (!inBounds(scaled, maxConstant))
    return std::nullopt;
  result.constant = int64_t(scaled);
  for (auto [number, coefficient] : a.terms) {
    Wide product = Wide(coefficient) * factor;
    if (!inBounds(product, maxCoefficient))
      return std::nullopt;
    result.terms.push_back({number, int64_t(product)});
  }
  return result;
}

ExprContext::Result ExprContext::floorDiv(const LinearExpr &a,
                                          int64_t divisor) {
  if (divisor == 0 || !inBounds(divisor, maxCoefficient))
    return std::nullopt;
  if (divisor < 0) {
    Result minus = scale(a, -1);
    return minus ? floorDiv(*minus, -divisor) : std::nullopt;
  }
  // Multiples of the divisor leave the floor: floor((d x + r) / d) = x +
  // floor(r / d).
  LinearExpr outside, inside;
  for (auto [number, coefficient] : a.terms)
    if (coefficient % divisor == 0)
      outside.terms.push_back({number, coefficient / divisor});
    else
      inside.terms.push_back({number, coefficient});
  outside.constant = int64_t(floorOf(a.constant, divisor));
  inside.constant = a.constant - outside.constant * divisor;

  auto [low, high] = range(inside);
  if (floorOf(low, divisor) == floorOf(high, divisor)) {
    Wide known = floorOf(low, divisor) + outside.constant;
    if (!inBounds(known, maxConstant))
      return std::nullopt;
    outside.constant = int64_t(known);
    return outside;
  }
  // floor((g x + c) / (g d)) = floor((x + floor(c / g)) / d).
  int64_t common = divisor;
  for (auto [number, coefficient] : inside.terms)
    common = std::gcd(common, coefficient);
  for (auto &[number, coefficient] : inside.terms)
    coefficient /= common;
  inside.constant = int64_t(floorOf(inside.constant, common));
  divisor /= common;
  if (divisor == 1)
    return add(outside, inside);
  // floor((floor(x / e) + c) / d) = floor((x + c e) / (d e)).
  if (inside.terms.size() == 1 && inside.terms[0].second == 1) {
    const ExprTerm &only = term(inside.terms[0].first);
    if (only.kind == TermKind::Floor &&
        inBounds(Wide(divisor) * only.divisor, maxCoefficient)) {
      Result shift = scale(constant(inside.constant), only.divisor);
      Result merged = shift ? add(only.a, *shift) : std::nullopt;
      Result whole =
          merged ? floorDiv(*merged, divisor * only.divisor) : std::nullopt;
      return whole ? add(outside, *whole) : std::nullopt;
    }
  }
  if (!mayNest(inside))
    return std::nullopt;
  unsigned number = intern({TermKind::Floor, inside, {}, divisor, {}});
  return add(outside, LinearExpr{{{number, 1}}, 0});
}

ExprContext::Result ExprContext::ceilDiv(const LinearExpr &a, int64_t divisor) {
  Result minus = scale(a, -1);
  Result floor = minus ? floorDiv(*minus, divisor) : std::nullopt;
  return floor ? scale(*floor, -1) : std::nullopt;
}

Wide ExprContext::rangeEnd(const LinearExpr &a, bool high) const {
  Wide total = a.constant;
  for (auto [number, coefficient] : a.terms) {
    auto [least, most] = ranges[number];
    total += Wide(coefficient) * ((coefficient > 0) == high ? most : least);
  }
  return total;
}

std::pair<Wide, Wide> ExprContext::range(const LinearExpr &a) const {
  return {rangeEnd(a, false), rangeEnd(a, true)};
}

unsigned ExprContext::sizeOf(const LinearExpr &a) const {
  unsigned size = 0;
  for (auto [number, coefficient] : a.terms)
    size += sizes[number];
  return size;
}

bool ExprContext::mayNest(const LinearExpr &a) const {
  auto [low, high] = range(a);
  return sizeOf(a) < maxSize && -maxNested <= low && high <= maxNested;
}

} // namespace torsor
