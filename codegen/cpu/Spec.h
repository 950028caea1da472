// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel-level function asks for, in the form the emitters use.
#ifndef TORSOR_CODEGEN_CPU_SPEC_H
#define TORSOR_CODEGEN_CPU_SPEC_H

#include "codegen/Target.h"
#include "codegen/cpu/Tables.h"
#include "dialect/TorsorDialect.h"

namespace torsor {

/// What all kernels of a scheme share.
struct Scheme {
  explicit Scheme(InterfaceOp interface);

  InterfaceOp interface;
  TableCode tables;
  /// Number of the argument `pos`, -1 without one.
  int64_t position;

  int64_t argumentCount() const;
  FieldAttr argument(int64_t number) const;
  /// Number of the argument of that name, or -1.
  int64_t find(llvm::StringRef name) const;
};

/// A table operand of a kernel.
struct Table {
  TableAttr info;
  mlir::Type element;
  mlir::Value operand;
};

/// Whether a table has values for each place on an axis: "H", "G", …
bool hasAxis(const Table &table, llvm::StringRef axis);

/// One kernel of a scheme for one target.
struct Kernel {
  const Scheme *scheme;
  const Target *target;
  std::string planName, runName;
  llvm::SmallVector<Table> tables;
  /// Running sums that are made before, by number.
  llvm::SmallVector<ScanOp> scans;
  /// Reads none of the tables of `prepare`, which is not called for it.
  bool isUnprepared = false;
  /// Running sums are those of new keys, and go to the cache.
  bool appends = false;

  /// Whether a phase `prepare` comes first.
  bool hasPrepare() const {
    return !isUnprepared && !scheme->tables.prepared.isEmpty();
  }

  /// The table that is this operand, or null.
  const Table *find(mlir::Value operand) const;
};

/// Reads the tables of an operation.
llvm::SmallVector<Table> readTables(mlir::ValueRange operands,
                                    mlir::ArrayAttr info);

/// The types that the terminator of a region yields.
llvm::SmallVector<mlir::Type> yieldedTypes(mlir::Region &region);

/// Width and storage type of q, k, v or o.
int64_t widthOf(mlir::Value memref);
mlir::Type elementOf(mlir::Value memref);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SPEC_H
