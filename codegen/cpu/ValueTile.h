// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights times values, in registers.
#ifndef TORSOR_CODEGEN_CPU_VALUETILE_H
#define TORSOR_CODEGEN_CPU_VALUETILE_H

#include "codegen/cpu/PrefillLayout.h"

namespace torsor {

/// outputs = alpha * outputs + weights * values, for all row groups, each over
/// its own keys of the tile. A weight of 0 keeps a value that is not finite
/// out.
void emitOutputs(const PrefillContext &c, Num groups, Num tile);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_VALUETILE_H
