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
  /// Axes behind the others that loops fill from one element: how many, and
  /// the value in the element that stands for the number.
  llvm::SmallVector<std::pair<int64_t, mlir::Value>, 2> loops;
  /// The table has a last axis, even of one element.
  bool isList = false;
  /// Of n rows and 2 n lanes in f64: a square table and the unit matrix beside
  /// it, in whose place its inverse then stands.
  bool isInverted = false;
  /// The elements are those of the inverse in such a table, transposed.
  const FilledTable *inverse = nullptr;
  /// The axis "H" or "G"; empty: none.
  llvm::StringRef axis;
  TableAttr info;
  mlir::MemRefType type;
};

/// All such tables of a scheme, each written once however many kernels ask.
class FilledTables {
public:
  explicit FilledTables(mlir::MLIRContext *context) : context(context) {}

  /// Table of `elements`, which vary by `set`. On the side of keys the axis is
  /// "G" unless they vary by the query head; on that of queries it is "H".
  const FilledTable &request(llvm::ArrayRef<mlir::Value> elements, bool isList,
                             FilledTable::Kind kind, VarySet set, bool key);

  /// A table of f32 whose last axes are `loops`.
  const FilledTable &
  request(llvm::ArrayRef<std::pair<int64_t, mlir::Value>> loops,
          mlir::Value element, VarySet set, bool key);

  /// The transposed inverse, in f32, of the n x n table with this element.
  const FilledTable &requestInverse(int64_t n, mlir::Value row,
                                    mlir::Value lane, mlir::Value element);

  llvm::SmallVector<const FilledTable *> get(bool perSequence) const;

private:
  FilledTable &add(FilledTable::Kind kind, VarySet set, llvm::StringRef axis,
                   llvm::ArrayRef<int64_t> extents);

  mlir::MLIRContext *context;
  std::deque<FilledTable> tables;
};

/// A running sum that some time reads: its terms at the key token. Or, without
/// a clock, one number of each key, which kernels read in place of its vector.
struct PlannedScan {
  RunningOp clock;
  llvm::SmallVector<mlir::Value> terms; // one for each member
  /// The terms are fixed when their token is appended, so that a cache holds
  /// the sums; else it holds what they read.
  bool isStored = true;

  bool isSum() const { return bool(clock); }
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
  /// v is a part of the key: its lanes from here on; -1: it is not.
  int64_t valueLow = -1;
  /// Those lanes of acted keys have the action on v behind them, too.
  bool valuesActed = false;
  mlir::Type q, k, v, o;
  /// Phases are rounded as other libraries round them.
  bool f32Reference = false;
  ActionForm action;
  /// One list for each way the choices of the action fall, and the number of
  /// the one that a pair takes (i64; null where there is one). `blocks`: all.
  llvm::SmallVector<PlannedBranch> branches;
  mlir::Value branchNumber;
  PlannedBranch blocks;
  /// What acts on values, undone by the query on the output.
  ValueActionOp valueAction;
  ActionForm valueForm;
  PlannedBranch valueBlocks;
  llvm::SmallVector<PlannedScan> scans;
  /// The key side differs between the query heads of a group: keys are packed
  /// and acted on once for each head.
  bool keysByHead = false;
  /// Column slots differ between the query heads of a group, but no block reads
  /// one that does.
  bool slotsByHead = false;
  /// Cached keys lie as they come: the key side depends on what may change
  /// between calls. Why, for people; empty: they lie acted on.
  bool keysActed = false;
  std::string whyRaw;
  /// Why cached keys cannot be moved to other positions; empty: they can.
  std::string whyNoRebase;

  /// A function of the key token, and of the query head where keys differ by
  /// it: it can be a column slot.
  bool isColumn(VarySet set) const {
    bool byHead = keysByHead || slotsByHead;
    return (byHead ? set.without(VarySet::Head) : set).isColumn();
  }
  /// The axis of heads, of query heads "H" or key heads "G", for each of which
  /// there is a sum; empty: there is one for all.
  llvm::StringRef axisOf(const PlannedScan &scan) {
    VarySet set;
    for (mlir::Value term : scan.terms)
      set = set | varies.of(term);
    bool byKey = !scan.isSum() || set.has(VarySet::Group);
    return set.has(VarySet::Head) ? "H" : byKey ? "G" : "";
  }
  /// The name of its stream in a cache.
  std::string nameOf(const PlannedScan &scan) const {
    if (scan.isSum())
      return RunningOp(scan.clock).getName().str();
    int64_t sums = llvm::count_if(
        scans, [](const PlannedScan &each) { return each.isSum(); });
    return "k." + std::to_string(&scan - scans.begin() - sums);
  }
  /// The number of the scan that sums this clock; -1 for others.
  int64_t scanOf(mlir::Operation *clock) const {
    for (auto [n, scan] : llvm::enumerate(scans))
      if (scan.isSum() && scan.clock == clock)
        return n;
    return -1;
  }
  /// The number of the scan that is this value of a key; -1 for others.
  int64_t keptAs(mlir::Value value) const {
    for (auto [n, scan] : llvm::enumerate(scans))
      if (!scan.isSum() && scan.terms.front() == value)
        return n;
    return -1;
  }

  /// What divides q and k before the action; weights by lane, empty without.
  NormOp norm;
  llvm::SmallVector<mlir::Value> normQ, normK;
  /// Factors by lane behind the action, empty without.
  llvm::SmallVector<mlir::Value> gainQ, gainK;
  /// z is the weight of v; what the sum of z is turned into for the division.
  bool linear = false;
  mlir::Value divisor;
  /// The vector added to v: row `valueRow` of `valueRows`, whose element is
  /// given by the placeholders of row and lane.
  mlir::Value valueRow, valueElement, valuePlaceRow, valuePlaceLane;
  int64_t valueRows = 0;
  /// What is added to the embedding of a token; the value in it that stands for
  /// the lane, or no value and all lanes.
  llvm::SmallVector<mlir::Value> encoding;
  mlir::Value encodingLane;
  /// Sums over paths, by number.
  llvm::SmallVector<PathTotalOp> paths;

  /// Null where absent. `scale` multiplies q; `init`, `logit` (an expression of
  /// the score that reaches it) and `sink` are in log2 units.
  mlir::Value mask, scale, init, logit, sink;
  std::optional<double> constantScale;
};

/// Is the value computed from an operation that `which` holds of?
bool readsAny(mlir::Value root,
              llvm::function_ref<bool(mlir::Operation *)> which);
/// Is it computed from a clock whose times at a token may change?
bool isMoving(mlir::Value value);

} // namespace torsor

#endif // TORSOR_PASSES_SCHEMEPLAN_H
