// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens and keywords of the language.
#ifndef TORSOR_FRONTEND_TOKEN_H
#define TORSOR_FRONTEND_TOKEN_H

#include "frontend/SourceFile.h"

#include "llvm/ADT/ArrayRef.h"

namespace torsor {

enum class TokenKind : uint8_t {
  EndOfFile,
  Name,
  Keyword,
  Int,
  Real,
  String,
  /// An operator or a bracket; the text tells which.
  Symbol,
  /// A run of characters that is no token; its message is in the lexer's list.
  Error,
};

/// One token; `text` is a slice of the source, except where the lexer stands
/// in what was meant ('mod' for '%').
struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  llvm::StringRef text;
  SourceRange range;
  /// Index of the first comment before this token, and behind the last, in
  /// TokenList::comments.
  uint32_t firstComment = 0, lastComment = 0;
  /// Index into TokenList::errors, or -1.
  int32_t error = -1;

  /// True for the keyword, operator or bracket `word`.
  bool is(llvm::StringRef word) const {
    return (kind == TokenKind::Keyword || kind == TokenKind::Symbol) &&
           text == word;
  }
};

/// Is `word` a keyword of the language?
bool isKeyword(llvm::StringRef word);
/// Is `word` reserved for a later version?
bool isReserved(llvm::StringRef word);
/// The words that begin a clause of a scheme.
llvm::ArrayRef<llvm::StringRef> getClauseWords();
bool isClauseWord(llvm::StringRef word);

} // namespace torsor

#endif // TORSOR_FRONTEND_TOKEN_H
