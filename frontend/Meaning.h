// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an expression evaluates to, and the environment it is evaluated in.
#ifndef TORSOR_FRONTEND_MEANING_H
#define TORSOR_FRONTEND_MEANING_H

#include "frontend/Ast.h"
#include "frontend/Scheme.h"

#include "llvm/ADT/StringMap.h"

namespace torsor {

struct SchemeState;

/// The value of an expression. `Poison` follows an error that has been
/// reported; whatever meets it stays silent.
struct Meaning {
  enum Kind : uint8_t {
    Poison,
    Number, // a scalar: int, real or bool
    Vector,
    Action,
    Clock,
    Tensor,
    TokenVectors, // q or k, not yet indexed
    SchemeName
  };

  Kind kind = Poison;
  /// TokenVectors: k, not q.
  bool isKey = false;
  Scalar scalar;
  const VectorInfo *vector = nullptr;
  const ActionNode *action = nullptr;
  ClockRef clock;
  const TensorInfo *tensor = nullptr;

  Meaning() = default;
  Meaning(Scalar s) : kind(Number), scalar(s) {}
  Meaning(const Node *node, Interval range) : Meaning(Scalar{node, range}) {}
  Meaning(const VectorInfo *v) : kind(Vector), vector(v) {}
  Meaning(const ActionNode *a) : kind(Action), action(a) {}
  Meaning(ClockRef c) : kind(Clock), clock(c) {}
  Meaning(const TensorInfo *t) : kind(Tensor), tensor(t) {}

  bool isPoison() const { return kind == Poison; }
  bool isNumber() const {
    return kind == Number && scalar.node->type != NumberType::Bool;
  }
  bool isBool() const {
    return kind == Number && scalar.node->type == NumberType::Bool;
  }
  bool isConstant() const {
    return (kind == Number && scalar.isConstant()) ||
           (kind == Vector && vector->isConstant());
  }
  Varies getVaries() const;
};

/// The clause, or other place, an expression stands in.
enum class Where : uint8_t {
  File,
  Stack,
  Let,
  Require,
  Head,
  Value,
  Clock,
  Tensor,
  Norm,
  Readout,
  Divisor,
  Action,
  ValueAction,
  Scale,
  Softcap,
  Logit,
  Bias,
  ValueBias,
  Mask,
  Sink,
  Embed,
};

/// As messages name it: "mask", "readout".
llvm::StringRef getSpelling(Where where);

/// A name bound in an environment. An argument knows where the caller wrote it.
struct Binding {
  Meaning value;
  SourceRange argument;
};

/// One scope of evaluation: a clause, or the body of a definition.
struct Env {
  /// Decides which file-level definitions are seen.
  const SourceFile *file = nullptr;
  SchemeState *scheme = nullptr;
  /// Does it see what the scheme declares? Bodies of definitions do not.
  bool seesScheme = false;
  Where where = Where::File;
  /// In a contract: comparisons are decided by ranges in a mask, too, whose own
  /// stay as they are written.
  bool proves = false;
  /// Whose body this is, and the expression that asked for it.
  const void *definition = nullptr;
  llvm::StringRef definitionName;
  SourceRange call;
  const Env *caller = nullptr;
  llvm::StringMap<Binding> locals;
  /// In stacks: the layer and their number.
  std::optional<int64_t> layer, layers;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_MEANING_H
