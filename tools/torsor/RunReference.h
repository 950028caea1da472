// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exact meaning of a scheme on the arrays of `torsor run`.
#ifndef TORSOR_TOOLS_TORSOR_RUNREFERENCE_H
#define TORSOR_TOOLS_TORSOR_RUNREFERENCE_H

#include "reference/HostArray.h"
#include "tools/torsor/RunInputs.h"

namespace torsor {

class SchemeOp;

/// A compact copy: integers stay integers, all else becomes f64.
HostArray toHost(const torsor_tensor &tensor);

/// What the reference gives, in f64. `lse` has no shape and `condition`
/// (Output::condition) is empty where the readout has none.
struct Exact {
  Array o, lse;
  std::vector<double> condition;
};

/// Evaluates the scheme in f64 on what the kernel reads. Throws a Failure.
Exact runReference(SchemeOp scheme, const RunInputs &inputs, bool f32Phases);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_RUNREFERENCE_H
