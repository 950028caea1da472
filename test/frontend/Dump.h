// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tree of a file as text without places, to compare two trees.
#ifndef TORSOR_TEST_FRONTEND_DUMP_H
#define TORSOR_TEST_FRONTEND_DUMP_H

#include "frontend/Ast.h"

#include <string>

namespace torsor {

/// All of the tree, documentation included, one item or clause a line.
std::string dumpFile(const ParsedFile &file);

/// An expression in prefix form: `(+ a (* b c))`.
std::string dumpExpr(const Expr *expr);

} // namespace torsor

#endif // TORSOR_TEST_FRONTEND_DUMP_H
