// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of the numbers of a scheme, as the language proves them.
#ifndef TORSOR_PASSES_REALRANGE_H
#define TORSOR_PASSES_REALRANGE_H

#include "dialect/TorsorDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>

namespace torsor {

/// low .. high, both included; may be infinite. Never NaN.
struct RealRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool isAtLeast(double bound) const { return low >= bound; }
  bool isAbove(double bound) const { return low > bound; }
  bool isWithin(double a, double b) const { return low >= a && high <= b; }
};

/// The image of an interval through every operation of a scheme: literals,
/// declared ranges, i j h g N >= 0, H G >= 1. Under a causal mask also
/// i - j >= 0, and the same for positions.
class RealRanges {
public:
  RealRanges(SchemeOp scheme, bool isCausal);

  RealRange of(mlir::Value value) const;

private:
  RealRange compute(mlir::Operation *op) const;
  RealRange computeArithmetic(mlir::Operation *op) const;
  RealRange computeMath(mlir::Operation *op) const;
  bool isAge(mlir::Operation *op, bool negative) const;

  llvm::DenseMap<mlir::Value, RealRange> ranges;
  bool isCausal;
};

} // namespace torsor

#endif // TORSOR_PASSES_REALRANGE_H
