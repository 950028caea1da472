// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the blocks of an action make of a key at one time, lane by lane.
#ifndef TORSOR_CODEGEN_CPU_STEPMAP_H
#define TORSOR_CODEGEN_CPU_STEPMAP_H

#include "codegen/cpu/Act.h"

#include <optional>

namespace torsor {

/// Turns, decays and chains of one clock as one sparse matrix on keys x:
///
///     y[d] = x[d] + sum over m of couples[m][d] x[d + apart[m]]
///
/// then own[d] y[d] or, where lanes a and b turn together,
///
///     aa y[a] + ab y[b]  and  ba y[a] + bb y[b]
///
/// Its table has, in f32, own (whole vectors), or aa, ab, ba and bb of all
/// pairs, then couples (whole vectors each), which are 0 where nothing couples.
/// Where turns are all, it has the cosines and the sines of the pairs.
class StepMap {
public:
  /// None, if the blocks are others. Pairs that turn are some of those that
  /// vectors load; beside what fades these are all lanes. Chains share no
  /// lanes. `stored`: the type of keys.
  static std::optional<StepMap> of(llvm::ArrayRef<BlockAttr> blocks,
                                   int64_t head, int64_t lanes,
                                   mlir::Type stored);

  llvm::ArrayRef<BlockAttr> blocks() const { return all; }
  /// Pairs among which are all that turn; null: none.
  PairsAttr pairs() const { return turned; }
  int64_t words() const;

  /// Fills the table for the time and the anchors of `action`.
  void emit(Emitter &e, const Action &action, const TableReader &tables,
            const Place &place, Pointer table) const;
  /// What becomes of the lanes d … of the key at `row`, a vector of them; or of
  /// the pairs d …, two vectors.
  Nums apply(Pointer table, Pointer row, Num d) const;
  /// The last lanes, fewer than a vector, where no lanes turn.
  Num applyTail(Pointer table, Pointer row) const;

private:
  int64_t couplesAt(int64_t m) const;
  /// What chains make of the lanes from d on, `x` as they lie.
  Num coupled(Pointer table, Pointer row, Num d, Num x) const;
  void emitOwn(Emitter &e, const Action &action, const TableReader &tables,
               const Place &place, Pointer own) const;
  /// Cosines, then sines, of all pairs.
  void emitTurns(Emitter &e, const Action &action, const TableReader &tables,
                 const Place &place, Pointer turns) const;
  void emitCouples(Emitter &e, const Action &action, const TableReader &tables,
                   const Place &place, Pointer table) const;

  int64_t head = 0, lanes = 0, width = 0; // width: filled up to vectors
  llvm::SmallVector<BlockAttr> all;
  PairsAttr turned;
  bool turnsOnly = true;
  llvm::SmallVector<int64_t, 2> apart;
};

/// Whether pairs are all lanes first … first + 2 count - 1, which vectors load:
/// halves, or neighbours.
bool areVectorPairs(PairsAttr pairs, int64_t lanes);

/// The pairs p … p + lanes - 1 of such a row: firsts and seconds, in f32.
std::pair<Num, Num> loadPairs(Pointer row, PairsAttr pairs, Num p,
                              int64_t lanes);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_STEPMAP_H
