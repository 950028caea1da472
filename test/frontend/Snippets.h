// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources that the front end's tests run on.
#ifndef TORSOR_TEST_FRONTEND_SNIPPETS_H
#define TORSOR_TEST_FRONTEND_SNIPPETS_H

#include "frontend/Ast.h"
#include "frontend/Diagnostics.h"

#include <memory>
#include <string>
#include <vector>

namespace torsor {

/// A wrong program and the exact text of its messages.
struct Snippet {
  std::string name;
  std::string source;
  std::string messages;
};

/// The programs of Inputs/expected.txt.
std::vector<Snippet> readSnippets();

/// The names in Inputs/sources.txt, which lists the programs without messages.
std::vector<Snippet> readSources();

/// The paths of all example schemes, and of the standard library, sorted.
std::vector<std::string> getSchemePaths();

/// The content of a file; aborts if there is none.
std::string readFile(const std::string &path);

std::shared_ptr<const SourceFile> makeSource(std::string text,
                                             std::string name = "x.torsor");

/// What the parser prints about a text.
std::string getSyntaxMessages(const std::string &text);

} // namespace torsor

#endif // TORSOR_TEST_FRONTEND_SNIPPETS_H
