// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing of the tightest expressions: literals, names, calls, brackets.
#include "frontend/Habits.h"
#include "frontend/Parser.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Error.h"

#include <fmt/format.h>

using namespace torsor;

/// Hints for a token that stands where an operand has ended.
static llvm::StringRef getAfterHint(const Token &token) {
  if (token.is("="))
    return "equality is written '=='";
  if (token.is("if") || token.is("then") || token.is("else"))
    return "a choice is written 'if c then a else b'";
  if (token.is("for"))
    return "a list is written [for p < n: …], a sum 'sum p < n: …'";
  return {};
}

static constexpr llvm::StringLiteral noSlices =
    "there are no slices; a vector is written [for p < n: x[p + …]]";

/// postfix = atom { "[" expr { "," expr } "]" }
Expr *Parser::parsePostfix() {
  Expr *value = parseAtom();
  while (value && at("[")) {
    SourceRange open = take().range;
    auto *node = make<IndexExpr>();
    llvm::SmallVector<const Expr *, 4> indices;
    do {
      if (at(":")) {
        failExpected("an index", noSlices);
        return nullptr;
      }
      indices.push_back(parseExpr());
      if (!indices.back())
        return nullptr;
    } while (accept(","));
    llvm::StringRef hint =
        at(":") || at("..") ? llvm::StringRef(noSlices) : getAfterHint(peek());
    if (!expectClose("]", open, hint))
      return nullptr;
    node->value = value;
    node->indices = copy(indices);
    indices.push_back(value);
    value = finish(node, from(value->full.begin), indices);
  }
  return value;
}

/// What a clause's word that stands as an operand was meant to be.
static llvm::StringRef getOperandHint(llvm::StringRef word) {
  if (word == "head")
    return "; the head width is 'D'";
  if (word == "value")
    return "; the width of values is 'V'";
  if (word == "let")
    return "; in a function it stands before the '='";
  return "";
}

/// args = arg { "," arg } [ "," ], behind its "(" and with its ")"
bool Parser::parseArgs(llvm::ArrayRef<Argument> &args, SourceRange open) {
  llvm::SmallVector<Argument, 4> list;
  while (!at(")")) {
    Argument arg;
    uint32_t begin = peek().range.begin;
    bool isWord =
        peek().kind == TokenKind::Name || peek().kind == TokenKind::Keyword;
    if (isWord && peek(1).is("=")) {
      arg.label = {peek().text, peek().range};
      take();
      take();
    }
    if (!(arg.value = parseExpr()))
      return false;
    arg.range = from(begin);
    list.push_back(arg);
    if (!accept(","))
      break;
  }
  args = copy(list);
  return expectClose(")", open, getAfterHint(peek()));
}

Expr *Parser::parseAtom() {
  const Token &token = peek();
  switch (token.kind) {
  case TokenKind::Int:
    return parseInt();
  case TokenKind::Real:
    return parseReal();
  case TokenKind::Name:
    return parseNameOrCall();
  default:
    break;
  }
  if (atAny({"true", "false"})) {
    auto *node = make<BoolExpr>();
    node->value = take().text == "true";
    return finish(node, token.range);
  }
  if (at("("))
    return parseParens();
  if (at("["))
    return parseBrackets();
  return failAtom();
}

/// Says what stands where an operand is needed.
Expr *Parser::failAtom() {
  const Token &token = peek();
  std::string word = token.text.str();
  if (token.error >= 0 || atEnd())
    failExpected("an expression");
  else if (atAny({"if", "sum"}))
    fail(token.range, "paren",
         fmt::format("'{}' inside an expression needs parentheses around it",
                     word));
  else if (token.kind == TokenKind::Keyword && isClauseWord(token.text)) {
    fail(token.range, "syntax",
         fmt::format("expected an expression before the clause '{}'{}", word,
                     getOperandHint(token.text).str()));
    // No clause goes on like that: the word was meant as an operand.
    static constexpr llvm::StringRef operators[] = {
        ")", "]", ",", "+", "*", "/", "^", "<", "<=", ">", ">=", "==", "!="};
    if (llvm::any_of(operators,
                     [&](llvm::StringRef sign) { return peek(1).is(sign); }))
      take();
  } else if (at("not"))
    failExpected("an expression",
                 "'not' inside an operand needs parentheses around it");
  else if (at("+"))
    failExpected("an expression", "there is no unary plus");
  else if (at("for"))
    failExpected("an expression", getAfterHint(token));
  else if (at("="))
    failExpected("an expression", "equality is written '=='");
  else if (at("{"))
    failExpected("an expression", "expressions are grouped by ( )");
  else if (token.kind == TokenKind::String)
    failExpected("an expression", "text stands only behind 'import' and in "
                                  "'require'");
  else
    failExpected("an expression");
  return nullptr;
}

static std::string withoutUnderscores(llvm::StringRef text) {
  std::string digits;
  for (char c : text)
    if (c != '_')
      digits += c;
  return digits;
}

/// A number of 4096 bits has 1234 decimal digits; so many may be written.
static constexpr size_t digitLimit = 1233;

Expr *Parser::parseInt() {
  const Token &token = take();
  if (token.error >= 0)
    return nullptr;
  auto *node = make<IntExpr>();
  std::string digits = withoutUnderscores(token.text);
  llvm::StringRef significant = llvm::StringRef(digits).ltrim('0');
  node->digits = significant.empty() ? "0" : significant.copy(arena);
  if (significant.size() > digitLimit) {
    fail(token.range, "large",
         fmt::format("a number has at most {} digits, but this one has {}",
                     digitLimit, significant.size()));
    return nullptr;
  }
  return finish(node, token.range);
}

Expr *Parser::parseReal() {
  const Token &token = take();
  if (token.error >= 0)
    return nullptr;
  std::string text = withoutUnderscores(token.text);
  if (text.size() > digitLimit) {
    fail(token.range, "large",
         fmt::format("a number has at most {} digits, but this one has {}",
                     digitLimit, text.size()));
    return nullptr;
  }
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  auto status =
      value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    fail(token.range, "number",
         fmt::format("'{}' is not a number", token.text.str()));
    return nullptr;
  }
  if (!value.isFinite()) {
    fail(token.range, "range",
         fmt::format("'{}' is beyond the largest real, about 1.8e308",
                     token.text.str()));
    return nullptr;
  }
  auto *node = make<RealExpr>();
  node->value = value.convertToDouble();
  return finish(node, token.range);
}

Expr *Parser::parseParens() {
  if (parenDepth == nestingLimit && !failNesting())
    return nullptr;
  SourceRange open = take().range;
  ++parenDepth;
  Expr *inner = parseExpr();
  --parenDepth;
  if (!inner || !expectClose(")", open, getAfterHint(peek())))
    return nullptr;
  inner->parens = true;
  inner->full = from(open.begin);
  return inner;
}

/// "[" expr { "," expr } [ "," ] "]"
Expr *Parser::parseBrackets() {
  SourceRange open = take().range;
  if (at("for"))
    return parseFor(open);
  llvm::SmallVector<const Expr *, 8> items;
  while (!at("]")) {
    items.push_back(parseExpr());
    if (!items.back())
      return nullptr;
    if (!accept(","))
      break;
  }
  if (!expectClose("]", open, getAfterHint(peek())))
    return nullptr;
  if (items.empty()) {
    fail(from(open.begin), "empty", "a list needs at least one element");
    return nullptr;
  }
  auto *node = make<ListExpr>();
  node->items = copy(items);
  return finish(node, from(open.begin), items);
}

/// "[" "for" NAME "<" arith ":" expr "]", at its "for"
Expr *Parser::parseFor(SourceRange open) {
  take();
  auto *node = make<ForExpr>();
  if (!parseName(node->name, "the index") ||
      !expect("<", "", "a list is written [for p < n: …], counted from 0") ||
      !(node->bound = parseBound()) || !expect(":", "and an element") ||
      !(node->body = parseExpr()) || !expectClose("]", open))
    return nullptr;
  return finish(node, from(open.begin), {node->bound, node->body});
}

/// NAME [ "(" [ args ] ")" ]
Expr *Parser::parseNameOrCall() {
  const Token &token = take();
  if (!at("(")) {
    // `lambda` may be a name of the user's, but not before its variables.
    if (token.text == "lambda" && (at(":") || peek().kind == TokenKind::Name)) {
      fail(token.range, "syntax",
           fmt::format("'lambda' is no expression here; {}",
                       getHabitHint(token.text).str()));
      return nullptr;
    }
    auto *node = make<NameExpr>();
    node->text = token.text;
    return finish(node, token.range);
  }
  SourceRange open = take().range;
  auto *node = make<CallExpr>();
  node->name = {token.text, token.range};
  if (!parseArgs(node->args, open))
    return nullptr;
  llvm::SmallVector<const Expr *, 4> children;
  for (const Argument &arg : node->args)
    children.push_back(arg.value);
  return finish(node, from(token.range.begin), children);
}
