// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All operations, one file per family.
include "dialect/LeafOps.td"
include "dialect/ActionOps.td"
include "dialect/TermOps.td"
include "dialect/KernelOps.td"
