// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that the language itself gives a meaning.
#ifndef TORSOR_FRONTEND_BUILTINS_H
#define TORSOR_FRONTEND_BUILTINS_H

#include "frontend/Node.h"

#include "llvm/ADT/ArrayRef.h"

namespace torsor {

/// i, j, s, t, age, …: the names bound where a scheme is evaluated.
llvm::ArrayRef<llvm::StringRef> getAmbientNames();
/// abs, min, …, age and delta of a clock.
llvm::ArrayRef<llvm::StringRef> getFunctionNames();
/// zero, turn, …
llvm::ArrayRef<llvm::StringRef> getBlockNames();

bool isAmbientName(llvm::StringRef name);
bool isFunctionName(llvm::StringRef name);
bool isBlockName(llvm::StringRef name);
/// Any of the three: such a name cannot be defined again.
bool isBuiltinName(llvm::StringRef name);
/// "the key's time" for "t"; "" where there is nothing to add.
llvm::StringRef describeBuiltin(llvm::StringRef name);

/// A function of one real and its properties.
struct RealFunction {
  llvm::StringRef name;
  NodeOp op;
  double (*apply)(double);
  /// Infimum and supremum of the values.
  double low, high;
  /// The image of an interval lies between the images of its ends.
  bool rising;
};

/// Null if `name` is no function of one real.
const RealFunction *findRealFunction(llvm::StringRef name);

/// The arguments of an action's block, in order.
struct BlockSignature {
  llvm::StringRef name;
  llvm::ArrayRef<llvm::StringRef> formals;
};
const BlockSignature *findBlock(llvm::StringRef name);

} // namespace torsor

#endif // TORSOR_FRONTEND_BUILTINS_H
