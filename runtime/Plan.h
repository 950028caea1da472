// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A checked and planned call: kernels, phases, workspace.
#ifndef TORSOR_RUNTIME_PLAN_H
#define TORSOR_RUNTIME_PLAN_H

#include "runtime/Cache.h"
#include "runtime/Storage.h"

namespace torsor {

/// A clock at an index of one sequence. Pairs of two segments are hidden.
struct Tick {
  uint64_t segment;
  int64_t index;
  double time;
};

/// One kernel of a plan. ATTEND has up to two, STEP one more.
struct PlanKernel {
  const torsor_kernel_op *op;
  torsor_kernel_args args;
  torsor_kernel_plan plan;
  int64_t workspaceAt; // offset of its shared part
};

/// A phase of a plan: the items of one kernel's phase, then those of another's.
struct PlanPhase {
  struct Part {
    int32_t kernel;
    uint32_t phase;
    int64_t items;
  };
  int64_t items;
  int32_t partCount;
  Part parts[2];
};

} // namespace torsor

/// Memory is kept from call to call and grows only.
struct torsor_plan {
  const torsor_instance *instance = nullptr; // null: not set
  torsor_cache *cache = nullptr;
  bool keysCached = false;

  /// Resolved, those without queries left out: all, and ATTEND's two kinds.
  torsor::Array<torsor_sequence> sequences, prefills, decodes;
  /// Tensors of kernel arguments: of attention or merge, and of append.
  torsor::Array<torsor_tensor> tensors, appendTensors;
  torsor::Array<torsor_part> parts;
  torsor::Array<int64_t> queryIndices, keyIndices; // widened from i32
  torsor::Array<int64_t> order;                    // scratch of checks
  torsor::Array<uint8_t> given;                    // by argument
  torsor::Array<torsor::Tick> queryTicks, keyTicks;
  torsor::Array<torsor::KeySpan> spans; // scratch of checks

  int32_t kernelCount = 0;
  torsor::PlanKernel kernels[3];
  torsor::PlanPhase phases[TORSOR_MAX_PHASES];
  torsor_plan_info info = {};
  int64_t workers = 0, scratchAt = 0, scratchBytes = 0;

  char *workspace = nullptr; // in use: the host's or our own
  char *own = nullptr;
  int64_t ownBytes = 0;
  char *host = nullptr;
  int64_t hostBytes = 0;

  ~torsor_plan();
  /// Forgets the call, keeps the memory.
  void reset();
};

namespace torsor {

/// Fills a plan whose instance, workers, sequences, tensors and parts stand:
/// chooses kernels, has them plan, joins their phases. No workspace yet.
torsor_status composePlan(torsor_plan &plan, int32_t op, const int64_t *slots,
                          const Storage &storage);

/// torsor_plan_set.
torsor_status setPlan(torsor_plan &plan, const torsor_instance &instance,
                      int32_t op, const torsor_call *call, int64_t workers);

/// The part of a phase that one worker runs.
void runPlan(const torsor_plan &plan, uint32_t phase, int64_t begin,
             int64_t end, int64_t worker);

} // namespace torsor

#endif // TORSOR_RUNTIME_PLAN_H
