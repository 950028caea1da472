// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing of the clauses of a scheme.
#include "frontend/Habits.h"
#include "frontend/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace torsor;

Clause *Parser::makeClause(ClauseKind kind) {
  switch (kind) {
  case ClauseKind::Let:
    return make<LetClause>();
  case ClauseKind::Require:
    return make<RequireClause>();
  case ClauseKind::Value:
    return make<ValueClause>();
  case ClauseKind::Clock:
    return make<ClockClause>();
  case ClauseKind::Param:
  case ClauseKind::Input:
    return make<TensorClause>(kind);
  case ClauseKind::Norm:
  case ClauseKind::Readout:
    return make<CallClause>(kind);
  default:
    return make<TermClause>(kind);
  }
}

/// clause = let | require | width | clock | tensor | norm | readout | term
Clause *Parser::parseClause() {
  const Token &word = peek();
  auto words = getClauseWords();
  const auto *found = llvm::find(words, word.text);
  if (word.kind != TokenKind::Keyword || found == words.end()) {
    failClause();
    return nullptr;
  }
  take();
  Clause *clause = makeClause(ClauseKind(found - words.begin()));
  clause->word = word.range;
  clause->doc = getDoc(word);
  if (!parseClauseBody(*clause))
    return nullptr;
  clause->range = from(word.range.begin);
  return clause;
}

/// Says what stands where a clause is needed, and takes it.
void Parser::failClause() {
  const Token &token = peek();
  std::string word = token.text.str();
  bool isWord =
      token.kind == TokenKind::Name || token.kind == TokenKind::Keyword;
  if (token.error >= 0) {
    failExpected("a clause");
  } else if (at("if")) {
    failExpected("a clause", "a choice is written 'if c then a else b'");
  } else if (at("=")) {
    failExpected("a clause", "equality is written '=='");
  } else if (at(",")) {
    failExpected("a clause or '}'",
                 "clauses need no comma; conditions are joined by 'and', "
                 "actions by '+'");
  } else if (at("..")) {
    failExpected("a clause or '}'",
                 "a range is tested by comparisons, as in 0 <= x < 8");
  } else if (!isWord || atAny({"then", "else", "in", "for", "at", "and", "or",
                               "not", "div", "mod"})) {
    failExpected("a clause or '}'");
  } else if (llvm::StringRef near = getNearest(word, getClauseWords());
             !near.empty()) {
    fail(token.range, "clause",
         fmt::format("'{}' is not a clause; did you mean '{}'?", word,
                     near.str()))
        .withFix(near.str());
  } else {
    std::string hint = getClauseHint(word).str();
    if (hint.empty() && peek(1).is("="))
      hint = fmt::format("a name is defined by 'let {} = …'", word);
    else if (hint.empty())
      hint = fmt::format("clauses are {}", llvm::join(getClauseWords(), " "));
    fail(token.range, "clause",
         fmt::format("'{}' is not a clause{}{}", word, hint.empty() ? "" : "; ",
                     hint));
  }
  take();
}

bool Parser::parseClauseBody(Clause &clause) {
  switch (clause.kind) {
  case ClauseKind::Let:
    return parseLet(llvm::cast<LetClause>(clause));
  case ClauseKind::Require:
    return parseRequire(llvm::cast<RequireClause>(clause));
  case ClauseKind::Value:
    return parseValue(llvm::cast<ValueClause>(clause));
  case ClauseKind::Clock:
    return parseClock(llvm::cast<ClockClause>(clause));
  case ClauseKind::Param:
  case ClauseKind::Input:
    return parseTensor(llvm::cast<TensorClause>(clause));
  case ClauseKind::Norm:
  case ClauseKind::Readout:
    return parseCallClause(llvm::cast<CallClause>(clause));
  default:
    return parseTerm(llvm::cast<TermClause>(clause));
  }
}

/// let = "let" NAME "=" expr, behind its word
bool Parser::parseLet(LetClause &clause) {
  return parseName(clause.name, "a 'let'") &&
         expect("=", "", at(":") ? "a 'let' has no type" : "") &&
         (clause.value = parseExpr());
}

/// require = "require" expr "," STRING, behind its word
bool Parser::parseRequire(RequireClause &clause) {
  if (!(clause.condition = parseExpr()) || !expect(",", "and a message"))
    return false;
  if (peek().kind != TokenKind::String) {
    failExpected("a message in quotes");
    return false;
  }
  const Token &text = take();
  clause.message = text.text.drop_front().drop_back();
  clause.messageRange = text.range;
  return true;
}

/// Says that `scale = e` is written `scale e`, and goes on behind the sign.
void Parser::skipAssignment(const Clause &clause) {
  if (!atAny({"=", ":"}))
    return;
  std::string word = getClauseWord(clause.kind).str();
  if (!partFailed)
    diagnostics
        .error(peek().range, "syntax",
               fmt::format("expected an expression, found '{}'; a clause has "
                           "no sign behind its word: '{} …'",
                           peek().text.str(), word))
        .withFix("");
  partFailed = true;
  take();
}

bool Parser::parseTerm(TermClause &clause) {
  skipAssignment(clause);
  return (clause.value = parseExpr());
}

/// "value" ( expr | "key" "[" expr ".." expr "]" ), behind its word
bool Parser::parseValue(ValueClause &clause) {
  skipAssignment(clause);
  if (peek().text == "k" && peek(1).is("[")) {
    fail(peek().range, "syntax",
         "a value that is lanes of the key is written 'key[lo .. hi]'");
    return false;
  }
  if (!accept("key"))
    return (clause.width = parseExpr());
  SourceRange open = peek().range;
  RangeNode &lanes = clause.lanes;
  if (!expect("[", "and the lanes") || !(lanes.lo = parseExpr()) ||
      !expect("..", "", at(":") ? "the lanes are written key[lo .. hi]" : "") ||
      !(lanes.hi = parseExpr()) || !expectClose("]", open))
    return false;
  lanes.range = lanes.lo->full.to(lanes.hi->full);
  return true;
}

/// arith ".." arith
bool Parser::parseBounds(RangeNode &range) {
  if (!(range.lo = parseBound()) ||
      !expect("..", "", "a range is written 'lo .. hi'") ||
      !(range.hi = parseBound()))
    return false;
  range.range = range.lo->full.to(range.hi->full);
  return true;
}

/// range = "in" arith ".." arith, if it stands here
bool Parser::parseRange(RangeNode &range) {
  return !accept("in") || parseBounds(range);
}

/// binder = NAME [ "[" NAME "<" arith "]" ]
bool Parser::parseBinder(ClockBinder &binder) {
  if (!parseName(binder.name, "a clock"))
    return false;
  if (at("[")) {
    SourceRange open = take().range;
    if (!parseName(binder.index, "an index") ||
        !expect("<", "", "a family of clocks is written 'c[p < 64]'") ||
        !(binder.bound = parseBound()) || !expectClose("]", open))
      return false;
  }
  binder.range = from(binder.name.range.begin);
  return true;
}

/// clock = "clock" binder ( "=" expr | { "," binder } [ ":" NAME ]
///         [ "moving" ] [ "rising" ] [ range ] ), behind its word
bool Parser::parseClock(ClockClause &clause) {
  llvm::SmallVector<ClockBinder, 4> binders(1);
  if (atAny({"moving", "rising"}) && peek(1).kind == TokenKind::Name) {
    std::string word = peek().text.str();
    fail(peek().range, "syntax",
         fmt::format("'{0}' stands behind the name and its type: 'clock {1}: "
                     "f64 {0}'",
                     word, peek(1).text.str()));
    return false;
  }
  if (!parseBinder(binders[0]))
    return false;
  if (accept("=")) {
    clause.binders = copy(binders);
    return (clause.value = parseExpr());
  }
  while (accept(",")) {
    binders.emplace_back();
    if (!parseBinder(binders.back()))
      return false;
  }
  clause.binders = copy(binders);
  if (accept(":") && !parseName(clause.storage, "a storage type"))
    return false;
  if (at("=")) {
    failExpected("a clause", "a clock that is summed has no type: 'clock c = "
                             "sum l <= j: …'");
    return false;
  }
  if (at(",") && peek(1).kind == TokenKind::Keyword) {
    failExpected("a clause", fmt::format("no comma stands before '{}'",
                                         peek(1).text.str()));
    return false;
  }
  clause.moving = accept("moving");
  clause.rising = accept("rising");
  if (at("moving")) {
    fail(peek().range, "syntax", "'moving' stands before 'rising'");
    return false;
  }
  return parseRange(clause.bounds);
}

/// tensor = "param" names ":" store [ "orthogonal" | "condition" arith ]
///          [ range ] | "input" names ":" store "per" NAME [ range ]
bool Parser::parseTensor(TensorClause &clause) {
  bool isParam = clause.kind == ClauseKind::Param;
  llvm::SmallVector<Name, 4> names(1);
  if (!parseName(names[0], isParam ? "a param" : "an input"))
    return false;
  while (accept(",")) {
    names.emplace_back();
    if (!parseName(names.back(), "a tensor"))
      return false;
  }
  clause.names = copy(names);
  if (!expect(":", "and a storage type") ||
      !parseName(clause.storage, "a storage type"))
    return false;
  if (at("[") && !parseAxes(clause))
    return false;
  if (isParam) {
    if (at("per")) {
      fail(peek().range, "syntax",
           "a param is loaded once; what comes with each call is an 'input'");
      return false;
    }
    clause.orthogonal = accept("orthogonal");
    if (!clause.orthogonal && accept("condition") &&
        !(clause.condition = parseBound()))
      return false;
    return parseRange(clause.bounds);
  }
  if (!at("per")) {
    fail(names[0].range, "per",
         fmt::format("'{}' does not say how often it changes; write 'per "
                     "token', 'per sequence' or 'per call'",
                     names[0].text.str()));
    return false;
  }
  take();
  return parseName(clause.per, "a rate ('token', 'sequence' or 'call')") &&
         parseRange(clause.bounds);
}

/// "[" dim { "," dim } "]"   dim = expr | "*"
bool Parser::parseAxes(TensorClause &clause) {
  SourceRange open = take().range;
  llvm::SmallVector<Axis, 4> axes;
  do {
    Axis axis;
    uint32_t begin = peek().range.begin;
    if (!accept("*") && !(axis.extent = parseExpr()))
      return false;
    axis.range = axis.extent ? axis.extent->range : from(begin);
    axes.push_back(axis);
  } while (accept(","));
  clause.axes = copy(axes);
  return expectClose("]", open);
}

/// norm = "norm" NAME [ "(" args ")" ]
/// readout = "readout" NAME [ "(" args ")" ] [ "/" expr ]
bool Parser::parseCallClause(CallClause &clause) {
  skipAssignment(clause);
  bool isNorm = clause.kind == ClauseKind::Norm;
  if (!parseName(clause.name, isNorm ? "a norm" : "a readout"))
    return false;
  if (at("(")) {
    SourceRange open = take().range;
    if (!parseArgs(clause.args, open))
      return false;
  }
  return isNorm || !accept("/") || (clause.divisor = parseExpr());
}
