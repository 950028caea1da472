// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clauses of a scheme that is being checked.
#ifndef TORSOR_FRONTEND_CLAUSES_H
#define TORSOR_FRONTEND_CLAUSES_H

#include "frontend/Sema.h"

namespace torsor {

/// The most lanes of a head, and of a value.
inline constexpr int64_t mostLanes = 1024;
inline constexpr char openWidth[] =
    "the head width must be known here; write 'head n'";

/// The clause of a kind that stands at most once, or null.
template <typename T = Clause>
const T *findClause(const SchemeState &state, ClauseKind kind) {
  for (const Clause *clause : state.item.clauses)
    if (clause->kind == kind)
      return llvm::cast<T>(clause);
  return nullptr;
}

inline const TermClause *findTerm(const SchemeState &state, ClauseKind kind) {
  return findClause<TermClause>(state, kind);
}

} // namespace torsor

#endif // TORSOR_FRONTEND_CLAUSES_H
