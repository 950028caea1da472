// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of a scheme: what `bind` makes once per instance and `prepare`
// once per sequence of a call; where they lie and the code that fills them.
#ifndef TORSOR_CODEGEN_CPU_TABLES_H
#define TORSOR_CODEGEN_CPU_TABLES_H

#include "codegen/cpu/Call.h"

#include <optional>
#include <string>

namespace mlir::func {
class FuncOp;
}

namespace torsor {
class InterfaceOp;
class TableAttr;

/// A dense table in memory: its first element, and the extent and stride of
/// each axis, in elements.
struct DenseTable {
  Pointer data;
  Nums extents, strides;
};

/// The tables that `bind` or `prepare` writes, one after another, each aligned
/// to 64 bytes. Prepared tables have a first axis "sequence": as many rows as
/// the call has sequences, the row of a sequence being its place in
/// `sequences`.
class TableLayout {
public:
  /// `filler` is the function that writes them, null if there is none.
  TableLayout(mlir::func::FuncOp filler, bool prepared);

  bool isEmpty() const { return tables.empty(); }
  /// Bytes of all tables, a multiple of 64.
  Num bytes(Emitter &e, Num sequences, Num heads, Num groups) const;
  /// Table `number`, in memory that begins at `base`.
  DenseTable table(Emitter &e, int64_t number, Pointer base, Num sequences,
                   Num heads, Num groups) const;

private:
  struct Entry {
    mlir::Type element;
    llvm::SmallVector<std::string> axes;

    bool isLike(const Entry &other) const {
      return element == other.element && axes == other.axes;
    }
  };
  /// Bytes of the tables that lie before table `number`.
  Num bytesBefore(Emitter &e, int64_t number, Num sequences, Num heads,
                  Num groups) const;
  /// Extents of a table, and its bytes rounded up to 64.
  std::pair<Nums, Num> measure(Emitter &e, const Entry &entry, Num sequences,
                               Num heads, Num groups) const;
  llvm::SmallVector<Entry> tables; // by number
};

/// The functions `bind` and `prepare` of one scheme.
class TableCode {
public:
  TableCode(InterfaceOp interface);

  TableLayout bound, prepared;

  /// Emits the entry points of torsor_variant, `<name>.tables` and
  /// `<name>.bind.entry`, and gives true; false where nothing is bound.
  bool emitBindEntries(Emitter &e, llvm::StringRef name,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes) const;

  /// Emits a call of `prepare` for one sequence; the prepared tables lie at
  /// `memory`. Does nothing where nothing is prepared.
  void emitPrepare(Emitter &e, const Call &call, const Sequence &sequence,
                   Pointer memory) const;

private:
  mlir::func::FuncOp bindFunction() const;
  mlir::func::FuncOp prepareFunction() const;
  mlir::Operation *interface;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_TABLES_H
