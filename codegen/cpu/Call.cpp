// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a kernel in generated code.
#include "codegen/cpu/Call.h"

#include "runtime/torsor_kernel.h"

#include <cstddef>

namespace torsor {

Num Tensor::shape(int64_t axis) const {
  Emitter &e = *address.e;
  return e.at(address, e.i64)
      .bytes(int64_t(offsetof(torsor_tensor, shape)))
      .load(axis);
}

Num Tensor::stride(int64_t axis) const {
  Emitter &e = *address.e;
  return e.at(address, e.i64)
      .bytes(int64_t(offsetof(torsor_tensor, strides)))
      .load(axis);
}

Num Tensor::isAbsent() const { return data.base == data.base.e->null(); }

Num tokenIndex(const Tensor &indices, Num row, Num token, Num otherwise) {
  Emitter &e = *row.e;
  return e.choose(
      indices.isAbsent(), [&]() -> Nums { return {otherwise}; },
      [&]() -> Nums {
        return {indices.data.load(row * indices.stride(0) +
                                  token * indices.stride(1))};
      })[0];
}

Call::Call(Emitter &e, Num arguments) : e(e), arguments(e.at(arguments, e.i8)) {
  heads = field(offsetof(torsor_kernel_args, heads), e.i64);
  groups = field(offsetof(torsor_kernel_args, groups), e.i64);
  count = field(offsetof(torsor_kernel_args, count), e.i64);
  flags = field(offsetof(torsor_kernel_args, flags), e.i32);
  workspace =
      e.at(field(offsetof(torsor_kernel_args, workspace), e.pointer), e.i8);
  tables = e.at(field(offsetof(torsor_kernel_args, tables), e.pointer), e.i8);
}

Num Call::field(int64_t byteOffset, mlir::Type type) const {
  return (arguments + byteOffset).as(type).load(0);
}

Tensor Call::tensor(int64_t number, mlir::Type element) const {
  Num all = field(offsetof(torsor_kernel_args, tensors), e.pointer);
  Num address =
      e.at(all, e.i8).bytes(number * int64_t(sizeof(torsor_tensor))).base;
  return {{e.at(address, e.pointer).load(0), element}, address};
}

Sequence Call::sequence(Num number) const {
  Num all = field(offsetof(torsor_kernel_args, sequences), e.pointer);
  Pointer words = e.at(all, e.i64) + number * 12;
  auto word = [&](int64_t n) { return words.load(n); };
  return {number,  word(0), word(1), word(2), word(3),  word(4), word(5),
          word(6), word(7), word(8), word(9), word(10), word(11)};
}

void walkItems(Emitter &e, const Call &call, Num begin, Num end,
               llvm::function_ref<Num(const Sequence &)> items,
               llvm::function_ref<Num(const Sequence &)> bytes,
               llvm::function_ref<void(const Sequence &, Num, Num)> body) {
  Num zero = e.index(0);
  e.loop(0, call.count, 1, {zero, zero, zero},
         [&](Num number, llvm::ArrayRef<Num> carried) -> Nums {
           Sequence sequence = call.sequence(number);
           sequence.scanBase = carried[2];
           Num first = carried[0], base = carried[1];
           Num behind = first + items(sequence);
           e.loop(max(begin, first) - first, min(end, behind) - first, 1,
                  [&](Num item) { body(sequence, item, base); });
           Num scans = call.scanBytes ? call.scanBytes(sequence) : zero;
           return {behind, base + bytes(sequence), carried[2] + scans};
         });
}

Num sumSequences(Emitter &e, const Call &call,
                 llvm::function_ref<Num(const Sequence &)> amount) {
  return e.loop(0, call.count, 1, {e.index(0)},
                [&](Num number, llvm::ArrayRef<Num> carried) -> Nums {
                  return {carried[0] + amount(call.sequence(number))};
                })[0];
}

} // namespace torsor
