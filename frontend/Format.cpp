// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor fmt`: the one layout of source text.
//
// The tree says which tokens begin a line; everything else is decided between
// neighbouring tokens, so that no text can be lost.
#include "frontend/Format.h"

#include "frontend/Ast.h"
#include "frontend/Lexer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace torsor;

namespace {

/// How the line that a token begins is laid out.
struct LineStyle {
  unsigned indent = 0;
  /// The word is padded to six letters.
  bool pad = false;
  /// Indent of the lines that the user broke it into.
  unsigned continued = 4;
};

constexpr unsigned paddedWidth = 6;

/// A line of the result; the comment behind it is aligned with its neighbours.
struct Line {
  std::string text;
  std::string comment;
};

class Formatter {
public:
  Formatter(const ParsedFile &file, const TokenList &list)
      : source(*file.source), list(list) {
    mark(list.tokens.front().range.begin, {0, false, 4});
    for (const Import &import : file.imports)
      markImport(import);
    for (const Item *item : file.items)
      markItem(item);
  }

  std::string run();

private:
  // Which tokens begin lines.
  size_t indexOf(uint32_t offset) const;
  void markImport(const Import &import);
  void markItem(const Item *item);
  void markClause(const Clause *clause, bool pad);
  void mark(uint32_t offset, LineStyle style) { styles[offset] = style; }

  // Layout.
  void putComments(const Token &token, unsigned indent);
  void putToken(size_t index);
  void startLine(unsigned indent, unsigned sourceLine);
  bool needsBlank(size_t index) const;
  std::string finish();

  unsigned lineOf(uint32_t offset) const {
    return source.getPlace(offset).line;
  }

  const SourceFile &source;
  const TokenList &list;
  llvm::DenseMap<uint32_t, LineStyle> styles;
  std::vector<Line> lines;
  LineStyle style;
  /// Line of the source that was written last.
  unsigned lastLine = 0;
  /// The next token begins a line: a comment ended the last one.
  bool ended = true;
  /// The word before was padded already.
  bool padded = false;
};

} // namespace

/// Index of the first token that begins at an offset or behind it.
size_t Formatter::indexOf(uint32_t offset) const {
  auto token = llvm::lower_bound(list.tokens, offset,
                                 [](const Token &token, uint32_t offset) {
                                   return token.range.begin < offset;
                                 });
  return size_t(token - list.tokens.begin());
}

void Formatter::markImport(const Import &import) {
  mark(list.tokens[indexOf(import.range.begin) - 1].range.begin, {0, false, 4});
}

void Formatter::markClause(const Clause *clause, bool pad) {
  unsigned length = clause->word.end - clause->word.begin;
  bool aligned = pad && length <= paddedWidth;
  mark(clause->range.begin, {2, pad, aligned ? 3 + paddedWidth : 6});
}

void Formatter::markItem(const Item *item) {
  mark(item->range.begin, {0, false, 4});
  // Tokens of the item, to find the words that the tree does not place.
  size_t first = indexOf(item->range.begin), last = indexOf(item->range.end);
  auto tokens = llvm::ArrayRef(list.tokens).slice(first, last - first);
  if (const auto *scheme = llvm::dyn_cast<SchemeItem>(item)) {
    for (const Clause *clause : scheme->clauses)
      markClause(clause, clause->kind != ClauseKind::Let &&
                             clause->kind != ClauseKind::Require);
  } else if (const auto *function = llvm::dyn_cast<FunctionItem>(item)) {
    for (const Clause *clause : function->body)
      markClause(clause, false);
    uint32_t equals = 0;
    for (const Token &token : tokens)
      if (token.is("=") && token.range.end <= function->value->full.begin)
        equals = token.range.begin;
    if (!function->body.empty() ||
        lineOf(equals) != lineOf(function->result.range.end))
      mark(equals, {2, false, 4});
    else if (lineOf(equals) != lineOf(function->value->full.begin))
      mark(function->value->full.begin, {2, false, 4});
  } else if (const auto *stack = llvm::dyn_cast<StackItem>(item)) {
    for (const LetClause *let : stack->lets)
      markClause(let, false);
    for (const Token &token : tokens)
      if (token.is("layers") || token.is("use"))
        mark(token.range.begin, {2, false, 6});
  }
  // A closing brace begins its line.
  if (llvm::isa<SchemeItem, StackItem>(item))
    mark(item->range.end - 1, {0, false, 4});
}

/// Begins a line, after an empty one if the source has one here.
void Formatter::startLine(unsigned indent, unsigned sourceLine) {
  bool gap = sourceLine > lastLine + 1 && !lines.empty() &&
             !llvm::StringRef(lines.back().text).ends_with("{");
  if (gap)
    lines.emplace_back();
  lines.push_back({std::string(indent, ' '), ""});
}

/// The comments before a token; those on lines of their own are indented as
/// what follows.
void Formatter::putComments(const Token &token, unsigned indent) {
  for (uint32_t i = token.firstComment; i < token.lastComment; ++i) {
    const Comment &comment = list.comments[i];
    std::string text = comment.range.getText().str();
    if (comment.ownLine || lines.empty()) {
      startLine(indent, comment.line);
      lines.back().text += text;
    } else {
      lines.back().comment = text;
    }
    lastLine = comment.line;
    ended = true;
  }
}

/// Is a sign a prefix, or does it stand between operands?
static bool isPrefix(const Token &before) {
  switch (before.kind) {
  case TokenKind::Name:
  case TokenKind::Int:
  case TokenKind::Real:
    return false;
  case TokenKind::Keyword:
    return !before.is("true") && !before.is("false");
  default:
    return !before.is(")") && !before.is("]");
  }
}

/// Does a blank stand between this token and the one before?
bool Formatter::needsBlank(size_t index) const {
  const Token &left = list.tokens[index - 1], &right = list.tokens[index];
  if (left.is("(") || left.is("[") || right.is(")") || right.is("]") ||
      right.is(",") || right.is(":"))
    return false;
  bool sign = left.is("-") || left.is("*");
  if (sign && (index == 1 || isPrefix(list.tokens[index - 2])))
    return false;
  if (!right.is("(") && !right.is("["))
    return true;
  if (left.is("action") || left.is("clock")) {
    // As types they are followed by their size.
    const Token &before = list.tokens[index - 2];
    return !before.is(":") && !before.is("->");
  }
  return left.kind != TokenKind::Name && !left.is(")") && !left.is("]") &&
         !left.is("key");
}

void Formatter::putToken(size_t index) {
  const Token &token = list.tokens[index];
  auto mark = styles.find(token.range.begin);
  unsigned line = lineOf(token.range.begin);
  bool closes = token.is("}") && mark != styles.end();
  if (mark != styles.end()) {
    putComments(token, closes ? 2 : mark->second.indent);
    style = mark->second;
    // No empty line before a closing brace.
    startLine(style.indent, closes ? lastLine : line);
  } else {
    putComments(token, style.continued);
    bool broken = index > 0 && line != lineOf(list.tokens[index - 1].range.end);
    if (ended || (broken && !token.is("{")))
      startLine(style.continued, lastLine);
    else if (index > 0 && needsBlank(index) && !padded)
      lines.back().text += ' ';
  }
  std::string &text = lines.back().text;
  text += token.text;
  padded = mark != styles.end() && style.pad;
  if (padded) {
    size_t width = std::max<size_t>(token.text.size(), paddedWidth);
    text.append(width - token.text.size() + 1, ' ');
  }
  ended = false;
  lastLine = line;
}

/// Number of characters, not bytes.
static size_t getWidth(llvm::StringRef text) {
  return llvm::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

/// Aligns the comments behind neighbouring lines and joins everything.
std::string Formatter::finish() {
  for (Line &line : lines)
    line.text = llvm::StringRef(line.text).rtrim(' ').str();
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    size_t end = i, width = 0;
    while (end < lines.size() && !lines[end].comment.empty())
      width = std::max(width, getWidth(lines[end++].text));
    end = std::max(end, i + 1);
    for (; i < end; ++i) {
      out += lines[i].text;
      if (!lines[i].comment.empty()) {
        out.append(width - getWidth(lines[i].text) + 1, ' ');
        out += lines[i].comment;
      }
      out += '\n';
    }
  }
  return out;
}

std::string Formatter::run() {
  for (size_t i = 0; i + 1 < list.tokens.size(); ++i)
    putToken(i);
  putComments(list.tokens.back(), 0);
  return finish();
}

std::optional<std::string>
torsor::formatFile(const std::shared_ptr<const SourceFile> &source,
                   DiagnosticList &diagnostics) {
  DiagnosticList messages;
  std::unique_ptr<ParsedFile> file = parseFile(source, messages);
  for (const Diagnostic *message : messages.sorted())
    diagnostics.add(*message);
  if (messages.hasErrors())
    return std::nullopt;
  return Formatter(*file, lex(*source)).run();
}
