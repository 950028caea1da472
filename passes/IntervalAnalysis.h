// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of integers, proved from declared ranges and types.
#ifndef TORSOR_PASSES_INTERVALANALYSIS_H
#define TORSOR_PASSES_INTERVALANALYSIS_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <limits>

namespace mlir {
class Block;
class Operation;
namespace arith {
class SubIOp;
}
} // namespace mlir

namespace torsor {

class ClockOp;

/// Indices and lengths lie in 0 .. 2^31 - 1.
constexpr int64_t maxIndex = (int64_t(1) << 31) - 1;

/// The integers low .. high, both included; low <= high.
struct IntRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  /// What a signed integer of `width` bits can hold (1: -1 .. 0 would be the
  /// signed reading, but a truth value is 0 .. 1 here).
  static IntRange ofWidth(unsigned width);

  bool isConstant() const { return low == high; }
  bool contains(int64_t value) const { return low <= value && value <= high; }
  /// Lies inside `outer`.
  bool within(IntRange outer) const {
    return outer.low <= low && high <= outer.high;
  }
  /// Every value is representable in `width` signed bits.
  bool fits(unsigned width) const { return within(ofWidth(width)); }
  IntRange unite(IntRange other) const {
    return {std::min(low, other.low), std::max(high, other.high)};
  }
  bool operator==(const IntRange &) const = default;
};

/// Forward interval analysis of straight-line code. Arithmetic that may wrap at
/// the width of its type gives the full range of the type, so a range holds
/// for the bits that are computed. Values of no integer type have no range.
class IntervalAnalysis {
public:
  /// Fixes the range of a value, for the values that a block takes from
  /// outside; to be called before `run`.
  void setRange(mlir::Value value, IntRange range) { ranges[value] = range; }

  /// Computes the ranges of all results of the operations of `block`, in order.
  void run(mlir::Block &block);

  /// The range of an integer value; the full one of its type if nothing is
  /// known. An index counts as 64 bits.
  IntRange getRange(mlir::Value value) const;

private:
  void visit(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, IntRange> ranges;
};

/// The divisor b of `a - (a floordiv b) * b`, which is a mod b; else null.
mlir::Value getModulus(mlir::arith::SubIOp op);

/// The range of what `torsor.read`, `torsor.fetch` or `torsor.lookup` gives, or
/// of a `torsor.time`, by storage type and by declaration. Declared ranges are
/// read off the tensor's or clock's declaration, at the kernel level off the
/// discardable attributes `low` and `high` of the operation itself.
IntRange getReadRange(mlir::Operation *read);

/// The range of the times of a clock of integers that the call gives.
IntRange getClockRange(ClockOp clock);

} // namespace torsor

#endif
