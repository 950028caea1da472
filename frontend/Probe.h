// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of an expression at one pair, for warnings.
#ifndef TORSOR_FRONTEND_PROBE_H
#define TORSOR_FRONTEND_PROBE_H

#include "frontend/Node.h"

#include <limits>

namespace torsor {

/// A pair of tokens whose positions are their indices, in a head.
struct ProbePoint {
  int64_t query = 0, key = 0;
  int64_t head = 0, heads = 8;
  int64_t length = 1 << 25;
  /// What is read of tensors and vectors; as it is, nothing can be said of an
  /// expression that reads them.
  double unknown = std::numeric_limits<double>::quiet_NaN();
};

/// The value at a point, truth values as 0 and 1; other clocks are positions.
/// Good for a warning, not for a proof.
double probe(const Node *node, const ProbePoint &point);

/// The division by 0, or the negative power of 0, that leaves `node` without a
/// finite value at a point; null: there is none, or it does not matter.
const Node *findPole(const Node *node, const ProbePoint &point);

} // namespace torsor

#endif // TORSOR_FRONTEND_PROBE_H
