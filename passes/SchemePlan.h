// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme as kernels are formed from it: its terms, arguments and tables.
#ifndef TORSOR_PASSES_SCHEMEPLAN_H
#define TORSOR_PASSES_SCHEMEPLAN_H

#include "passes/ActionForm.h"
#include "passes/PlanBlocks.h"
#include "passes/VariesBy.h"

#include "mlir/IR/BuiltinOps.h"

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace torsor {

/// The clocks, inputs and params of a scheme, numbered as a call gives them.
class SchemeArguments {
public:
  explicit SchemeArguments(SchemeOp scheme);

  llvm::ArrayRef<mlir::Operation *> getAll() const { return all; }
  int64_t getNumber(mlir::Operation *declaration) const;
  /// `#torsor.table<argument n, ...>` and the memref that a kernel gets.
  TableAttr getInfo(mlir::Operation *declaration, bool key) const;
  mlir::MemRefType getMemref(mlir::Operation *declaration) const;
  /// The declaration of the clock "pos".
  ClockOp getPosition() const { return position; }

  static llvm::StringRef getName(mlir::Operation *declaration);

private:
  llvm::SmallVector<mlir::Operation *> all;
  ClockOp position;
};

/// A table that `bind` or `prepare` writes: scalars that are the same for all
/// tokens, per head or per group where they vary by it.
struct FilledTable {
  /// How an element is stored. Turns: a frequency in radians, as turns times
  /// 2^64; TurnsReal: as turns in f64; where phases are rounded as other
  /// libraries do, it is a Real32.
  enum class Kind { Real32, Real64, Integer, Truth, Turns, TurnsReal };

  bool perSequence = false;
  int64_t number = 0;
  Kind kind = Kind::Real64;
  /// Scheme-level scalars, one for each element of the last axis.
  llvm::SmallVector<mlir::Value> elements;
  /// The table has a last axis, even of one element.
  bool isList = false;
  /// The axis "H" or "G"; empty: none.
  llvm::StringRef axis;
  TableAttr info;
  mlir::MemRefType type;
};

/// All such tables of a scheme, each written once however many kernels ask.
class FilledTables {
public:
  explicit FilledTables(mlir::MLIRContext *context) : context(context) {}

  /// Table of `elements`, which vary by `set`. On the side of keys the only
  /// axis is "G"; on that of queries it is "H".
  const FilledTable &request(llvm::ArrayRef<mlir::Value> elements, bool isList,
                             FilledTable::Kind kind, VarySet set, bool key);

  llvm::SmallVector<const FilledTable *> get(bool perSequence) const;

private:
  mlir::MLIRContext *context;
  std::deque<FilledTable> tables;
};

/// What is known of one scheme while its kernels are formed.
struct SchemePlan {
  SchemePlan(SchemeOp scheme)
      : scheme(scheme), arguments(scheme), varies(scheme),
        tables(scheme.getContext()) {}

  SchemeOp scheme;
  SchemeArguments arguments;
  VariesBy varies;
  FilledTables tables;
  /// Tables of constant vectors, by the vector.
  llvm::DenseMap<mlir::Value, const FilledTable *> lists;
  /// Scalars for frequencies, by their value.
  std::map<double, mlir::Value> constants;
  int64_t head = 0, value = 0;
  mlir::Type q, k, v, o;
  /// Phases are rounded as other libraries round them.
  bool f32Reference = false;
  ActionForm action;
  llvm::SmallVector<PlannedBlock> blocks;
  /// Cached keys lie as they come: the key side depends on what may change
  /// between calls. Why, for people; empty: they lie acted on.
  bool keysActed = false;
  std::string whyRaw;

  /// Null where absent. `scale` multiplies q; `init`, `logit` (an expression of
  /// the score that reaches it) and `sink` are in log2 units.
  mlir::Value mask, scale, init, logit, sink;
  std::optional<double> constantScale;
};

} // namespace torsor

#endif // TORSOR_PASSES_SCHEMEPLAN_H
