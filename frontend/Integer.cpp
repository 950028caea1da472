// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers without a bound, for constant evaluation.
#include "frontend/Integer.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace torsor;
using llvm::APInt;

namespace {

unsigned wholeWords(unsigned bits) { return (bits + 63) / 64 * 64; }

std::optional<Integer> bounded(Integer value) {
  if (value.bitCount() > Integer::maxBits)
    return std::nullopt;
  return value;
}

} // namespace

Integer::Integer(const APInt &value)
    : bits(value.sextOrTrunc(wholeWords(value.getSignificantBits()))) {}

std::optional<Integer> Integer::parse(llvm::StringRef digits) {
  std::string plain;
  std::copy_if(digits.begin(), digits.end(), std::back_inserter(plain),
               [](char c) { return c != '_'; });
  plain.erase(0, std::min(plain.find_first_not_of('0'), plain.size()));
  if (plain.empty())
    return Integer(0);
  // A decimal digit carries at least 3.3 bits.
  if (plain.size() > maxBits / 3)
    return std::nullopt;
  unsigned width = APInt::getSufficientBitsNeeded(plain, 10) + 1;
  return bounded(Integer(APInt(width, plain, 10)));
}

Integer Integer::fromReal(double value) {
  if (std::abs(value) < 9.2e18)
    return Integer(static_cast<int64_t>(value));
  llvm::APSInt out(1100, /*isUnsigned=*/false);
  bool exact = true;
  llvm::APFloat(value).convertToInteger(out, llvm::APFloat::rmTowardZero,
                                        &exact);
  return Integer(APInt(out));
}

std::optional<int64_t> Integer::toInt64() const { return bits.trySExtValue(); }

double Integer::toReal() const {
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  value.convertFromAPInt(bits, /*IsSigned=*/true,
                         llvm::APFloat::rmNearestTiesToEven);
  return value.convertToDouble();
}

std::string Integer::toString() const {
  llvm::SmallString<24> text;
  bits.toStringSigned(text);
  return std::string(text);
}

Integer Integer::operator-() const {
  return Integer(-bits.sext(bits.getBitWidth() + 64));
}

std::optional<Integer> Integer::plus(const Integer &other) const {
  unsigned width = std::max(bits.getBitWidth(), other.bits.getBitWidth()) + 64;
  return bounded(Integer(bits.sext(width) + other.bits.sext(width)));
}

std::optional<Integer> Integer::minus(const Integer &other) const {
  unsigned width = std::max(bits.getBitWidth(), other.bits.getBitWidth()) + 64;
  return bounded(Integer(bits.sext(width) - other.bits.sext(width)));
}

std::optional<Integer> Integer::times(const Integer &other) const {
  if (bitCount() + other.bitCount() > maxBits + 2)
    return std::nullopt;
  unsigned width = bits.getBitWidth() + other.bits.getBitWidth();
  return bounded(Integer(bits.sext(width) * other.bits.sext(width)));
}

std::optional<Integer> Integer::power(const Integer &exponent) const {
  std::optional<int64_t> count = exponent.toInt64();
  if (isZero() || (bitCount() <= 2 && compare(Integer(1)) == 0))
    return exponent.isZero() ? Integer(1) : *this;
  if (compare(Integer(-1)) == 0)
    return exponent.floorMod(Integer(2)).isZero() ? Integer(1) : *this;
  if (!count || *count > maxBits)
    return std::nullopt;
  Integer result(1), square = *this;
  for (int64_t rest = *count; rest != 0; rest >>= 1) {
    if (rest & 1) {
      std::optional<Integer> next = result.times(square);
      if (!next)
        return std::nullopt;
      result = *next;
    }
    if (rest > 1) {
      std::optional<Integer> next = square.times(square);
      if (!next)
        return std::nullopt;
      square = *next;
    }
  }
  return result;
}

Integer Integer::floorDiv(const Integer &divisor) const {
  unsigned width =
      std::max(bits.getBitWidth(), divisor.bits.getBitWidth()) + 64;
  APInt a = bits.sext(width), b = divisor.bits.sext(width), quotient, rest;
  APInt::sdivrem(a, b, quotient, rest);
  if (!rest.isZero() && rest.isNegative() != b.isNegative())
    --quotient;
  return Integer(quotient);
}

Integer Integer::floorMod(const Integer &divisor) const {
  unsigned width =
      std::max(bits.getBitWidth(), divisor.bits.getBitWidth()) + 64;
  APInt b = divisor.bits.sext(width), rest = bits.sext(width).srem(b);
  if (!rest.isZero() && rest.isNegative() != b.isNegative())
    rest += b;
  return Integer(rest);
}

int Integer::compare(const Integer &other) const {
  unsigned width = std::max(bits.getBitWidth(), other.bits.getBitWidth());
  APInt a = bits.sext(width), b = other.bits.sext(width);
  return a == b ? 0 : a.slt(b) ? -1 : 1;
}
