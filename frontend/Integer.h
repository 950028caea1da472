// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers without a bound, for constant evaluation.
#ifndef TORSOR_FRONTEND_INTEGER_H
#define TORSOR_FRONTEND_INTEGER_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace torsor {

/// A signed integer that grows as it needs. It is held in the fewest whole
/// 64-bit words that keep its sign, so values below 2^63 allocate nothing.
class Integer {
public:
  /// Operations whose result needs more bits than this give nothing.
  static constexpr unsigned maxBits = 1u << 14;

  Integer() : bits(64, 0) {}
  Integer(int64_t value) : bits(64, static_cast<uint64_t>(value), true) {}

  /// Reads decimal digits; underscores between them are skipped. Nothing if the
  /// value needs more than `maxBits`.
  static std::optional<Integer> parse(llvm::StringRef digits);
  /// `value` must be finite and whole.
  static Integer fromReal(double value);

  bool isNegative() const { return bits.isNegative(); }
  bool isZero() const { return bits.isZero(); }
  /// Bits of two's complement, the sign's among them.
  unsigned bitCount() const { return bits.getSignificantBits(); }
  unsigned wordCount() const { return bits.getNumWords(); }

  /// The value as 64 bits, if it fits.
  std::optional<int64_t> toInt64() const;
  /// The nearest f64, ties to even; infinite beyond its range.
  double toReal() const;
  std::string toString() const;

  Integer operator-() const;
  std::optional<Integer> plus(const Integer &other) const;
  std::optional<Integer> minus(const Integer &other) const;
  std::optional<Integer> times(const Integer &other) const;
  /// `exponent` must be at least 0.
  std::optional<Integer> power(const Integer &exponent) const;
  /// Rounds towards minus infinity; the divisor must not be 0.
  Integer floorDiv(const Integer &divisor) const;
  /// `*this - divisor * floorDiv(divisor)`; has the sign of the divisor.
  Integer floorMod(const Integer &divisor) const;
  /// Floor of the logarithm to base 2; the value must be above 0.
  unsigned log2() const { return bits.getActiveBits() - 1; }

  /// -1, 0 or 1.
  int compare(const Integer &other) const;
  bool operator==(const Integer &other) const { return compare(other) == 0; }
  bool operator<(const Integer &other) const { return compare(other) < 0; }

  friend llvm::hash_code hash_value(const Integer &value) {
    return llvm::hash_value(value.bits);
  }

private:
  explicit Integer(const llvm::APInt &value);

  llvm::APInt bits; // width: a multiple of 64, the least that holds the value
};

} // namespace torsor

#endif // TORSOR_FRONTEND_INTEGER_H
