// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a kernel (runtime/torsor_kernel.h) in generated code.
#ifndef TORSOR_CODEGEN_CPU_CALL_H
#define TORSOR_CODEGEN_CPU_CALL_H

#include "codegen/cpu/Emitter.h"

#include <functional>

namespace torsor {

/// A torsor_tensor: data and strides, loaded when first asked for.
struct Tensor {
  Pointer data;
  Num address; // of the struct
  bool isNull() const { return !address; }

  Num shape(int64_t axis) const;
  Num stride(int64_t axis) const;
  Num isAbsent() const;
};

/// The index of a token: its element of `indices` [rows, tokens], or
/// `otherwise` where they are absent.
Num tokenIndex(const Tensor &indices, Num row, Num token, Num otherwise);

/// A torsor_sequence.
struct Sequence {
  Num number; // among the sequences of this call
  Num queryRow, queryStart, queryLength;
  Num keyRow, keyStart, keyLength;
  Num queryIndex, keyIndex, total, flags, shift;
  Num batchNumber; // by which inputs per sequence are addressed
  Num scanBase;    // where its running sums begin, in bytes; within walkItems
};

/// torsor_kernel_args.
class Call {
public:
  Call(Emitter &e, Num arguments);

  Num heads, groups, count, flags;
  Pointer workspace, tables;
  Num address() const { return arguments.base; } // of torsor_kernel_args
  /// Bytes of the running sums of a sequence; null without any.
  std::function<Num(const Sequence &)> scanBytes;

  /// Tensor `number` (TORSOR_AT_…) with elements of this type.
  Tensor tensor(int64_t number, mlir::Type element) const;
  Sequence sequence(Num number) const;
  /// slots, parts and part_count, for append and merge.
  Num field(int64_t byteOffset, mlir::Type type) const;

private:
  Emitter &e;
  Pointer arguments;
};

/// Runs `body` for the items begin … end-1 of a phase, where a sequence has
/// `items` of them and takes `bytes` of the workspace; `body` gets the number
/// of the item within its sequence and where the sequence's bytes begin.
void walkItems(Emitter &e, const Call &call, Num begin, Num end,
               llvm::function_ref<Num(const Sequence &)> items,
               llvm::function_ref<Num(const Sequence &)> bytes,
               llvm::function_ref<void(const Sequence &, Num, Num)> body);

/// Sum of `amount` over the sequences.
Num sumSequences(Emitter &e, const Call &call,
                 llvm::function_ref<Num(const Sequence &)> amount);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_CALL_H
