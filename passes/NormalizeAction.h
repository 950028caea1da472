// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The identities that bring an action to normal form.
#ifndef TORSOR_PASSES_NORMALIZEACTION_H
#define TORSOR_PASSES_NORMALIZEACTION_H

#include "dialect/TorsorDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace torsor {

int64_t widthOfAction(mlir::Value action);

/// A turn with these constant frequencies.
mlir::Value makeTurn(mlir::OpBuilder &b, mlir::Location loc,
                     llvm::ArrayRef<double> frequencies);

/// Gives the blocks of an action that have no clock the position; with
/// `onlyDeclared` only where the scheme says what the position is.
void placeAtPosition(SchemeOp scheme, bool onlyDeclared);

/// Identities of generators: products on one pair, frequency 0, scaled and
/// shifted clocks.
void populateGeneratorPatterns(mlir::RewritePatternSet &patterns);

} // namespace torsor

#endif // TORSOR_PASSES_NORMALIZEACTION_H
