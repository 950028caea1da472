// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of torsor.attention that are evaluated for pairs and for rows.
#ifndef TORSOR_PASSES_ATTENTIONREGIONS_H
#define TORSOR_PASSES_ATTENTIONREGIONS_H

#include "passes/KernelRegions.h"

namespace torsor {

/// divide(sum, row slots), and its code; nothing where the plan has no divisor.
mlir::LogicalResult formDivide(const SchemePlan &plan, KernelRegions &slots,
                               mlir::Region &region,
                               std::unique_ptr<RowCode> &code);

/// Formed before the operation is there, since they decide which slots rows
/// and columns have; moved into it then. Regions of what the scheme does not
/// have stay empty.
class AttentionRegions {
public:
  AttentionRegions(SchemePlan &plan, KernelFunction &kernel,
                   KernelRegions &slots)
      : plan(plan), kernel(kernel), slots(slots) {}

  mlir::LogicalResult form();
  /// To be called when no region asks for a slot any more.
  void finish();
  void moveTo(AttentionOp op);

private:
  /// f(row slots, column slots), with the score before them if `scored`.
  mlir::LogicalResult formPair(mlir::Region &region, mlir::ValueRange values,
                               mlir::Type type, bool scored = false);
  /// f(age), where the start of the accumulator is nothing else.
  mlir::LogicalResult formToeplitz();

  SchemePlan &plan;
  KernelFunction &kernel;
  KernelRegions &slots;
  mlir::Region init, logit, mask, toeplitz, path, valueRow, divide, branch;
  llvm::SmallVector<std::unique_ptr<PairCode>> pairs;
  std::unique_ptr<RowCode> row;
  bool ageOfPositions = false;
};

} // namespace torsor

#endif // TORSOR_PASSES_ATTENTIONREGIONS_H
