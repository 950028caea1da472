// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From text to tokens.
#include "frontend/Lexer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <fmt/format.h>

using namespace torsor;

namespace {

/// A spelling of other languages, and what it is here.
struct ForeignSymbol {
  llvm::StringLiteral text;
  /// The token that stands in; empty: the symbol is dropped.
  llvm::StringLiteral meant;
  llvm::StringLiteral hint;
};

/// Longer spellings before their beginnings.
constexpr ForeignSymbol foreignSymbols[] = {
    {";", "", "clauses need no separator; remove it"},
    {"**", "^", "a power is written '^'"},
    {"%", "mod", "the remainder is written 'mod'"},
    {"&&", "and", "the connective is written 'and'"},
    {"&", "and", "the connective is written 'and'"},
    {"||", "or", "the connective is written 'or'"},
    {"|", "or", "the connective is written 'or', an absolute value abs(…)"},
    {"=>", ">=", "'at least' is written '>='"},
    {"=<", "<=", "'at most' is written '<='"},
    {"<>", "!=", "'not equal' is written '!='"},
    {"!", "not", "negation is written 'not'"},
    {"\xE2\x88\x92", "-", "minus is written '-'"}, // U+2212
    {"\xE2\x80\x93", "-", "minus is written '-'"}, // en dash
    {"\xC3\x97", "*", "a product is written '*'"}, // times sign
    {"\xC2\xB7", "*", "a product is written '*'"}, // middle dot
    {"\xE2\x89\xA4", "<=", "'at most' is written '<='"},
    {"\xE2\x89\xA5", ">=", "'at least' is written '>='"},
    {"\xE2\x89\xA0", "!=", "'not equal' is written '!='"},
    {"\xE2\x80\xA6", "..", "a range is written '..'"}, // ellipsis
};

/// Characters that no token begins with, and what is meant by them.
llvm::StringRef getCharacterHint(llvm::StringRef character) {
  if (character == "#")
    return "a comment starts with '//'";
  if (character == ".")
    return "a number needs a digit before and after its point";
  if (character == "@")
    return "actions on the same lanes are written A * B, the product of "
           "vectors dot(u, v), an action's clock 'A at c'";
  if (character == "?")
    return "a choice is written 'if c then a else b'";
  if (character == "'" || character == "`")
    return "text stands in double quotes";
  if (character == "\xE2\x80\x9C" || character == "\xE2\x80\x9D")
    return "text stands in straight double quotes";
  if (character == "\xCF\x80")
    return "the number is written 'pi'";
  if (character == "\xE2\x88\x9E")
    return "it is written 'inf', in ranges";
  if (character == "\xC2\xA0")
    return "this is a no-break space; write a plain one";
  if (character == "\xEF\xBB\xBF")
    return "this is a byte order mark; save the file without it";
  return {};
}

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNameBody(char c) { return llvm::isAlnum(c) || c == '_'; }
bool isDigits(char c) { return llvm::isDigit(c) || c == '_'; }

class Lexer {
public:
  explicit Lexer(const SourceFile &source)
      : source(source), text(source.getText()) {}

  TokenList run();

private:
  char peek(size_t n = 0) const {
    return at + n < text.size() ? text[at + n] : '\0';
  }
  SourceRange from(size_t begin) const {
    return {&source, uint32_t(begin), uint32_t(at)};
  }
  void skipDigits() {
    while (at < text.size() && isDigits(text[at]))
      ++at;
  }
  Token &add(TokenKind kind, size_t begin);
  void addError(Token &token, llvm::StringRef id, std::string message,
                bool repaired = false, llvm::StringRef fix = "");

  void lexComment();
  void lexBlockComment();
  void lexName();
  void lexNumber();
  void lexString();
  bool lexPair();
  bool lexSymbol();
  bool lexForeign();
  void lexStray();
  void checkEncoding(size_t begin);

  const SourceFile &source;
  llvm::StringRef text;
  size_t at = 0;
  unsigned line = 1;
  bool lineIsBlank = true;
  uint32_t firstComment = 0;
  TokenList list;
};

} // namespace

Token &Lexer::add(TokenKind kind, size_t begin) {
  lineIsBlank = false;
  Token token;
  token.kind = kind;
  token.range = from(begin);
  token.text = text.slice(begin, at);
  token.firstComment = firstComment;
  token.lastComment = firstComment = uint32_t(list.comments.size());
  list.tokens.push_back(token);
  return list.tokens.back();
}

void Lexer::addError(Token &token, llvm::StringRef id, std::string message,
                     bool repaired, llvm::StringRef fix) {
  token.error = int32_t(list.errors.size());
  list.errors.push_back(
      {id.str(), std::move(message), token.range, repaired, fix.str()});
}

void Lexer::lexComment() {
  size_t begin = at;
  at = std::min(text.find('\n', at), text.size());
  Comment comment;
  comment.isDoc = text.slice(begin, at).starts_with("///");
  comment.range = {&source, uint32_t(begin),
                   uint32_t(begin + text.slice(begin, at).rtrim().size())};
  comment.ownLine = lineIsBlank;
  comment.line = line;
  size_t end = at;
  at = begin;
  checkEncoding(end);
  at = end;
  list.comments.push_back(comment);
}

/// Comments and strings may hold any UTF-8; reports the first byte in
/// [at, end) that is none.
void Lexer::checkEncoding(size_t end) {
  const auto *first = reinterpret_cast<const llvm::UTF8 *>(text.data()) + at;
  const auto *last = reinterpret_cast<const llvm::UTF8 *>(text.data()) + end;
  if (llvm::isLegalUTF8String(&first, last))
    return;
  size_t bad = size_t(reinterpret_cast<const char *>(first) - text.data());
  at = bad + 1;
  auto byte = static_cast<unsigned char>(text[bad]);
  addError(add(TokenKind::Error, bad), "char",
           fmt::format("the byte 0x{:02X} is not UTF-8; save the file as UTF-8",
                       byte),
           true);
}

/// `/* … */` of other languages, dropped with its end if it has one.
void Lexer::lexBlockComment() {
  size_t begin = at;
  size_t close = text.find("*/", at + 2);
  at += 2;
  Token &token = add(TokenKind::Error, begin);
  addError(token, "char",
           "unexpected '/*'; a comment starts with '//' and ends with its line",
           true);
  size_t end = close == llvm::StringRef::npos ? text.size() : close + 2;
  line += unsigned(text.slice(at, end).count('\n'));
  at = end;
}

void Lexer::lexName() {
  size_t begin = at;
  while (at < text.size() && isNameBody(text[at]))
    ++at;
  Token &token = add(TokenKind::Name, begin);
  if (isReserved(token.text))
    addError(token, "reserved",
             fmt::format("'{}' is reserved for a later version of the "
                         "language{}",
                         token.text.str(),
                         token.text == "where" ? "; a choice is written 'if c "
                                                 "then a else b'"
                                               : ""));
  else if (isKeyword(token.text))
    token.kind = TokenKind::Keyword;
}

void Lexer::lexNumber() {
  size_t begin = at;
  TokenKind kind = TokenKind::Int;
  skipDigits();
  if (peek() == '.' && llvm::isDigit(peek(1))) {
    kind = TokenKind::Real;
    ++at;
    skipDigits();
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (llvm::isDigit(peek(1 + sign))) {
      kind = TokenKind::Real;
      at += 1 + sign;
      while (llvm::isDigit(peek()))
        ++at;
    }
  }
  bool touches = isNameBody(peek());
  while (isNameBody(peek()))
    ++at;
  Token &token = add(kind, begin);
  llvm::StringRef lit = token.text;
  if (touches) {
    bool hex = lit.size() > 2 && lit[0] == '0' && llvm::toLower(lit[1]) == 'x';
    addError(token, "number",
             fmt::format("'{}' is not a number: {}", lit.str(),
                         hex ? "there are no hexadecimal numbers"
                             : "a number and a name need a space or an "
                               "operator between them"));
    return;
  }
  size_t underscore = lit.find('_');
  for (; underscore != llvm::StringRef::npos;
       underscore = lit.find('_', underscore + 1))
    if (underscore + 1 == lit.size() || !llvm::isDigit(lit[underscore + 1]) ||
        !llvm::isDigit(lit[underscore - 1])) {
      addError(token, "number",
               fmt::format("'{}': an underscore stands between two digits",
                           lit.str()));
      return;
    }
}

void Lexer::lexString() {
  size_t begin = at;
  size_t close = text.find_first_of("\"\n", at + 1);
  if (close == llvm::StringRef::npos || text[close] == '\n') {
    at = std::min(close, text.size());
    Token &token = add(TokenKind::Error, begin);
    token.range.end = uint32_t(begin + token.text.rtrim().size());
    addError(token, "char", "this text has no closing '\"' on its line");
    return;
  }
  at = begin + 1;
  checkEncoding(close);
  at = close + 1;
  add(TokenKind::String, begin);
}

bool Lexer::lexPair() {
  static constexpr llvm::StringLiteral pairs[] = {
      "->", "..", "<=", ">=", "==", "!="};
  for (llvm::StringRef pair : pairs)
    if (text.substr(at).starts_with(pair)) {
      at += 2;
      add(TokenKind::Symbol, at - 2);
      return true;
    }
  return false;
}

bool Lexer::lexSymbol() {
  if (!llvm::StringRef("-+*/^<>=(){}[],:").contains(text[at]))
    return false;
  ++at;
  add(TokenKind::Symbol, at - 1);
  return true;
}

bool Lexer::lexForeign() {
  llvm::StringRef rest = text.substr(at);
  for (const ForeignSymbol &symbol : foreignSymbols) {
    if (!rest.starts_with(symbol.text))
      continue;
    size_t begin = at;
    at += symbol.text.size();
    Token &token = add(TokenKind::Error, begin);
    // The message speaks of a character where there is one.
    bool pair = symbol.text.size() == 2 && llvm::isASCII(symbol.text[0]);
    addError(token, "char",
             fmt::format("unexpected {}'{}'; {}", pair ? "" : "character ",
                         symbol.text.str(), symbol.hint.str()),
             true, symbol.meant);
    if (!symbol.meant.empty()) {
      token.text = symbol.meant;
      token.kind =
          isKeyword(token.text) ? TokenKind::Keyword : TokenKind::Symbol;
    }
    return true;
  }
  return false;
}

/// A character that is no token.
void Lexer::lexStray() {
  size_t begin = at;
  auto lead = static_cast<unsigned char>(text[at]);
  unsigned size = llvm::getNumBytesForUTF8(lead);
  const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(text.data()) + at;
  bool legal = at + size <= text.size() &&
               llvm::isLegalUTF8Sequence(bytes, bytes + size);
  at += legal ? size : 1;
  llvm::StringRef character = text.slice(begin, at);
  llvm::StringRef hint = getCharacterHint(character);
  if (character == "." && begin > 0 && isNameBody(text[begin - 1]) &&
      !llvm::isDigit(text[begin - 1]) && isNameStart(peek(0)))
    hint = "there are no methods; a function is called f(x)";
  bool repaired = character == "#" || character == "\xC2\xA0" ||
                  character == "\xEF\xBB\xBF";
  Token &token = add(TokenKind::Error, begin);
  if (!legal)
    addError(token, "char",
             fmt::format("the byte 0x{:02X} is not UTF-8; save the file as "
                         "UTF-8, with ASCII outside comments",
                         lead));
  else if (lead < 0x20 || lead == 0x7F)
    addError(token, "char",
             fmt::format("unexpected control character 0x{:02X}", lead));
  else
    addError(token, "char",
             fmt::format("unexpected character '{}'{}{}", character.str(),
                         hint.empty() ? "" : "; ", hint.str()),
             repaired);
  if (character == "#")
    at = std::min(text.find('\n', at), text.size());
}

TokenList Lexer::run() {
  if (text.size() > sourceLimit) {
    Token &token = add(TokenKind::Error, 0);
    addError(token, "large",
             fmt::format("a file may have at most {} bytes, but this one has "
                         "{}",
                         sourceLimit, text.size()));
    at = text.size();
  }
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      lineIsBlank = true;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '/' && peek(1) == '/') {
      lexComment();
    } else if (c == '/' && peek(1) == '*') {
      lexBlockComment();
    } else if (isNameStart(c)) {
      lexName();
    } else if (llvm::isDigit(c)) {
      lexNumber();
    } else if (c == '"') {
      lexString();
    } else if (!lexPair() && !lexForeign() && !lexSymbol()) {
      lexStray();
    }
  }
  add(TokenKind::EndOfFile, at);
  return std::move(list);
}

TokenList torsor::lex(const SourceFile &source) { return Lexer(source).run(); }
