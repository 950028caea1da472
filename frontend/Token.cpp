// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of the language.
#include "frontend/Token.h"

#include "frontend/Ast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace torsor;

bool torsor::isKeyword(llvm::StringRef word) {
  static const llvm::StringSet<> words = {
      "torsor", "import",       "let",       "fn",    "require", "scheme",
      "stack",  "layers",       "use",       "head",  "value",   "key",
      "clock",  "moving",       "rising",    "param", "input",   "per",
      "norm",   "orthogonal",   "condition", "mask",  "readout", "action",
      "scale",  "value_action", "softcap",   "logit", "bias",    "value_bias",
      "sink",   "embed",        "if",        "then",  "else",    "sum",
      "for",    "in",           "at",        "and",   "or",      "not",
      "div",    "mod",          "true",      "false"};
  return words.contains(word);
}

bool torsor::isReserved(llvm::StringRef word) {
  static const llvm::StringSet<> words = {
      "assert",      "dropout", "export", "extern", "grad",
      "householder", "loop",    "match",  "module", "private",
      "return",      "struct",  "trait",  "type",   "unipotent",
      "var",         "where",   "while",  "with",   "yield"};
  return words.contains(word);
}

/// In the order of ClauseKind.
static constexpr llvm::StringLiteral clauseWords[] = {
    "let",   "require", "head",    "value",  "clock",
    "param", "input",   "norm",    "action", "value_action",
    "scale", "softcap", "logit",   "bias",   "value_bias",
    "mask",  "sink",    "readout", "embed"};

llvm::ArrayRef<llvm::StringRef> torsor::getClauseWords() {
  static const std::vector<llvm::StringRef> words(std::begin(clauseWords),
                                                  std::end(clauseWords));
  return words;
}

bool torsor::isClauseWord(llvm::StringRef word) {
  return llvm::is_contained(clauseWords, word);
}

llvm::StringRef torsor::getClauseWord(ClauseKind kind) {
  return clauseWords[size_t(kind)];
}

llvm::StringRef torsor::getSpelling(BinaryOp op) {
  static constexpr llvm::StringLiteral words[] = {"or", "and", "+",   "-", "*",
                                                  "/",  "div", "mod", "^"};
  return words[size_t(op)];
}

llvm::StringRef torsor::getSpelling(CompareOp op) {
  static constexpr llvm::StringLiteral words[] = {
      "<", "<=", ">", ">=", "==", "!=", "in"};
  return words[size_t(op)];
}
