// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From planned blocks to attributes, with their tables and slots.
#ifndef TORSOR_PASSES_FORMBLOCKS_H
#define TORSOR_PASSES_FORMBLOCKS_H

#include "passes/KernelRegions.h"

namespace torsor {

/// The blocks of one branch as `#torsor.block`; without `rows` those of keys
/// alone.
mlir::FailureOr<mlir::ArrayAttr>
formBlocks(SchemePlan &plan, KernelFunction &kernel, KeyPlace place,
           const PlannedBranch &branch, SideCode *rows, SideCode &columns);

/// The blocks that move acted keys by a shift: those that act at a time, with
/// no time slots and no gains.
mlir::FailureOr<mlir::ArrayAttr> formShift(SchemePlan &plan,
                                           KernelFunction &kernel,
                                           const PlannedBranch &branch);

/// The table of a running sum on one side: its axes are tokens, heads where it
/// differs between them, and members.
mlir::Value scanTable(SchemePlan &plan, KernelFunction &kernel, int64_t scan,
                      bool key);

} // namespace torsor

#endif // TORSOR_PASSES_FORMBLOCKS_H
