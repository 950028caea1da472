// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme with its params, H and G: tables, contract and idle plans.
#ifndef TORSOR_RUNTIME_INSTANCE_H
#define TORSOR_RUNTIME_INSTANCE_H

#include "runtime/Contract.h"
#include "runtime/Library.h"

struct torsor_instance {
  torsor::Count count;
  torsor_scheme *scheme = nullptr;
  int64_t heads = 0, groups = 0;
  torsor::Array<torsor_tensor> params; // in the order of the table
  void *tables = nullptr;
  torsor_contract *contract = nullptr;

  /// Plans that torsor_run may take: exchanged against null, so that no lock
  /// is held by a thread that a fork leaves behind.
  static constexpr int idleLimit = 32;
  std::atomic<torsor_plan *> idle[idleLimit] = {};

  ~torsor_instance();
};

namespace torsor {

inline const torsor_instance *retain(const torsor_instance *instance) {
  instance->count.retain();
  return instance;
}
inline void releaseInstance(const torsor_instance *instance) {
  if (instance->count.release())
    destroy(const_cast<torsor_instance *>(instance));
}

/// Replaces H and G in the shape of a field, other extents as they are.
void resolveShape(const torsor_field &field, int64_t heads, int64_t groups,
                  int64_t *shape, const char **what);

/// `orthogonal` (condition 1) or a bound of the condition number of every
/// matrix in the last two axes.
torsor_status checkCondition(const char *name, const torsor_tensor &tensor,
                             double condition);

/// Says for a wrong name which ones there are, the nearest first.
void appendNames(Text &text, const torsor_scheme &scheme, const char *wrong,
                 bool params);

} // namespace torsor

#endif // TORSOR_RUNTIME_INSTANCE_H
