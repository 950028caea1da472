// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recursive-descent parser; the functions for callers are in Ast.h.
#ifndef TORSOR_FRONTEND_PARSER_H
#define TORSOR_FRONTEND_PARSER_H

#include "frontend/Ast.h"
#include "frontend/Diagnostics.h"
#include "frontend/Lexer.h"

#include "llvm/ADT/SmallVector.h"

#include <initializer_list>
#include <new>

namespace torsor {

/// Parsing functions return null after a failure, which they have reported;
/// the caller passes it up to the clause or item, where parsing resumes. One
/// thing is said about each clause.
class Parser {
public:
  Parser(const SourceFile &source, llvm::BumpPtrAllocator &arena,
         DiagnosticList &diagnostics);

  void parseFile(ParsedFile &file);
  const Expr *parseWholeExpression();

  /// Depth of nested expressions, as the height of a tree and as recursion.
  static constexpr unsigned nestingLimit = 256;
  /// Parentheses are no part of a tree, and nest so deep as well.
  static constexpr unsigned recursionLimit = 2 * nestingLimit + 1;

private:
  // Tokens.
  const Token &peek(size_t n = 0) const {
    return tokens[std::min(next + n, tokens.size() - 1)];
  }
  bool at(llvm::StringRef word) const { return peek().is(word); }
  bool atAny(std::initializer_list<llvm::StringRef> words) const;
  bool atEnd() const { return peek().kind == TokenKind::EndOfFile; }
  const Token &take();
  bool accept(llvm::StringRef word);
  bool expect(llvm::StringRef word, llvm::StringRef purpose = "",
              llvm::StringRef hint = "");
  /// Expects the bracket that closes the one at `open`.
  bool expectClose(llvm::StringRef bracket, SourceRange open,
                   llvm::StringRef hint = "");
  /// A name for `what`: "a function", "an input".
  bool parseName(Name &name, llvm::StringRef what);

  // Failures.
  void reportLexical(int32_t error);
  void reportDropped();
  Diagnostic &fail(SourceRange range, llvm::StringRef id, std::string text);
  /// `expected WHAT, found …` at the next token.
  Diagnostic &failExpected(llvm::StringRef what, llvm::StringRef hint = "");
  std::string quoteFound() const;
  SourceRange getFoundRange() const;
  bool failNesting();
  void beginPart() { partFailed = false; }
  bool atItemWord() const { return atAny({"scheme", "fn", "stack"}); }
  void skipToClause();
  void skipToItem(unsigned column);
  void skipToBody();

  // Items.
  Item *parseItem();
  Item *parseLetItem();
  Item *parseFunction();
  Item *parseScheme();
  Item *parseStack();
  void failItem();
  bool parseHead(ParsedFile &file);
  bool parseFunctionBody(FunctionItem &item);
  bool parseStackBody(StackItem &item);
  void parseClauses(SchemeItem &item, SourceRange open);
  bool parseFormals(llvm::ArrayRef<Formal> &formals);
  bool parseType(TypeNode &type);
  llvm::ArrayRef<llvm::StringRef> getDoc(const Token &token);

  // Clauses.
  Clause *parseClause();
  void failClause();
  bool parseClauseBody(Clause &clause);
  bool parseLet(LetClause &clause);
  bool parseRequire(RequireClause &clause);
  bool parseTerm(TermClause &clause);
  bool parseValue(ValueClause &clause);
  bool parseClock(ClockClause &clause);
  bool parseBinder(ClockBinder &binder);
  bool parseTensor(TensorClause &clause);
  bool parseAxes(TensorClause &clause);
  bool parseCallClause(CallClause &clause);
  bool parseRange(RangeNode &range);
  bool parseBounds(RangeNode &range);
  void skipAssignment(const Clause &clause);
  Clause *makeClause(ClauseKind kind);

  // Expressions.
  Expr *parseExpr();
  Expr *parseIf();
  Expr *parseSum();
  bool parseSumBound(SumExpr &sum);
  using Rule = Expr *(Parser::*)();
  Expr *parseChain(Rule operand, llvm::ArrayRef<BinaryOp> ops);
  Expr *parseOr();
  Expr *parseAnd();
  Expr *parseNot();
  Expr *parseCompare();
  Expr *parseArith();
  Expr *parseBound();
  Expr *parseProduct();
  Expr *parseUnary();
  Expr *parsePower();
  Expr *parsePlaced();
  bool parsePlace(AtExpr &at);
  bool parseSides(AtExpr &at);
  Expr *parsePostfix();
  Expr *parseAtom();
  Expr *parseInt();
  Expr *parseReal();
  Expr *parseParens();
  Expr *parseBrackets();
  Expr *parseFor(SourceRange open);
  Expr *parseNameOrCall();
  Expr *failAtom();
  bool parseArgs(llvm::ArrayRef<Argument> &args, SourceRange open);
  Expr *makeBinary(BinaryOp op, SourceRange opRange, Expr *left, Expr *right);

  // Memory.
  template <typename T, typename... Args> T *make(Args &&...args) {
    return new (arena.Allocate<T>()) T(std::forward<Args>(args)...);
  }
  template <typename T>
  llvm::ArrayRef<T> copy(const llvm::SmallVectorImpl<T> &items) {
    return llvm::ArrayRef<T>(items).copy(arena);
  }
  SourceRange from(uint32_t begin) const { return {&source, begin, lastEnd}; }
  /// Sets range and height; null, reported, if it nests too deep.
  Expr *finish(Expr *expr, SourceRange range,
               llvm::ArrayRef<const Expr *> children = {});

  const SourceFile &source;
  llvm::BumpPtrAllocator &arena;
  DiagnosticList &diagnostics;
  TokenList list;
  /// Without the tokens that the lexer dropped.
  std::vector<Token> tokens;
  /// Errors of dropped tokens, each with the index of the token behind
  /// it.
  llvm::SmallVector<std::pair<size_t, int32_t>> droppedErrors;
  size_t nextDropped = 0;
  size_t next = 0;
  uint32_t lastEnd = 0;
  unsigned depth = 0, parenDepth = 0;
  /// Something was said about the present clause or item head.
  bool partFailed = false;
  /// The present item cannot be checked.
  bool broken = false;
  /// Swallows notes of messages that are not shown.
  Diagnostic unshown;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_PARSER_H
