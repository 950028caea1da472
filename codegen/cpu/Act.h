// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The action on one row of q or k, as code.
#ifndef TORSOR_CODEGEN_CPU_ACT_H
#define TORSOR_CODEGEN_CPU_ACT_H

#include "codegen/cpu/TableReader.h"

namespace torsor {

/// What acts on a row, and with what.
struct Action {
  llvm::ArrayRef<BlockAttr> blocks; // empty: the row is copied
  bool onQuery = false;
  int64_t width = 0;
  /// Time of the token in a slot.
  llvm::function_ref<Num(int64_t)> time;
  Num gain; // multiplies every lane, if given
};

/// Writes the row at `from` to `to`, acted on and converted. Without gain, and
/// where the types agree, passive lanes are copied bit for bit.
void emitAction(Emitter &e, int64_t lanes, const Action &action,
                const TableReader &tables, const Place &place, Pointer from,
                Pointer to);

/// Whether the keys of a call have the action behind them: cached keys of a
/// contract that stores them so.
Num emitKeysActed(Emitter &e, const Call &call,
                  llvm::ArrayRef<BlockAttr> blocks);

/// The blocks of an array of #torsor.block; reports kinds that have no code.
mlir::FailureOr<llvm::SmallVector<BlockAttr>>
readBlocks(mlir::Operation *op, mlir::ArrayAttr blocks);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_ACT_H
