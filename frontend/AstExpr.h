// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Syntax tree of expressions. Nodes live in the arena of their file and are
// trivially destructible; use llvm::isa, cast and dyn_cast.
#ifndef TORSOR_FRONTEND_ASTEXPR_H
#define TORSOR_FRONTEND_ASTEXPR_H

#include "frontend/SourceFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Casting.h"

namespace torsor {

/// A name where it stands.
struct Name {
  llvm::StringRef text;
  SourceRange range;
  explicit operator bool() const { return !text.empty(); }
};

enum class ExprKind : uint8_t {
  Int,
  Real,
  Bool,
  Name,
  Call,
  Index,
  List,
  For,
  Sum,
  If,
  Binary,
  Compare,
  Not,
  Negate,
  At,
};

struct Expr {
  ExprKind kind;
  /// Height of the tree below, at most 256.
  uint16_t height = 1;
  bool parens = false;
  /// What carets mark: the expression without parentheses around it. The range
  /// of an `At` begins inside the parentheses of its action.
  SourceRange range;
  /// The same with its parentheses; what messages quote.
  SourceRange full;

protected:
  explicit Expr(ExprKind kind) : kind(kind) {}
};

template <ExprKind K> struct ExprOf : Expr {
  ExprOf() : Expr(K) {}
  static bool classof(const Expr *e) { return e->kind == K; }
};

/// An int of any size; `digits` are [0-9] only, without leading zeros.
struct IntExpr : ExprOf<ExprKind::Int> {
  llvm::StringRef digits;
};

/// A real literal, finite.
struct RealExpr : ExprOf<ExprKind::Real> {
  double value = 0;
};

struct BoolExpr : ExprOf<ExprKind::Bool> {
  bool value = false;
};

struct NameExpr : ExprOf<ExprKind::Name> {
  llvm::StringRef text;
};

/// `value` or `label = value`. `range` covers both.
struct Argument {
  Name label;
  const Expr *value = nullptr;
  SourceRange range;
};

struct CallExpr : ExprOf<ExprKind::Call> {
  Name name;
  llvm::ArrayRef<Argument> args;
};

/// `value[i, j]`.
struct IndexExpr : ExprOf<ExprKind::Index> {
  const Expr *value = nullptr;
  llvm::ArrayRef<const Expr *> indices;
};

/// `[a, b, c]`; at least one element.
struct ListExpr : ExprOf<ExprKind::List> {
  llvm::ArrayRef<const Expr *> items;
};

/// `[for name < bound: body]`.
struct ForExpr : ExprOf<ExprKind::For> {
  Name name;
  const Expr *bound = nullptr;
  const Expr *body = nullptr;
};

enum class SumKind : uint8_t { Less, LessEqual, In };

/// `sum name < hi: body`, `sum name <= hi: body`, `sum name in lo .. hi: body`.
struct SumExpr : ExprOf<ExprKind::Sum> {
  Name name;
  SumKind bound = SumKind::Less;
  /// Only with SumKind::In.
  const Expr *lo = nullptr;
  const Expr *hi = nullptr;
  const Expr *body = nullptr;
};

struct IfExpr : ExprOf<ExprKind::If> {
  const Expr *condition = nullptr;
  const Expr *yes = nullptr;
  const Expr *no = nullptr;
};

enum class BinaryOp : uint8_t {
  Or,
  And,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow
};

/// As it is written: `or`, `+`, `div`, …
llvm::StringRef getSpelling(BinaryOp op);

struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op = BinaryOp::Add;
  SourceRange opRange;
  const Expr *left = nullptr;
  const Expr *right = nullptr;
};

enum class CompareOp : uint8_t {
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  In,
};

llvm::StringRef getSpelling(CompareOp op);

struct CompareLink {
  CompareOp op = CompareOp::Less;
  SourceRange opRange;
  const Expr *right = nullptr;
};

/// `first op right op right …`; several links point in one direction.
struct CompareExpr : ExprOf<ExprKind::Compare> {
  const Expr *first = nullptr;
  llvm::ArrayRef<CompareLink> links;
};

struct NotExpr : ExprOf<ExprKind::Not> {
  const Expr *value = nullptr;
};

struct NegateExpr : ExprOf<ExprKind::Negate> {
  const Expr *value = nullptr;
};

/// `action at clock` (a NameExpr, an IndexExpr of one, or any expression in
/// parentheses), or `action at (q = query, k = key)`.
struct AtExpr : ExprOf<ExprKind::At> {
  const Expr *value = nullptr;
  /// The word `at`.
  SourceRange word;
  /// Null with explicit places.
  const Expr *clock = nullptr;
  const Expr *query = nullptr;
  const Expr *key = nullptr;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_ASTEXPR_H
