// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each value of a scheme varies by.
#ifndef TORSOR_PASSES_VARIESBY_H
#define TORSOR_PASSES_VARIESBY_H

#include "dialect/TorsorDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace torsor {

/// A set of the things a value can differ between.
class VarySet {
public:
  enum Bit : uint16_t {
    Loaded = 1,    // params: fixed once they are bound
    Size = 2,      // H, G: fixed once they are bound, "call" in the language
    Head = 4,      // h
    Group = 8,     // g, which h decides
    Call = 16,     // inputs per call
    Sequence = 32, // N, inputs per sequence
    Query = 64,    // anything of the query token
    Key = 128,     // anything of the key token
    Path = 256,    // anything of a token that a sum binds
    Content = 512, // q, k
    Score = 1024,  // the score, the total
  };

  constexpr VarySet(uint16_t bits = 0) : bits(bits) {}

  constexpr bool has(uint16_t which) const { return bits & which; }
  constexpr bool hasOnly(uint16_t allowed) const { return !(bits & ~allowed); }
  constexpr bool empty() const { return !bits; }
  constexpr VarySet operator|(VarySet other) const {
    return VarySet(bits | other.bits);
  }
  constexpr VarySet without(uint16_t which) const {
    return VarySet(bits & ~which);
  }
  constexpr bool operator==(const VarySet &other) const = default;
  constexpr uint16_t getBits() const { return bits; }

  /// Known once an instance is bound.
  constexpr bool isBound() const {
    return hasOnly(Loaded | Size | Head | Group);
  }
  /// The same for all tokens of a sequence.
  constexpr bool isUniform() const {
    return hasOnly(Loaded | Size | Head | Group | Call | Sequence);
  }
  /// The same for all keys: a function of the query token, of its vector and
  /// of what is uniform.
  constexpr bool isRow() const {
    return hasOnly(Loaded | Size | Head | Group | Call | Sequence | Query |
                   Content);
  }
  /// A function of the key token, of its vector and of what is uniform, the
  /// query head left out: keys are shared by the heads of a group.
  constexpr bool isColumn() const {
    return hasOnly(Loaded | Size | Group | Call | Sequence | Key | Content);
  }

  /// "{head, query}", in the words of the language ("call" for H and G).
  std::string getText() const;

private:
  uint16_t bits;
};

/// The forward dataflow over one scheme. The scheme may grow afterwards, but a
/// visited value must not change.
class VariesBy {
public:
  explicit VariesBy(SchemeOp scheme);
  VarySet of(mlir::Value value);
  /// Of the values that `op` yields or computes, and of what it reads.
  VarySet of(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, VarySet> sets;
};

} // namespace torsor

#endif // TORSOR_PASSES_VARIESBY_H
