// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A source that has been checked, for tests.
#ifndef TORSOR_TEST_SEMANTICS_CHECKED_H
#define TORSOR_TEST_SEMANTICS_CHECKED_H

#include "frontend/Ast.h"
#include "frontend/Check.h"

#include <string>
#include <vector>

namespace torsor {

struct Checked {
  DiagnosticList diagnostics;
  std::unique_ptr<CheckedFile> file;

  /// "id@line:column" of each message, in order of place, joined by blanks.
  std::string ids() const;
  const Scheme &scheme(llvm::StringRef name) const;
  std::vector<const Scheme *> schemes() const;
};

Checked check(const std::string &text, const CheckOptions &options = {},
              const std::string &name = "x.torsor",
              const std::string &folder = "");

/// The ids of a scheme with these clauses; head and mask are given where the
/// clauses leave them out.
std::string idsOf(const std::string &clauses);

/// The one scheme's canonical text.
std::string canonicalOf(const std::string &text);

/// Paths of the example schemes, sorted.
std::vector<std::string> getSchemePaths();
std::string readFile(const std::string &path);

} // namespace torsor

#endif // TORSOR_TEST_SEMANTICS_CHECKED_H
