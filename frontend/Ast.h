// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Syntax tree of a file: items, clauses and types. Expressions: AstExpr.h.
#ifndef TORSOR_FRONTEND_AST_H
#define TORSOR_FRONTEND_AST_H

#include "frontend/AstExpr.h"

#include "llvm/Support/Allocator.h"

#include <memory>

namespace torsor {

enum class TypeBase : uint8_t { Int, Real, Bool, Action, Clock };

/// `real`, `int[n]`, `real[2 * n]`.
struct TypeNode {
  TypeBase base = TypeBase::Int;
  const Expr *size = nullptr;
  SourceRange range;
};

/// `name: type = default` of a function or scheme.
struct Formal {
  Name name;
  TypeNode type;
  const Expr *defaultValue = nullptr;
  SourceRange range;
};

/// `in lo .. hi`; absent if `lo` is null. `range` is `lo .. hi`.
struct RangeNode {
  const Expr *lo = nullptr, *hi = nullptr;
  SourceRange range;
};

enum class ClauseKind : uint8_t {
  Let,
  Require,
  Head,
  Value,
  Clock,
  Param,
  Input,
  Norm,
  Action,
  ValueAction,
  Scale,
  Softcap,
  Logit,
  Bias,
  ValueBias,
  Mask,
  Sink,
  Readout,
  Embed,
};

/// The word that begins a clause of this kind.
llvm::StringRef getClauseWord(ClauseKind kind);

struct Clause {
  ClauseKind kind;
  /// The whole clause; its word alone.
  SourceRange range, word;
  /// Lines of the `///` comment before it, without the slashes, trimmed.
  llvm::ArrayRef<llvm::StringRef> doc;

protected:
  explicit Clause(ClauseKind kind) : kind(kind) {}
};

/// `let name = value`, in a scheme, a function, a stack or a file.
struct LetClause : Clause {
  LetClause() : Clause(ClauseKind::Let) {}
  static bool classof(const Clause *c) { return c->kind == ClauseKind::Let; }
  Name name;
  const Expr *value = nullptr;
};

/// `require condition, "message"`.
struct RequireClause : Clause {
  RequireClause() : Clause(ClauseKind::Require) {}
  static bool classof(const Clause *c) {
    return c->kind == ClauseKind::Require;
  }
  const Expr *condition = nullptr;
  /// Without the quotes.
  llvm::StringRef message;
  SourceRange messageRange;
};

/// A word and an expression: head, action, value_action, scale, softcap, logit,
/// bias, value_bias, mask, sink, embed.
struct TermClause : Clause {
  explicit TermClause(ClauseKind kind) : Clause(kind) {}
  static bool classof(const Clause *c) {
    switch (c->kind) {
    case ClauseKind::Head:
    case ClauseKind::Action:
    case ClauseKind::ValueAction:
    case ClauseKind::Scale:
    case ClauseKind::Softcap:
    case ClauseKind::Logit:
    case ClauseKind::Bias:
    case ClauseKind::ValueBias:
    case ClauseKind::Mask:
    case ClauseKind::Sink:
    case ClauseKind::Embed:
      return true;
    default:
      return false;
    }
  }
  const Expr *value = nullptr;
};

/// `value width` or `value key[lo .. hi]`: either `width` or `lanes` is set.
struct ValueClause : Clause {
  ValueClause() : Clause(ClauseKind::Value) {}
  static bool classof(const Clause *c) { return c->kind == ClauseKind::Value; }
  const Expr *width = nullptr;
  RangeNode lanes;
};

/// One clock of a clause: `name` or `name[index < bound]`.
struct ClockBinder {
  Name name;
  /// Empty text and null if this is no family.
  Name index;
  const Expr *bound = nullptr;
  SourceRange range;
};

/// `clock a, b: f64 moving rising in lo .. hi`, or with a value `clock c = e`
/// (then there is one binder and nothing else).
struct ClockClause : Clause {
  ClockClause() : Clause(ClauseKind::Clock) {}
  static bool classof(const Clause *c) { return c->kind == ClauseKind::Clock; }
  llvm::ArrayRef<ClockBinder> binders;
  const Expr *value = nullptr;
  /// Empty text: left out.
  Name storage;
  bool moving = false, rising = false;
  RangeNode bounds;
};

/// An axis of a tensor: an expression, or `*` (null).
struct Axis {
  const Expr *extent = nullptr;
  SourceRange range;
};

/// `param names: storage[axes] …` or `input names: storage[axes] per rate …`.
struct TensorClause : Clause {
  explicit TensorClause(ClauseKind kind) : Clause(kind) {}
  static bool classof(const Clause *c) {
    return c->kind == ClauseKind::Param || c->kind == ClauseKind::Input;
  }
  llvm::ArrayRef<Name> names;
  Name storage;
  llvm::ArrayRef<Axis> axes;
  /// Of an input: `token`, `sequence`, `call`, or another word.
  Name per;
  bool orthogonal = false;
  const Expr *condition = nullptr;
  RangeNode bounds;
};

/// `norm name(args)` or `readout name(args) / divisor`.
struct CallClause : Clause {
  explicit CallClause(ClauseKind kind) : Clause(kind) {}
  static bool classof(const Clause *c) {
    return c->kind == ClauseKind::Norm || c->kind == ClauseKind::Readout;
  }
  Name name;
  llvm::ArrayRef<Argument> args;
  const Expr *divisor = nullptr;
};

enum class ItemKind : uint8_t { Let, Function, Scheme, Instance, Stack };

struct Item {
  ItemKind kind;
  SourceRange range;
  Name name;
  llvm::ArrayRef<llvm::StringRef> doc;
  /// A syntax error was reported inside: the item defines its name but must
  /// not be checked, since errors would follow from the first.
  bool broken = false;

protected:
  explicit Item(ItemKind kind) : kind(kind) {}
};

struct LetItem : Item {
  LetItem() : Item(ItemKind::Let) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Let; }
  const Expr *value = nullptr;
};

struct FunctionItem : Item {
  FunctionItem() : Item(ItemKind::Function) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Function; }
  llvm::ArrayRef<Formal> formals;
  TypeNode result;
  /// LetClause and RequireClause only, in order.
  llvm::ArrayRef<const Clause *> body;
  const Expr *value = nullptr;
};

struct SchemeItem : Item {
  SchemeItem() : Item(ItemKind::Scheme) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Scheme; }
  llvm::ArrayRef<Formal> formals;
  llvm::ArrayRef<const Clause *> clauses;
};

/// `scheme name = value`.
struct InstanceItem : Item {
  InstanceItem() : Item(ItemKind::Instance) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Instance; }
  const Expr *value = nullptr;
};

struct StackItem : Item {
  StackItem() : Item(ItemKind::Stack) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Stack; }
  llvm::ArrayRef<const LetClause *> lets;
  /// Null: left out.
  const Expr *layers = nullptr;
  llvm::ArrayRef<const Expr *> uses;
};

/// `import "path"`; `range` covers the string with its quotes.
struct Import {
  llvm::StringRef path;
  SourceRange range;
};

/// The tree of a file, and the memory it lives in.
struct ParsedFile {
  std::shared_ptr<const SourceFile> source;
  std::vector<Import> imports;
  std::vector<const Item *> items;
  /// Something at the level of items could not be parsed, so a definition may
  /// be missing: unknown names are then no errors.
  bool broken = false;
  llvm::BumpPtrAllocator arena;
};

/// Parses one file. Errors go to `diagnostics`; what could be parsed is
/// returned, never null. Expressions nest at most 256 deep, counting each
/// operator of a chain, so recursion over the tree is safe.
std::unique_ptr<ParsedFile>
parseFile(const std::shared_ptr<const SourceFile> &source,
          class DiagnosticList &diagnostics);

/// Parses text that is one expression and nothing else, such as a setting of
/// the command line; null after an error.
const Expr *parseExpression(const SourceFile &source,
                            llvm::BumpPtrAllocator &arena,
                            class DiagnosticList &diagnostics);

} // namespace torsor

#endif // TORSOR_FRONTEND_AST_H
