// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What makes a scheme lawful, whatever wrote it.
#ifndef TORSOR_PASSES_LEGALITY_H
#define TORSOR_PASSES_LEGALITY_H

#include "passes/ActionForm.h"
#include "passes/RealRange.h"
#include "passes/VariesBy.h"

#include <set>
#include <string>

namespace torsor {

/// Does the mask hide every key after the query, by what its maps say?
bool isCausalMask(mlir::Value mask, mlir::MLIRContext *context);

/// Checks that reads, times and tokens lead to declarations of the scheme, as
/// every pass relies on; reports what does not.
mlir::LogicalResult checkDeclarations(SchemeOp scheme);

/// Checks one scheme and reports every broken axiom at its operation.
class Legality {
public:
  explicit Legality(SchemeOp scheme);

  mlir::LogicalResult check();

private:
  // Stages: what may vary by what.
  void checkTerms();
  void checkReadout(ReadoutOp op);
  void checkOrigins();
  // The action: one layout, one clock, one generator.
  void checkAction(mlir::Value action, bool isValueAction);
  void checkPlacing();
  void checkUnit(const ActionUnit &unit, bool isValueAction);
  void checkClock(const ActionUnit &unit);
  void checkBasis(BasisOp op);
  void checkGain(GainOp op);
  void checkProduct(ProductOp op);
  bool commute(const ActionUnit &a, const ActionUnit &b) const;
  bool hasDecay(mlir::Value action) const;

  /// Reports a broken axiom: "… [axiom]".
  void require(bool holds, mlir::Operation *op, llvm::StringRef axiom,
               const llvm::Twine &text);

  SchemeOp scheme;
  VariesBy varies;
  bool causal;
  RealRanges ranges;
  bool broken = false;
  std::set<std::pair<const void *, std::string>> reported;
};

} // namespace torsor

#endif // TORSOR_PASSES_LEGALITY_H
