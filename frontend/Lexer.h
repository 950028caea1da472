// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From text to tokens.
#ifndef TORSOR_FRONTEND_LEXER_H
#define TORSOR_FRONTEND_LEXER_H

#include "frontend/Token.h"

#include <string>
#include <vector>

namespace torsor {

/// A comment to the end of its line; `range` covers its slashes but no blanks
/// at its end.
struct Comment {
  SourceRange range;
  /// Begins with three slashes: documentation.
  bool isDoc = false;
  /// Only blanks stand before it on its line.
  bool ownLine = false;
  /// Line of the comment, counted from 1.
  unsigned line = 0;

  /// Without slashes and blanks around it.
  llvm::StringRef getText() const {
    return range.getText().drop_front(isDoc ? 3 : 2).trim();
  }
};

/// What is wrong with a token. It is reported by the parser, which says one
/// thing about each clause.
struct LexicalError {
  std::string id;
  std::string text;
  SourceRange range;
  /// The token was dropped or another stands in for it, and what follows can
  /// be checked as if it had been written right.
  bool repaired = false;
  /// Text to put in place of the range; empty with `repaired`: remove it.
  std::string fix;
};

struct TokenList {
  /// Ends with an EndOfFile token.
  std::vector<Token> tokens;
  std::vector<Comment> comments;
  std::vector<LexicalError> errors;
};

/// Files beyond this many bytes are refused.
constexpr size_t sourceLimit = 1 << 20;

/// Splits a file into tokens; never fails. A file beyond `sourceLimit` gives
/// one error token.
TokenList lex(const SourceFile &source);

} // namespace torsor

#endif // TORSOR_FRONTEND_LEXER_H
