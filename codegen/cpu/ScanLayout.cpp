// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the running sums of a kernel lie.
#include "codegen/cpu/ScanLayout.h"

#include "codegen/cpu/KeySlots.h"
#include "codegen/cpu/Regions.h"
#include "runtime/torsor_kernel.h"

using namespace mlir;

namespace torsor {

Num areSumsStored(Emitter &e, ScanOp op, const Call &call) {
  if (!op.getStream())
    return e.constant(e.i1, int64_t(0));
  return (call.flags & TORSOR_KEYS_ACTED) != 0;
}

Tensor sumStream(Emitter &e, const Kernel &kernel, const Call &call, ScanOp op,
                 bool next) {
  std::string name = (*op.getStream() + (next ? ".next" : "")).str();
  InterfaceOp interface = kernel.scheme->interface;
  int64_t number = 0;
  for (auto field : interface.getStreams().getAsRange<FieldAttr>()) {
    if (field.getName() == name)
      break;
    ++number;
  }
  return cacheStream(call, kernel, number, e.f64);
}

ScanLayout::ScanLayout(Emitter &e, ScanOp op, const Call &call,
                       const Sequence &sequence)
    : members(yieldedTypes(op.getTerm()).size()), exclusive(op.getExclusive()),
      byHead(op.getByHead()), byGroup(op.getByGroup()),
      heads(byHead    ? call.heads
            : byGroup ? call.groups
                      : e.index(1)),
      queryHeads(byHead || byGroup ? call.heads : e.index(1)) {
  Num stored = areSumsStored(e, op, call);
  term = select(stored, 0, (sequence.keyLength + 1) * members);
  perHead = select(stored, 0, term + sequence.keyLength * members);
  query = perHead * heads;
  perQueryHead = sequence.queryLength * members;
}

Num scanOffset(Emitter &e, const Kernel &kernel, const Call &call,
               const Sequence &sequence, int64_t number) {
  Num offset = e.index(0);
  for (ScanOp op : ArrayRef<ScanOp>(kernel.scans).take_front(number))
    offset = offset + ScanLayout(e, op, call, sequence).words();
  return offset;
}

} // namespace torsor
