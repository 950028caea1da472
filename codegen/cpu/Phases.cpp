// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a kernel that the runtime calls.
#include "codegen/cpu/Phases.h"

#include "codegen/cpu/AppendSums.h"
#include "codegen/cpu/Contents.h"
#include "codegen/cpu/Scan.h"
#include "runtime/torsor_kernel.h"

#include <cstddef>

using namespace mlir;

namespace torsor {

SmallVector<NamedAttribute> targetAttributes(Emitter &e, const Target &target) {
  auto pair = [&](StringRef name, StringRef value) -> Attribute {
    return e.b.getArrayAttr(
        {e.b.getStringAttr(name), e.b.getStringAttr(value)});
  };
  SmallVector<Attribute> attributes = {pair("target-cpu", target.cpu)};
  if (!target.features.empty())
    attributes.push_back(pair("target-features", target.features));
  std::string bits = std::to_string(32 * target.lanes);
  attributes.push_back(pair("min-legal-vector-width", bits));
  attributes.push_back(pair("prefer-vector-width", bits));
  attributes.push_back(e.b.getStringAttr("nounwind"));
  return {e.b.getNamedAttr("passthrough", e.b.getArrayAttr(attributes))};
}

Num preparedBytes(Emitter &e, const Kernel &kernel, const Call &call) {
  Num prepared = preparedTableBytes(e, kernel, call);
  if (!call.scanBytes)
    return prepared;
  return prepared + sumSequences(e, call, call.scanBytes);
}

/// The call of a kernel's function.
static Call readCall(Emitter &e, const Kernel &kernel, Num arguments) {
  Call call(e, arguments);
  if (!kernel.scans.empty() && !kernel.appends)
    call.scanBytes = [&e, &kernel, plain = call](const Sequence &sequence) {
      return scanBytes(e, kernel, plain, sequence);
    };
  return call;
}

void emitInnerFunction(Emitter &e, const Kernel &kernel, StringRef name,
                       ArrayRef<Type> arguments,
                       function_ref<void(const Call &, ArrayRef<Num>)> body) {
  SmallVector<Type> all = {e.pointer};
  llvm::append_range(all, arguments);
  e.function(name, all, Type(), targetAttributes(e, *kernel.target),
             /*isPrivate=*/true, [&](ArrayRef<Num> arguments) -> Num {
               body(readCall(e, kernel, arguments[0]), arguments.drop_front());
               return Num();
             });
}

void emitPlanFunction(Emitter &e, const Kernel &kernel,
                      function_ref<PlanEntry(const Call &)> entry) {
  e.function(
      kernel.planName, {e.pointer, e.pointer}, Type(),
      targetAttributes(e, *kernel.target), /*isPrivate=*/true,
      [&](ArrayRef<Num> arguments) -> Num {
        Call call = readCall(e, kernel, arguments[0]);
        PlanEntry plan = entry(call);
        if (!kernel.scans.empty())
          plan.items.insert(plan.items.begin(), scanItems(e, kernel, call));
        if (kernel.hasPrepare())
          plan.items.insert(plan.items.begin(), call.count);
        Pointer bytes = e.at(arguments[1], e.i8);
        auto field = [&](int64_t offset, Num value) {
          bytes.bytes(offset).as(value.type()).store(0, value);
        };
        field(offsetof(torsor_kernel_plan, phases),
              e.constant(e.i32, int64_t(plan.items.size())));
        for (auto [n, items] : llvm::enumerate(plan.items))
          field(offsetof(torsor_kernel_plan, items) + 8 * n, items);
        field(offsetof(torsor_kernel_plan, workspace_bytes),
              preparedBytes(e, kernel, call) + plan.workspaceBytes);
        field(offsetof(torsor_kernel_plan, scratch_bytes),
              e.match(plan.scratchBytes, e.i64));
        field(offsetof(torsor_kernel_plan, flops), plan.flops);
        field(offsetof(torsor_kernel_plan, read_bytes), plan.readBytes);
        field(offsetof(torsor_kernel_plan, written_bytes), plan.writtenBytes);
        return Num();
      });
}

/// Runs `body` with subnormal numbers as 0, in operands and results: a
/// processor may take a hundred cycles for each, and what fades passes through
/// them.
static void withoutSubnormals(Emitter &e, function_ref<void()> body) {
  Pointer kept = frameSlots(e, e.i32, 2), ours = kept + 1;
  e.call("llvm.x86.sse.stmxcsr", Type(), {kept.base});
  constexpr int64_t flushToZero = 1 << 15, denormalsAreZero = 1 << 6;
  ours.store(0, kept.load(0) | (flushToZero | denormalsAreZero));
  e.call("llvm.x86.sse.ldmxcsr", Type(), {ours.base});
  body();
  e.call("llvm.x86.sse.ldmxcsr", Type(), {kept.base});
}

void emitRunFunction(Emitter &e, const Kernel &kernel,
                     ArrayRef<PhaseBody> bodies) {
  e.function(
      kernel.runName, {e.pointer, e.pointer, e.i32, e.i64, e.i64, e.pointer},
      Type(), targetAttributes(e, *kernel.target), /*isPrivate=*/true,
      [&](ArrayRef<Num> arguments) -> Num {
        Call call = readCall(e, kernel, arguments[0]);
        Num phase = arguments[2], begin = arguments[3], end = arguments[4];
        Pointer scratch = e.at(arguments[5], e.i8);
        int64_t number = 0;
        if (kernel.hasPrepare())
          e.when(phase == number++, [&] {
            e.loop(begin, end, 1, [&](Num item) {
              kernel.scheme->tables.emitPrepare(e, call, call.sequence(item),
                                                call.workspace);
            });
          });
        if (!kernel.scans.empty())
          e.when(phase == number++, [&] {
            (kernel.appends ? emitAppendSums : emitScans)(e, kernel, call,
                                                          begin, end);
          });
        for (PhaseBody body : bodies)
          e.when(phase == number++, [&] {
            withoutSubnormals(e, [&] { body(call, begin, end, scratch); });
          });
        return Num();
      });
}

} // namespace torsor
