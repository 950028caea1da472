// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How values of a scheme change when all positions, or all indices, are
// shifted: what "relative" means, wherever it is said.
#ifndef TORSOR_RUNTIME_JIT_TERMLAW_H
#define TORSOR_RUNTIME_JIT_TERMLAW_H

#include "passes/VariesBy.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <utility>

namespace torsor {

/// How a term of the logit, or the condition of a region, depends on the two
/// tokens.
enum class TermLaw { None, Distance, Absolute, Inputs, Path, Content };

/// Decides the laws of the values of one scheme.
class TermLaws {
public:
  explicit TermLaws(SchemeOp scheme);

  TermLaw of(mlir::Value value);
  /// Does a shift of all positions, or of all indices, change both values by
  /// the same amount, so that their difference does not see it?
  bool shiftAlike(mlir::Value a, mlir::Value b) const;

private:
  /// What a value grows by for each unit that a clock (its member) or, under
  /// null, the indices are shifted by; those of 0 are left out.
  using Shift = std::map<std::pair<const void *, int64_t>, double>;
  struct Law {
    /// Absent: the value changes in another way.
    std::optional<Shift> shift = Shift();
    bool path = false, tokens = false;
  };

  VariesBy varies;
  llvm::DenseMap<mlir::Value, Law> laws;

  Law lookup(mlir::Value value) const { return laws.lookup(value); }
  Law find(mlir::Operation *op) const;
  std::optional<Shift> findShift(mlir::Operation *op) const;
};

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_TERMLAW_H
