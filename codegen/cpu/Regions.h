// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of kernel-level ops as code: scalar as they are, or over lanes.
#ifndef TORSOR_CODEGEN_CPU_REGIONS_H
#define TORSOR_CODEGEN_CPU_REGIONS_H

#include "codegen/cpu/TableReader.h"

namespace torsor {

/// Operations that a place computes in its own way: their value, or null.
using RegionOps =
    llvm::function_ref<Num(mlir::Operation &, llvm::ArrayRef<Num>)>;

/// Clones the block of `region` with these arguments and gives what it yields.
/// Arguments may be scalars or vectors of equal length; an op becomes a vector
/// op where one of its operands is one.
Nums cloneRegion(mlir::Region &region, llvm::ArrayRef<Num> arguments,
                 const TableReader &tables, const Place &place,
                 RegionOps special = nullptr);

/// An operation of a region, a read of a table or elementwise, over these
/// operands; that of a table is not looked at.
Nums cloneOperation(mlir::Operation &op, llvm::ArrayRef<Num> operands,
                    const TableReader &tables, const Place &place);

/// An operation that can be computed over lanes as it is.
bool isElementwise(mlir::Operation &op);
/// `op` again over these operands, widened to vectors if one of them is.
Nums cloneElementwise(Emitter &e, const Target &target, mlir::Operation &op,
                      Nums operands);

/// Whether every op of the region can be cloned so: torsor.lookup,
/// torsor.fetch and elementwise ops without regions. Reports the first that
/// cannot.
mlir::LogicalResult checkRegion(mlir::Region &region);

/// Value of an affine expression over dims and symbols.
Num emitAffine(Emitter &e, mlir::AffineExpr expression,
               llvm::ArrayRef<Num> dims, llvm::ArrayRef<Num> symbols);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_REGIONS_H
