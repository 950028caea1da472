// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of an expression at one pair, for warnings.
#ifndef TORSOR_FRONTEND_PROBE_H
#define TORSOR_FRONTEND_PROBE_H

#include "frontend/Node.h"

namespace torsor {

/// A pair of tokens whose positions are their indices, in a head.
struct ProbePoint {
  int64_t query = 0, key = 0;
  int64_t head = 0, heads = 8;
  int64_t length = 1 << 25;
};

/// The value at a point, truth values as 0 and 1; NaN for an expression that
/// reads tensors, vectors or other clocks. Good for a warning, not for a proof.
double probe(const Node *node, const ProbePoint &point);

} // namespace torsor

#endif // TORSOR_FRONTEND_PROBE_H
