// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing of files and items.
#include "frontend/Habits.h"
#include "frontend/Parser.h"

#include "llvm/ADT/StringSwitch.h"

#include <fmt/format.h>

using namespace torsor;

llvm::ArrayRef<llvm::StringRef> Parser::getDoc(const Token &token) {
  llvm::SmallVector<llvm::StringRef, 4> lines;
  for (uint32_t i = token.firstComment; i < token.lastComment; ++i)
    if (list.comments[i].isDoc)
      lines.push_back(list.comments[i].getText());
  return copy(lines);
}

/// [ "torsor" INT ] { "import" STRING }; false if nothing after can be read.
bool Parser::parseHead(ParsedFile &file) {
  beginPart();
  if (accept("torsor")) {
    if (peek().kind != TokenKind::Int) {
      failExpected("a version number after 'torsor'", "write 'torsor 1'");
      return true;
    }
    const Token &version = take();
    if (version.error < 0 && version.text != "1") {
      fail(version.range, "version",
           fmt::format("this compiler knows version 1 of the language, but "
                       "the file asks for {}",
                       version.text.str()));
      return false;
    }
  }
  while (at("import")) {
    beginPart();
    take();
    const Token &path = peek();
    if (path.kind != TokenKind::String) {
      failExpected("a file name in quotes after 'import'");
      return true;
    }
    file.imports.push_back({path.text.drop_front().drop_back(), take().range});
  }
  return true;
}

/// file = [ "torsor" INT ] { "import" STRING } { item }
void Parser::parseFile(ParsedFile &file) {
  bool readable = parseHead(file);
  file.broken = broken;
  if (!readable)
    return;
  if (broken && !atEnd() && !at("let"))
    skipToItem(1);
  while (!atEnd()) {
    beginPart();
    broken = false;
    unsigned column = source.getPlace(peek().range.begin).column;
    Item *item = parseItem();
    if (!item || broken)
      skipToItem(column);
    if (!item) {
      file.broken = true;
      continue;
    }
    item->broken = broken;
    file.items.push_back(item);
  }
}

/// item = let | fn | scheme | stack; null if it has no name.
Item *Parser::parseItem() {
  const Token &first = peek();
  Item *item = nullptr;
  if (at("let"))
    item = parseLetItem();
  else if (at("fn"))
    item = parseFunction();
  else if (at("scheme"))
    item = parseScheme();
  else if (at("stack"))
    item = parseStack();
  else
    failItem();
  if (!item)
    return nullptr;
  item->doc = getDoc(first);
  item->range = from(first.range.begin);
  return item;
}

void Parser::failItem() {
  const Token &token = peek();
  if (token.error >= 0)
    failExpected("an item");
  else if (atAny({"import", "torsor"}))
    fail(token.range, "syntax",
         fmt::format("'{}' stands at the head of the file", token.text.str()));
  else if (at("}"))
    fail(token.range, "syntax", "this '}' closes nothing");
  else if (token.kind == TokenKind::Keyword && isClauseWord(token.text))
    fail(token.range, "syntax",
         fmt::format("the clause '{}' stands outside a scheme",
                     token.text.str()));
  else
    failExpected("'scheme', 'stack', 'fn' or 'let'", getItemHint(token.text));
  take();
}

Item *Parser::parseLetItem() {
  auto *item = make<LetItem>();
  take();
  if (!parseName(item->name, "a 'let'"))
    return nullptr;
  if (expect("=", "", at(":") ? "a 'let' has no type" : ""))
    item->value = parseExpr();
  return item;
}

/// fn = "fn" NAME "(" [ formals ] ")" "->" type { let | require } "=" expr
Item *Parser::parseFunction() {
  auto *item = make<FunctionItem>();
  take();
  if (!parseName(item->name, "a function"))
    return nullptr;
  parseFunctionBody(*item);
  return item;
}

bool Parser::parseFunctionBody(FunctionItem &item) {
  SourceRange open = peek().range;
  if (!expect("(", "and the function's parameters") ||
      !parseFormals(item.formals) || !expectClose(")", open) ||
      !expect("->", "and a result type") || !parseType(item.result))
    return false;
  llvm::SmallVector<const Clause *, 4> body;
  while (atAny({"let", "require"})) {
    const Token &word = take();
    Clause *clause =
        makeClause(word.text == "let" ? ClauseKind::Let : ClauseKind::Require);
    clause->word = word.range;
    clause->doc = getDoc(word);
    if (!parseClauseBody(*clause))
      return false;
    clause->range = from(word.range.begin);
    body.push_back(clause);
  }
  item.body = copy(body);
  llvm::StringRef hint = at("{") || at(":")
                             ? "a function's value stands behind '=', without "
                               "braces"
                             : "";
  return expect("=", "and the function's value", hint) &&
         (item.value = parseExpr());
}

/// formals = formal { "," formal } [ "," ], up to the ")"
bool Parser::parseFormals(llvm::ArrayRef<Formal> &formals) {
  llvm::SmallVector<Formal, 4> items;
  while (!at(")")) {
    Formal formal;
    uint32_t begin = peek().range.begin;
    if (!parseName(formal.name, "a parameter") ||
        !expect(":", "and a type", "a parameter is written 'name: type'") ||
        !parseType(formal.type))
      return false;
    if (accept("=") && !(formal.defaultValue = parseExpr()))
      return false;
    formal.range = from(begin);
    items.push_back(formal);
    if (!accept(","))
      break;
  }
  formals = copy(items);
  return true;
}

/// type = ( NAME | "action" | "clock" ) [ "[" expr "]" ]
bool Parser::parseType(TypeNode &type) {
  const Token &token = peek();
  if (token.kind != TokenKind::Name && !atAny({"action", "clock"})) {
    failExpected("a type");
    return false;
  }
  take();
  int base = llvm::StringSwitch<int>(token.text)
                 .Case("int", int(TypeBase::Int))
                 .Case("real", int(TypeBase::Real))
                 .Case("bool", int(TypeBase::Bool))
                 .Case("action", int(TypeBase::Action))
                 .Case("clock", int(TypeBase::Clock))
                 .Default(-1);
  if (at("[")) {
    SourceRange open = take().range;
    if (at("]")) {
      failExpected("a length", "a name stands for any length, as in real[n]");
      return false;
    }
    if (!(type.size = parseExpr()) || !expectClose("]", open))
      return false;
  }
  type.range = from(token.range.begin);
  if (base >= 0) {
    type.base = TypeBase(base);
    return true;
  }
  llvm::StringRef digits = token.text.ltrim("bfiu");
  bool storage =
      digits.size() < token.text.size() && !digits.empty() &&
      digits.find_first_not_of("0123456789") == llvm::StringRef::npos;
  fail(type.range, "type-name",
       fmt::format("'{}' is not a type; types are int, real, bool, action and "
                   "clock{}",
                   token.text.str(),
                   storage ? " (the storage types f32, bf16, … belong to "
                             "'param' and 'input')"
                           : ""));
  return false;
}

/// scheme = "scheme" NAME ( "=" expr | [ "(" [ formals ] ")" ]
///          "{" { clause } "}" )
Item *Parser::parseScheme() {
  take();
  Name name;
  if (!parseName(name, "a scheme"))
    return nullptr;
  if (accept("=")) {
    auto *instance = make<InstanceItem>();
    instance->name = name;
    instance->value = parseExpr();
    return instance;
  }
  auto *item = make<SchemeItem>();
  item->name = name;
  if (at("(")) {
    SourceRange open = take().range;
    if (!parseFormals(item->formals) || !expectClose(")", open))
      skipToBody();
  }
  SourceRange open = peek().range;
  if (at("-")) {
    failExpected("'{'", "a name is letters, digits and '_'");
    while (accept("-"))
      take();
    open = peek().range;
    if (accept("{"))
      parseClauses(*item, open);
    return item;
  }
  if (expect("{"))
    parseClauses(*item, open);
  return item;
}

/// What to do about a clause that stands twice.
static llvm::StringRef getTwiceHint(ClauseKind kind) {
  if (kind == ClauseKind::Mask)
    return "; join the conditions with 'and'";
  if (kind == ClauseKind::Bias)
    return "; add the terms";
  return "";
}

static bool mayStandTwice(ClauseKind kind) {
  switch (kind) {
  case ClauseKind::Let:
  case ClauseKind::Require:
  case ClauseKind::Clock:
  case ClauseKind::Param:
  case ClauseKind::Input:
    return true;
  default:
    return false;
  }
}

void Parser::parseClauses(SchemeItem &item, SourceRange open) {
  llvm::SmallVector<const Clause *, 16> clauses;
  const Clause *firsts[size_t(ClauseKind::Embed) + 1] = {};
  while (true) {
    beginPart();
    if (accept("}"))
      break;
    if (atEnd() || atItemWord() || atAny({"import", "torsor"})) {
      // An open text takes the rest of its line, and its brace.
      if (!diagnostics.hasErrors())
        fail(getFoundRange(), "syntax", "the scheme's '}' is missing")
            .note(open, "the scheme opens here");
      break;
    }
    Clause *clause = parseClause();
    if (!clause) {
      skipToClause();
      continue;
    }
    const Clause *&first = firsts[size_t(clause->kind)];
    if (!first || mayStandTwice(clause->kind)) {
      first = first ? first : clause;
      clauses.push_back(clause);
      continue;
    }
    bool wasBroken = broken;
    fail(clause->word, "clause-twice",
         fmt::format("the clause '{}' stands twice{}",
                     getClauseWord(clause->kind).str(),
                     getTwiceHint(clause->kind).str()))
        .note(first->word, "the first is here");
    broken = wasBroken;
  }
  item.clauses = copy(clauses);
}

/// stack = "stack" NAME "{" { let } [ "layers" expr ] "use" expr { "," expr }
///         "}"
Item *Parser::parseStack() {
  auto *item = make<StackItem>();
  take();
  if (!parseName(item->name, "a stack"))
    return nullptr;
  parseStackBody(*item);
  return item;
}

bool Parser::parseStackBody(StackItem &item) {
  SourceRange open = peek().range;
  if (!expect("{"))
    return false;
  llvm::SmallVector<const LetClause *, 4> lets;
  while (at("let")) {
    const Token &word = take();
    auto *let = llvm::cast<LetClause>(makeClause(ClauseKind::Let));
    let->word = word.range;
    let->doc = getDoc(word);
    if (!parseLet(*let))
      return false;
    let->range = from(word.range.begin);
    lets.push_back(let);
  }
  item.lets = copy(lets);
  if (accept("layers")) {
    if (at("=") || at(":")) {
      failExpected("an expression", "'layers' has no sign behind it");
      return false;
    }
    if (!(item.layers = parseExpr()))
      return false;
  }
  if (!expect("use", "and a scheme for each layer",
              at(",") ? "no comma stands before it" : ""))
    return false;
  llvm::SmallVector<const Expr *, 4> uses;
  do {
    uses.push_back(parseExpr());
    if (!uses.back())
      return false;
    if (llvm::isa<ListExpr>(uses.back())) {
      fail(uses.back()->range, "use",
           "'use' takes schemes with commas between them, not a list; remove "
           "the brackets");
      return false;
    }
  } while (accept(","));
  item.uses = copy(uses);
  llvm::StringRef hint;
  if (atAny({"then", "else", "if"}))
    hint = "a choice is written 'if c then a else b'";
  else if (at("for"))
    hint = "layers are told apart by 'if' on 'layer'";
  return expectClose("}", open, hint);
}
