// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of a kernel while they grow: row and column slots, and the pair
// regions that read them.
#ifndef TORSOR_PASSES_KERNELREGIONS_H
#define TORSOR_PASSES_KERNELREGIONS_H

#include "passes/ScalarCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Region.h"

namespace torsor {

/// The type in which a kernel reads an element stored as `storage`.
mlir::Type readType(mlir::Type storage);
/// Says the declared range of a clock or tensor on what reads it.
void copyRange(mlir::Operation *declaration, mlir::Operation *read);
/// The table of a torsor.tabulated.
const FilledTable &tableOf(SchemePlan &plan, TabulatedOp op, bool key);
/// The table of a torsor.table_dot, by rows or by lanes.
const FilledTable &tableOf(SchemePlan &plan, TableDotOp op, bool byLane);
/// The table that holds a constant vector; null if the vector is none.
const FilledTable *constantTable(SchemePlan &plan, ElementOp op);

/// A kernel's function while tables become its arguments.
class KernelFunction {
public:
  KernelFunction(mlir::func::FuncOp function) : function(function) {}

  /// The argument that is the table, added when first asked for.
  mlir::Value table(TableAttr info, mlir::MemRefType type);
  /// The element of a filled table for this sequence and head; `last` is the
  /// index on its last axis, null for the first.
  mlir::Value lookup(mlir::OpBuilder &b, mlir::Location loc,
                     const FilledTable &table, mlir::Value sequence,
                     mlir::Value head, mlir::Value last);
  /// Of few queries: no table of all products of a key.
  bool isDecode() const {
    auto name = function->getAttrOfType<mlir::StringAttr>("torsor.operation");
    return name && name.getValue() == "decode";
  }
  /// The number of an argument among the tables.
  int64_t number(mlir::Value table) const;

  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> tables;
  llvm::SmallVector<mlir::Attribute> info;
};

/// Code of a region that computes slots of one side, in f64 and i64:
/// rows(i, s, h, b, n) or columns(j, t, g, b, n), with h behind where keys
/// differ by the query head.
class SideCode : public ScalarCode {
public:
  /// `byHead`: keys' code that knows the query head, as a last argument.
  SideCode(SchemePlan &plan, KernelFunction &kernel, Side side,
           mlir::Block *block, mlir::Location loc, bool byHead = false);

  /// The slot that holds `value` as `type`; -1 after an error.
  int64_t slot(mlir::Value value, mlir::Type type);
  /// The slots of an f64 rounded to f32, and of what is left (0 beside an
  /// infinity).
  int64_t halfSlot(mlir::Value value, bool low);
  /// Ends the region with its slots.
  void finish();

  struct Slot {
    mlir::Value scheme;
    mlir::Value here;
    int half = 0; // 1: the upper half of an f64, 2: the lower one
  };
  llvm::SmallVector<Slot> slots;

  /// Per-token tensors stand at the query side though this is the key's code:
  /// new tokens of an append are addressed as queries.
  bool isAddressedAsQuery = false;
  /// What a cache keeps of a key is read, not computed from its vector.
  bool readsKept = false;

  /// A lookup of a filled table for this head or group and sequence.
  mlir::Value lookup(const FilledTable &table, mlir::Value last = {});

protected:
  mlir::FailureOr<mlir::Value> leaf(mlir::Value value) override;
  mlir::Value read(ReadOp op, mlir::ValueRange indices) override;
  mlir::Value pick(ElementOp op, mlir::Value index) override;

private:
  /// What was lifted out of pairs; null for other operations.
  mlir::FailureOr<mlir::Value> lifted(mlir::Operation *op);
  bool isKey() const { return side == Side::Key; }
  bool readsKeySide() const { return isKey() && !isAddressedAsQuery; }

  mlir::Value scanned(mlir::Location loc, int64_t scan, int64_t member);

  KernelFunction &kernel;
  Side side;
  mlir::Value token, position, head, sequence, length;
  /// The query head: that of a row, or of a key where keys differ by it.
  mlir::Value queryHead;
};

/// All regions of one kernel.
class KernelRegions {
public:
  KernelRegions(SchemePlan &plan, KernelFunction &kernel, mlir::Location loc);

  SchemePlan &plan;
  KernelFunction &kernel;
  mlir::Location loc;
  mlir::Region rowRegion, columnRegion;
  SideCode rows, columns;
};

/// Code of a region over pairs: i and j as i32, then every slot; reals in f32
/// but where two wide ones are subtracted.
class PairCode : public ScalarCode {
public:
  /// `before`: types of arguments in front of i and j (the score of `logit`).
  PairCode(KernelRegions &regions, mlir::Block *block, mlir::Location loc,
           mlir::TypeRange before = {});

  /// Ends the region with values of `type`.
  bool yield(mlir::ValueRange values, mlir::Type type);
  /// Gives the region its final arguments: all slots, in order.
  void finish();

  /// What stands for `torsor.ambient score`.
  mlir::Value score;

protected:
  mlir::FailureOr<mlir::Value> leaf(mlir::Value value) override;
  mlir::Value read(ReadOp op, mlir::ValueRange indices) override;
  mlir::Value pick(ElementOp op, mlir::Value index) override;
  mlir::Type realType(mlir::Operation *op) override;

private:
  /// What was lifted out of pairs; null for other operations.
  mlir::FailureOr<mlir::Value> lifted(mlir::Operation *op);
  mlir::Value queryHead();
  mlir::Value slotArgument(Side side, int64_t slot);
  /// A difference of f64 of both sides that only products read, in f32: the
  /// upper halves of near numbers subtract without error.
  mlir::FailureOr<mlir::Value> nearDifference(mlir::Value value);
  /// A real whose difference from another loses too much in f32.
  bool isWide(mlir::Value value, int depth = 0);

  KernelRegions &regions;
  mlir::Block *block;
  unsigned fixed;
  llvm::DenseMap<std::pair<int, int64_t>, mlir::BlockArgument> taken;
  llvm::DenseMap<mlir::Value, bool> wide;
};

/// divide(sum, row slots): what depends on the sum of a row's terms.
class RowCode : public ScalarCode {
public:
  RowCode(KernelRegions &regions, mlir::Block *block, mlir::Location loc);

  bool yield(mlir::Value value);
  /// Gives the region its final arguments: all row slots, in order.
  void finish();

protected:
  mlir::FailureOr<mlir::Value> leaf(mlir::Value value) override;
  mlir::Value read(ReadOp op, mlir::ValueRange indices) override;
  mlir::Value pick(ElementOp op, mlir::Value index) override;
  mlir::Type realType(mlir::Operation *op) override {
    return builder().getF32Type();
  }

private:
  KernelRegions &regions;
  mlir::Block *block;
  mlir::Value total;
  llvm::DenseMap<int64_t, mlir::BlockArgument> taken;
};

/// toeplitz(age, h, b, n): a start that depends on i - j alone.
class AgeCode : public ScalarCode {
public:
  AgeCode(SchemePlan &plan, KernelFunction &kernel, mlir::Block *block,
          mlir::Location loc);

  bool yield(mlir::Value value);

  /// Whether some age is one of positions.
  bool readsPositions = false;

protected:
  mlir::FailureOr<mlir::Value> leaf(mlir::Value value) override;
  mlir::Value read(ReadOp op, mlir::ValueRange indices) override;
  mlir::Value pick(ElementOp op, mlir::Value index) override;

private:
  mlir::Value lookup(const FilledTable &table, mlir::Value last = {});

  KernelFunction &kernel;
  mlir::Value age, head, sequence, length;
};

/// Is an integer of the scheme `factor * (i - j) + offset`, with indices or,
/// `byPosition`, with positions?
struct AgeForm {
  int64_t factor = 0, offset = 0;
  bool byPosition = false;
};
std::optional<AgeForm> ageForm(mlir::Value value);

/// Does `value` depend on tokens only through ages?
bool isToeplitz(SchemePlan &plan, mlir::Value value);

} // namespace torsor

#endif // TORSOR_PASSES_KERNELREGIONS_H
