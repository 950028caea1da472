// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading tables in generated code: arguments, and what bind and prepare wrote.
#ifndef TORSOR_CODEGEN_CPU_TABLEREADER_H
#define TORSOR_CODEGEN_CPU_TABLEREADER_H

#include "codegen/cpu/Spec.h"

namespace torsor {

/// The token at which a region runs.
struct Place {
  Sequence sequence;
  Num head, group; // head: query side only
  Num row, token;  // in the tensors of its side
  Num index;       // i or j
  Num number;      // in the run of its sequence
  /// A vector of keys: their rows and tokens. In pair regions that look
  /// per-token tables up at the keys `row` and `token` are then the query's; in
  /// the columns of several keys `index` and `number` are vectors too.
  Num keyRows, keyTokens;
  /// A key that the call brings (append): its values stand at the query side.
  bool brought = false;
};

/// Bytes of the tables that `prepare` fills for this kernel, at the start of
/// the workspace.
Num preparedTableBytes(Emitter &e, const Kernel &kernel, const Call &call);

/// Reads tables for one kernel inside one call. Strides and addresses are
/// loaded where they are used.
class TableReader {
public:
  /// Prepared tables lie at the beginning of the workspace.
  TableReader(Emitter &e, const Kernel &kernel, const Call &call)
      : e(e), kernel(kernel), call(call) {}

  /// The element at the own token of `place` (torsor.fetch).
  Num fetch(const Table &table, const Place &place, llvm::ArrayRef<Num> indices,
            mlir::Type result) const;
  /// Any element, indices clamped (torsor.lookup); a vector among the indices
  /// gathers. With `lanes` and no vector: elements from there on, which lie one
  /// behind the other.
  Num lookup(const Table &table, const Place &place,
             llvm::ArrayRef<Num> indices, mlir::Type result,
             int64_t lanes = 1) const;
  /// `lanes` rates of a block from number `first` on.
  Num rates(const Table &table, const Place &place, Num first,
            int64_t lanes) const;
  /// Position of the token: the tensor of `pos`, or the index.
  Num position(const Place &place, bool key) const;
  /// `lanes` times of a running sum's members from `first` on, at the own token
  /// of `place`.
  Num times(const Table &table, const Place &place, Num first,
            int64_t lanes) const;
  /// Where they lie.
  Pointer timesAt(const Table &table, const Place &place, Num first) const;
  /// The running sums of a sequence (ScanLayout), as f64.
  Pointer scans(const Sequence &sequence) const;
  /// Whether positions are the indices in this call.
  Num positionsAreIndices() const;

  Emitter &e;
  const Kernel &kernel;
  const Call &call;

private:
  struct Base {
    Pointer data;
    Nums strides, extents; // of the axes but "token"
    Num absent;            // of an argument: whether it is not there
    // Of many tokens, still to be added: rows, tokens and their strides.
    Nums places, placeStrides;
    bool mayRun = false; // the places may be one behind the other
  };
  Base base(const Table &table, const Place &place) const;
  /// `lanes` elements behind `data`, or the elements that vectors of indices
  /// tell.
  Num elements(Pointer data, llvm::ArrayRef<Num> indices,
               llvm::ArrayRef<Num> steps, int64_t lanes) const;
  /// The elements of one axis that a vector picks. Far from the diagonal
  /// buckets and clipped distances are all the same: one load then.
  Num picked(Pointer data, Num index, Num step) const;
  /// The elements at these places, one load where they stand in a row.
  Num run(Pointer data, Num places) const;
  Base argument(const Table &table, const Place &place) const;
  Base scan(const Table &table, const Place &place) const;
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_TABLEREADER_H
