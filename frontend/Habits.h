// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hints for words that other languages have taught, and for misspelt ones.
#ifndef TORSOR_FRONTEND_HABITS_H
#define TORSOR_FRONTEND_HABITS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace torsor {

/// The candidate that `word` most likely misspells (fewest letters changed,
/// added, left out or swapped with a neighbour, up to a third of the word), or
/// an empty string. Of equals the first.
llvm::StringRef getNearest(llvm::StringRef word,
                           llvm::ArrayRef<llvm::StringRef> candidates);

/// What to write in place of a name that other languages and libraries use,
/// such as "write 'j'" for `kv_idx`; empty if there is nothing to say.
llvm::StringRef getHabitHint(llvm::StringRef name);

/// The same for a word where a clause is expected: "write 'head'" for
/// `head_dim`.
llvm::StringRef getClauseHint(llvm::StringRef word);

/// The same for a word where an item of a file is expected: `def`, `class`.
llvm::StringRef getItemHint(llvm::StringRef word);

} // namespace torsor

#endif // TORSOR_FRONTEND_HABITS_H
