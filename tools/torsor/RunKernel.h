// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One scheme of a library on the arrays of `torsor run`.
#ifndef TORSOR_TOOLS_TORSOR_RUNKERNEL_H
#define TORSOR_TOOLS_TORSOR_RUNKERNEL_H

#include "tools/torsor/RunInputs.h"

namespace torsor {

/// The scheme of a library that attends: an encoding may stand beside it.
torsor_scheme *findAttention(torsor_library *library);

/// An instance with its threads. All functions throw a Failure.
class KernelRun {
public:
  /// The library holds one that attends; `inputs` must outlive the run.
  KernelRun(torsor_library *library, const RunInputs &inputs, int64_t threads);
  ~KernelRun();
  KernelRun(const KernelRun &) = delete;
  KernelRun &operator=(const KernelRun &) = delete;

  /// Stores all keys in a cache of its own, which attend() then reads.
  void append();
  /// Queries of a sequence that TORSOR_DECODE takes at most.
  int64_t getDecodeQueries() const { return decodeQueries; }
  /// `op` is TORSOR_PREFILL, TORSOR_DECODE or TORSOR_ATTEND; `lse` may be null.
  void attend(torsor_op op, Array &o, Array *lse);

private:
  const RunInputs &inputs;
  torsor_scheme *scheme = nullptr;
  torsor_instance *instance = nullptr;
  torsor_cache *cache = nullptr;
  torsor_executor pool = {};
  std::vector<torsor_binding> params, bindings;
  std::vector<torsor_sequence> sequences;
  torsor_batch batch = {};

  std::vector<std::string> names;
  int64_t decodeQueries = 0;

  void readNames();
  bool reads(const std::string &name) const;
  bool isStored(const char *name) const;
  void fillBatch(bool append);
};

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_RUNKERNEL_H
