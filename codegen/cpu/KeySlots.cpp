// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the keys of a sequence lie.
#include "codegen/cpu/KeySlots.h"

#include "runtime/torsor_kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cstddef>

namespace scf = mlir::scf;

namespace torsor {

Tensor cacheStream(const Call &call, const Kernel &kernel, int64_t number,
                   mlir::Type element) {
  int64_t before = TORSOR_AT_SCHEME + 2 * kernel.scheme->argumentCount();
  return call.tensor(before + number, element);
}

KeyRun keyRunAt(Emitter &e, const Call &call, const Sequence &sequence,
                Num number, Num end) {
  Num at = sequence.keyStart + number, left = end - number;
  auto word = [&](int64_t offset) { return call.field(offset, e.i64); };
  auto paged = [&]() -> Nums {
    Num page = word(offsetof(torsor_kernel_args, page));
    Pointer pages =
        e.at(call.field(offsetof(torsor_kernel_args, pages), e.pointer), e.i32);
    Num row = pages.load(sequence.keyRow + at / page);
    Num slot = at % page;
    return {e.convert(row, e.i64), slot, min(left, page - slot)};
  };
  auto ring = [&]() -> Nums {
    Num slots = word(offsetof(torsor_kernel_args, page));
    Num pinned = word(offsetof(torsor_kernel_args, pinned));
    Num isPinned = at < pinned;
    Num slot = select(isPinned, at, pinned + (at - pinned) % (slots - pinned));
    Num behind = select(isPinned, pinned, slots);
    return {sequence.keyRow, slot, min(left, behind - slot)};
  };
  auto has = [&](int64_t flag) { return (call.flags & flag) != 0; };
  Nums found = e.choose(
      has(TORSOR_STORAGE_PAGED | TORSOR_STORAGE_RING),
      [&] { return e.choose(has(TORSOR_STORAGE_PAGED), paged, ring); },
      [&]() -> Nums { return {sequence.keyRow, at, left}; });
  return {{found[0], found[1]}, found[2]};
}

Tensor valuesOf(const Call &call, AttentionOp op) {
  mlir::Type element =
      llvm::cast<mlir::MemRefType>(op.getV().getType()).getElementType();
  if (!op.getValueLow())
    return call.tensor(TORSOR_AT_V, element);
  Tensor lanes = call.tensor(TORSOR_AT_K, element);
  lanes.data = lanes.data + int64_t(*op.getValueLow());
  return lanes;
}

KeySlot locateKey(Emitter &e, const Call &call, const Sequence &sequence,
                  Num number) {
  return keyRunAt(e, call, sequence, number, number + 1).first;
}

void forKeyRuns(Emitter &e, const Call &call, const Sequence &sequence,
                Num begin, Num end,
                llvm::function_ref<void(Num, const KeyRun &)> body) {
  // Filled when it stands in the function: its body may ask for the frame.
  auto loop = scf::WhileOp::create(e.b, mlir::TypeRange{begin.type()},
                                   mlir::ValueRange{begin.value});
  mlir::OpBuilder::InsertionGuard guard(e.b);
  mlir::Type type = begin.type();
  mlir::Location loc = e.b.getLoc();
  mlir::Block *before = e.b.createBlock(&loop.getBefore(), {}, type, loc);
  Num isLeft = e.num(before->getArgument(0)) < end;
  scf::ConditionOp::create(e.b, isLeft.value, before->getArguments());
  mlir::Block *after = e.b.createBlock(&loop.getAfter(), {}, type, loc);
  Num number = e.num(after->getArgument(0));
  KeyRun run = keyRunAt(e, call, sequence, number, end);
  body(number, run);
  scf::YieldOp::create(e.b, (number + run.count).value);
}

} // namespace torsor
