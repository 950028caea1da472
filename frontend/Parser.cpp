// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parser's dealings with tokens, failures and recovery.
#include "frontend/Parser.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

using namespace torsor;

Parser::Parser(const SourceFile &source, llvm::BumpPtrAllocator &arena,
               DiagnosticList &diagnostics)
    : source(source), arena(arena), diagnostics(diagnostics),
      list(lex(source)) {
  for (const Token &token : list.tokens) {
    bool dropped =
        token.kind == TokenKind::Error && list.errors[token.error].repaired;
    if (dropped)
      droppedErrors.emplace_back(tokens.size(), token.error);
    else
      tokens.push_back(token);
  }
  reportDropped();
}

std::unique_ptr<ParsedFile>
torsor::parseFile(const std::shared_ptr<const SourceFile> &source,
                  DiagnosticList &diagnostics) {
  auto file = std::make_unique<ParsedFile>();
  file->source = source;
  Parser(*source, file->arena, diagnostics).parseFile(*file);
  return file;
}

const Expr *torsor::parseExpression(const SourceFile &source,
                                    llvm::BumpPtrAllocator &arena,
                                    DiagnosticList &diagnostics) {
  return Parser(source, arena, diagnostics).parseWholeExpression();
}

const Expr *Parser::parseWholeExpression() {
  Expr *expr = parseExpr();
  if (expr && !atEnd())
    failExpected("the end of the expression");
  return expr && !broken ? expr : nullptr;
}

bool Parser::atAny(std::initializer_list<llvm::StringRef> words) const {
  return llvm::any_of(words, [&](llvm::StringRef word) { return at(word); });
}

const Token &Parser::take() {
  const Token &token = tokens[next];
  if (token.error >= 0)
    reportLexical(token.error);
  lastEnd = token.range.end;
  if (token.kind != TokenKind::EndOfFile)
    ++next;
  reportDropped();
  return token;
}

/// Reports what the lexer dropped before the next token; it belongs to the
/// clause that is being read.
void Parser::reportDropped() {
  for (; nextDropped < droppedErrors.size() &&
         droppedErrors[nextDropped].first <= next;
       ++nextDropped)
    reportLexical(droppedErrors[nextDropped].second);
}

bool Parser::accept(llvm::StringRef word) {
  if (!at(word))
    return false;
  take();
  return true;
}

bool Parser::expect(llvm::StringRef word, llvm::StringRef purpose,
                    llvm::StringRef hint) {
  if (accept(word))
    return true;
  failExpected(fmt::format("'{}'{}{}", word.str(), purpose.empty() ? "" : " ",
                           purpose.str()),
               hint);
  return false;
}

bool Parser::expectClose(llvm::StringRef bracket, SourceRange open,
                         llvm::StringRef hint) {
  if (accept(bracket))
    return true;
  failExpected(fmt::format("'{}'", bracket.str()), hint)
      .note(open, fmt::format("to close this '{}'", open.getText().str()));
  return false;
}

bool Parser::parseName(Name &name, llvm::StringRef what) {
  const Token &token = peek();
  if (token.kind == TokenKind::Name) {
    name = {token.text, token.range};
    take();
    return true;
  }
  if (token.kind != TokenKind::Keyword) {
    failExpected(fmt::format("the name of {}", what.str()));
    return false;
  }
  // Taken for the name it was meant to be, so that parsing goes on behind it.
  fail(token.range, "keyword",
       fmt::format("'{}' is a keyword and cannot name {}", token.text.str(),
                   what.str()));
  name = {token.text, token.range};
  take();
  return true;
}

void Parser::reportLexical(int32_t index) {
  const LexicalError &error = list.errors[index];
  broken |= !error.repaired;
  if (partFailed)
    return;
  partFailed = true;
  Diagnostic &diagnostic = diagnostics.error(error.range, error.id, error.text);
  if (error.repaired)
    diagnostic.withFix(error.fix);
}

Diagnostic &Parser::fail(SourceRange range, llvm::StringRef id,
                         std::string text) {
  broken = true;
  if (partFailed)
    return unshown;
  partFailed = true;
  return diagnostics.error(range, id, std::move(text));
}

/// At the end of the file, the place behind the last token.
SourceRange Parser::getFoundRange() const {
  return atEnd() ? SourceRange{&source, lastEnd, lastEnd} : peek().range;
}

std::string Parser::quoteFound() const {
  if (atEnd())
    return "the end of the file";
  llvm::StringRef text = peek().text;
  return text.size() <= 40 ? fmt::format("'{}'", text.str())
                           : fmt::format("'{}…'", text.take_front(30).str());
}

Diagnostic &Parser::failExpected(llvm::StringRef what, llvm::StringRef hint) {
  if (peek().error >= 0) {
    reportLexical(peek().error);
    broken = true;
    return unshown;
  }
  return fail(getFoundRange(), "syntax",
              fmt::format("expected {}, found {}{}{}", what.str(), quoteFound(),
                          hint.empty() ? "" : "; ", hint.str()));
}

bool Parser::failNesting() {
  fail(getFoundRange(), "large",
       fmt::format("expressions nest at most {} deep; name parts of this one "
                   "with 'let'",
                   nestingLimit));
  return false;
}

/// Stops before the next clause, the end of the scheme or the next item.
void Parser::skipToClause() {
  partFailed = true;
  for (unsigned braces = 0; !atEnd() && !atItemWord(); take()) {
    if (at("{"))
      ++braces;
    else if (at("}") && braces-- == 0)
      return;
    else if (braces == 0 && peek().kind == TokenKind::Keyword &&
             isClauseWord(peek().text))
      return;
  }
}

/// Stops before the next item; a 'let' begins one if it stands no further
/// right than `column`, where the broken item began.
void Parser::skipToItem(unsigned column) {
  partFailed = true;
  for (; !atEnd() && !atItemWord(); take())
    if (at("let") && source.getPlace(peek().range.begin).column <= column)
      return;
}

/// Stops before the '{' of a scheme or before the next item.
void Parser::skipToBody() {
  partFailed = true;
  while (!atEnd() && !atItemWord() && !at("{"))
    take();
}

Expr *Parser::finish(Expr *expr, SourceRange range,
                     llvm::ArrayRef<const Expr *> children) {
  expr->range = expr->full = range;
  for (const Expr *child : children)
    expr->height = std::max<uint16_t>(expr->height, child->height + 1);
  if (expr->height <= nestingLimit)
    return expr;
  fail(range, "large",
       fmt::format("expressions nest at most {} deep, each operator of a "
                   "chain counted; name parts of this one with 'let'",
                   nestingLimit));
  return nullptr;
}
