// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of a region that are computed alike, as the lanes of one vector.
#ifndef TORSOR_CODEGEN_CPU_PACKEDVALUES_H
#define TORSOR_CODEGEN_CPU_PACKEDVALUES_H

#include "codegen/cpu/Regions.h"

namespace torsor {

/// Whether the values are the same but for integer constants: the elements
/// f(0), f(1), … of a list.
bool canPack(llvm::ArrayRef<mlir::Value> values);

/// Such values as a vector, with the arguments of their region.
Num emitPacked(llvm::ArrayRef<mlir::Value> values,
               llvm::ArrayRef<Num> arguments, const TableReader &tables,
               const Place &place);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_PACKEDVALUES_H
