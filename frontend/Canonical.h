// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The canonical form: the meaning of schemes as a program.
#ifndef TORSOR_FRONTEND_CANONICAL_H
#define TORSOR_FRONTEND_CANONICAL_H

#include "frontend/Scheme.h"

namespace torsor {

/// The shortest decimal that reads back the same f64, with a point or an
/// exponent. `value` must be finite.
std::string printReal(double value);

/// Expressions and actions of a scheme as the canonical form prints them.
/// `scheme` gives the names that bound tokens must not hide.
std::string printNode(const CheckedFile &file, const Scheme &scheme,
                      const Node *node);
std::string printAction(const CheckedFile &file, const Scheme &scheme,
                        const ActionNode *action);

/// The schemes, and then the stacks, as text that reads back to the same
/// schemes and prints again as the same text. A text beyond 16 MB ends with a
/// comment that says so.
std::string printCanonical(const CheckedFile &file,
                           llvm::ArrayRef<const Scheme *> schemes,
                           llvm::ArrayRef<const Stack *> stacks);

} // namespace torsor

#endif // TORSOR_FRONTEND_CANONICAL_H
