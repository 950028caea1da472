// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of a primitive block whose arguments are matched by name.
#ifndef TORSOR_FRONTEND_SEMABLOCKS_H
#define TORSOR_FRONTEND_SEMABLOCKS_H

#include "frontend/Sema.h"

namespace torsor {

struct Sema::BlockCall {
  const CallExpr *e;
  const BlockSignature &block;
  llvm::StringMap<const Expr *> args;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_SEMABLOCKS_H
