// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme reads and the command line does not give.
#ifndef TORSOR_TOOLS_TORSOR_RUNMISSING_H
#define TORSOR_TOOLS_TORSOR_RUNMISSING_H

#include "tools/torsor/RunInputs.h"

namespace torsor {

class SchemeOp;

/// Throws a Failure that names the options for all clocks, params and inputs
/// that the scheme reads and `inputs` lacks.
void checkGiven(SchemeOp scheme, const RunInputs &inputs);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_RUNMISSING_H
