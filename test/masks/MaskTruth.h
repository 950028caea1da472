// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which pairs a mask shows, by evaluating each, against its affine bounds.
#ifndef TORSOR_TEST_MASKS_MASKTRUTH_H
#define TORSOR_TEST_MASKS_MASKTRUTH_H

#include "dialect/TorsorDialect.h"
#include "passes/BoundMasks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace torsor::test {

/// What a scheme reads, for one call.
struct Call {
  int64_t length = 0;
  /// Positions, documents and flags by index, from `base` on.
  int64_t base = 0;
  std::vector<int64_t> positions, documents, flags;
  int64_t window = 0;
  int64_t head = 0;
};

/// Schemes that read positions, documents, a flag, a window and a head.
class BoundMasksTest : public ::testing::Test {
protected:
  BoundMasksTest();

  /// A scheme @x: the leaves (%i %j %n %h %s %t %di %dj %limit %fj), then
  /// `text`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  static SchemeOp getScheme(mlir::ModuleOp module);
  /// What its `torsor.mask` takes.
  static mlir::Value getMask(mlir::ModuleOp module);

  mlir::MLIRContext context;
};

/// Does `key` lie in one of the intervals, for a tile of queries?
bool isInside(llvm::ArrayRef<IntervalAttr> intervals, int64_t first,
              int64_t last, int64_t length, int64_t key);

std::string print(mlir::Operation *op, const MaskBounds &bounds);

/// Which pairs of the queries call.base ... and the keys firstKey ... are seen.
struct MaskTruth {
  int64_t base, firstKey;
  std::vector<std::vector<bool>> seen;

  MaskTruth(SchemeOp scheme, mlir::Value mask, const Call &call,
            int64_t queries, int64_t firstKey, int64_t keys);

  /// Compares tiles of every length; `exact`: the bounds must be so.
  void check(const MaskBounds &bounds, int64_t length, bool exact) const;
};

} // namespace torsor::test

#endif
