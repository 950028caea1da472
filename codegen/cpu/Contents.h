// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of tokens beside the action: norms, factors by lane, and dot
// products with rows of tables.
#ifndef TORSOR_CODEGEN_CPU_CONTENTS_H
#define TORSOR_CODEGEN_CPU_CONTENTS_H

#include "codegen/cpu/Regions.h"

namespace torsor {

/// What stands around the action of a row of q or k.
struct RowLanes {
  NormAttr norm;        // before it; null: none
  int64_t weights = -1; // table of the norm's weights
  int64_t gains = -1;   // table of factors behind it
  bool isEmpty() const { return !norm && gains < 0; }
};
RowLanes queryLanes(AttentionOp op);
RowLanes keyLanes(AttentionOp op);
RowLanes keyLanes(AppendOp op);

/// Memory of the function's frame, for code in loops too.
Pointer frameSlots(Emitter &e, mlir::Type element, int64_t count);

/// Lane n is the sum of vector n; as many vectors as lanes.
Num sumAcross(Emitter &e, Nums vectors);

/// Writes the row at `from`, divided by its norm and weighted, to `to` (f32);
/// without a norm it is copied.
void emitNormed(const RowLanes &around, const TableReader &tables,
                const Place &place, int64_t width, Pointer from, Pointer to);
/// Multiplies the f32 row at `from` lane by lane and converts it to `to`.
void emitLaneGains(const RowLanes &around, const TableReader &tables,
                   const Place &place, int64_t width, Pointer from, Pointer to);

/// The vector of a token, after the norm and before the action.
struct Contents {
  Pointer row;
  int64_t width = 0;
};

/// An operation of `rows` or `columns` that reads the token's vector; null for
/// others. Without a vector what it gives is of no use, but can be computed.
Num emitContentOp(mlir::Operation &op, llvm::ArrayRef<Num> operands,
                  const TableReader &tables, const Place &place,
                  const Contents &contents);

/// Dot product of a vector with row `row` of a table of rows.
Num emitRowDot(const TableReader &tables, const Place &place,
               const Table &table, Num row, int64_t count,
               const Contents &contents);

/// A table whose products with each token's vector pairs read.
struct ProductTable {
  Side side;
  mlir::Value table;
  int64_t rows, padded; // padded: as the table is, to whole vectors
  /// Vectors that hold its rows.
  int64_t vectors(int64_t lanes) const { return (rows + lanes - 1) / lanes; }
};
/// The tables whose products a kernel tabulates.
llvm::SmallVector<ProductTable, 2> productTables(AttentionOp op);

/// Writes the products of `rows` vectors with the rows of a table by lanes,
/// from its vector `first` to before `end`. Each vector lies `apart` vectors
/// behind the one before, the first at `contents`, and its products `apart`
/// times `padded` behind the other's.
void emitProducts(const TableReader &tables, const Place &place,
                  const ProductTable &product, const Contents &contents,
                  int64_t rows, Num apart, Num first, Num end, Pointer to);

/// Elements at `index` (a scalar or a vector of `lanes`) of `from`, the lane's
/// own row `stride` elements further on; indices lie in 0 ... count - 1 or are
/// clamped. Runs of equal or falling indices cost one load.
Num emitPick(Emitter &e, Pointer from, Num index, int64_t count, int64_t lanes,
             int64_t stride);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_CONTENTS_H
