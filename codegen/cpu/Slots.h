// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots in memory, their bounds, and the pair regions that read them.
#ifndef TORSOR_CODEGEN_CPU_SLOTS_H
#define TORSOR_CODEGEN_CPU_SLOTS_H

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/TileLayout.h"

namespace torsor {

/// The arguments of `rows`, `columns` or a term at a token.
Nums slotArguments(mlir::Region &region, const TableReader &tables,
                   const Place &place, bool isKey, bool brought);

/// Evaluates `rows` or `columns` at a token: the slots. `brought`: the token is
/// one that the call brings, so that its position stands at the query side.
/// `contents`: its vector, for regions that read it; `special`: what is
/// computed in another way.
Nums emitSlots(mlir::Region &region, const TableReader &tables,
               const Place &place, bool isKey, bool brought,
               const Contents &contents = {}, RegionOps special = nullptr);

/// Products of the keys key … key + lanes - 1, whose vectors lie in scratch,
/// with the rows `index` (a scalar or a vector) of the dot's table.
Num emitKeyDots(const TileContext &c, RowDotOp dot, Num row, Num key,
                Num index);

/// Whether a slot is the same for all heads of a token; `region`: `rows` or
/// `columns`.
bool isSharedByHeads(const Kernel &kernel, mlir::Region &region,
                     unsigned number);

/// Stores a slot (i1 as i32).
void storeSlot(Emitter &e, Pointer to, Num at, Num slot);
/// Reads `lanes` of a slot of type `type`.
Num loadSlot(Emitter &e, Pointer from, Num at, int64_t lanes, mlir::Type type);

/// Results by operation of a region.
using SharedResults = llvm::DenseMap<mlir::Operation *, Num>;

/// What operations of a region give that is the same for all heads; `arguments`
/// are null where they differ. Computed outside of a loop over the heads, for
/// reads of tables are not moved out of loops that store.
SharedResults evaluateShared(mlir::Region &region,
                             llvm::ArrayRef<Num> arguments,
                             const TableReader &tables, const Place &place);

/// What the pairs of a query, whatever its heads, and the keys key … key +
/// lanes - 1 have in common. Where it is read outside of a loop over the heads,
/// what comes of it alone is computed once for all of them.
struct PairArguments {
  PairArguments() = default;
  /// Of the query in row `row`.
  PairArguments(const TileContext &c, Num row, Num key);

  Num i, j;
  Nums rowSlots, columnSlots; // null: another for each head
  /// Of `init` and `logit`.
  SharedResults results;

private:
  void evaluate(const TileContext &c, mlir::Region &region, Num row, Num key);
};

/// Runs a pair region for row `row` and the keys key … key + lanes - 1. With
/// `score`, that is its first argument. Gives its one result, a vector.
/// `paths`: the sums that torsor.path reads.
Num emitPair(const TileContext &c, mlir::Region &region, Num row, Num key,
             Num score = {}, llvm::ArrayRef<Num> paths = {});

/// The keys key … key + lanes - 1 of a pair region.
struct PairKeys {
  Num key;
  Num score = {};
  llvm::ArrayRef<Num> paths = {};
};

/// The results of a pair region for row `row` and some vectors of keys. Each
/// operation is written for all of them before the next: they share what is
/// read of the row, and none waits for another.
llvm::SmallVector<Nums> emitPairs(const TileContext &c, mlir::Region &region,
                                  Num row, llvm::ArrayRef<PairKeys> vectors);

/// Whether the row sees each of the keys key … key + lanes - 1, of `count` in
/// all: padding lies behind the last, or has a negative index.
Num emitSeen(const TileContext &c, Num row, Num key, Num count);

/// What the accumulator starts with: init, or zero.
Num emitStart(const TileContext &c, Num row, Num key);

/// Running low and high of a slot; NaN stays.
struct Bounds {
  Num low, high;
  static Bounds none(Emitter &e, mlir::Type type);
  Bounds with(Num value) const { return join({value, value}); }
  Bounds join(Bounds other) const;
};
/// Bounds of a slot as two words of 8 bytes.
void storeBounds(Emitter &e, Pointer words, int64_t at, Bounds bounds);
Bounds loadBounds(Emitter &e, Pointer words, Num at, mlir::Type type);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SLOTS_H
