// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The action on one row of q or k, as code.
#ifndef TORSOR_CODEGEN_CPU_ACT_H
#define TORSOR_CODEGEN_CPU_ACT_H

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/KeptTurns.h"

namespace torsor {

/// What acts on a row, and with what.
struct Action {
  llvm::ArrayRef<BlockAttr> blocks; // empty: the row is copied
  bool onQuery = false;
  int64_t width = 0;
  /// Time of the token in a slot.
  llvm::function_ref<Num(int64_t)> time;
  Num gain;                         // multiplies every lane, if given
  const RowLanes *around = nullptr; // a norm before, factors by lane behind
  /// Where the time of a block that grows or fades begins (ActSteps.h); null:
  /// such blocks are left out.
  llvm::function_ref<Pointer(BlockAttr)> anchor = nullptr;
  /// What a block acts with (emitFactors), where it is known; null: not.
  llvm::function_ref<Pointer(BlockAttr)> known = nullptr;
  /// Other blocks, the norm and the factors are left out.
  bool isAnchoredOnly = false;
  /// Null: phases are computed for each row.
  const KeptTurns *turns = nullptr;
  /// The lanes from `copyBegin` to before `copyEnd` (-1: the width) are written
  /// even where no block takes them.
  int64_t copyBegin = 0, copyEnd = -1;
};

/// Writes the row at `from` to `to`, acted on and converted. Without gain, and
/// where the types agree, passive lanes are copied bit for bit.
void emitAction(Emitter &e, int64_t lanes, const Action &action,
                const TableReader &tables, const Place &place, Pointer from,
                Pointer to);

/// Acts on a row of v with `value_blocks` at the key's times and writes it to
/// `to`; with `undo` on a row of the output, in place, at the query's.
void emitValueAction(Emitter &e, int64_t lanes,
                     llvm::ArrayRef<BlockAttr> blocks, int64_t width,
                     llvm::function_ref<Num(int64_t)> time,
                     const TableReader &tables, const Place &place, bool undo,
                     Pointer from, Pointer to);

/// Whether the keys of a call have the action behind them: cached keys of a
/// contract that stores them so.
Num emitKeysActed(Emitter &e, const Kernel &kernel, const Call &call,
                  llvm::ArrayRef<BlockAttr> blocks);

/// The blocks of an array of #torsor.block; reports kinds that have no code.
mlir::FailureOr<llvm::SmallVector<BlockAttr>>
readBlocks(mlir::Operation *op, mlir::ArrayAttr blocks);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ACT_H
