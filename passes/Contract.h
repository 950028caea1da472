// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contract of a cache, read off a scheme.
#ifndef TORSOR_PASSES_CONTRACT_H
#define TORSOR_PASSES_CONTRACT_H

#include "passes/BoundMasks.h"
#include "passes/SchemePlan.h"

#include <string>

namespace torsor {

/// The shortest decimal that reads back as `value`, with a point or exponent.
std::string realText(double value);

/// The contract's text: what acts on keys before they are cached, every real as
/// the shortest decimal that reads back, params as `$name`, then widths,
/// storage types and whether keys lie raw or acted.
std::string contractText(SchemePlan &plan);

/// Does what acts on cached keys read this param?
bool contractReads(SchemePlan &plan, mlir::Operation *param);

/// No query sees a key more than `window` indices behind it (-1: unbounded),
/// but those with an index below `first`.
struct WindowOfMask {
  int64_t window = -1, first = 0;
};
WindowOfMask windowOf(const MaskBounds &bounds);

} // namespace torsor

#endif // TORSOR_PASSES_CONTRACT_H
