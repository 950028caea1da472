// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: expressions other than arithmetic, sums, indexing and calls.
#include "frontend/Sema.h"

#include "fmt/format.h"

using namespace torsor;

/// Calls of calls of … nest at most this deep, counting every operator.
static constexpr unsigned depthLimit = 1500;
/// So do expressions once written out; later passes walk them recursively.
static constexpr unsigned heightLimit = 1000;

Meaning Sema::eval(const Expr *e, Env &env) {
  if (!spend(env, e->range))
    return Meaning();
  if (depth >= depthLimit)
    return fail(env, e->range, "large",
                "definitions nest too deeply here; shorten the chain");
  ++depth;
  Meaning value = evalDispatch(e, env);
  --depth;
  if (value.kind == Meaning::Number && value.scalar.node->height > heightLimit)
    return fail(env, e->range, "large",
                "this expression nests too deeply once its definitions are "
                "written out; shorten the chain");
  return value;
}

Meaning Sema::evalDispatch(const Expr *e, Env &env) {
  switch (e->kind) {
  case ExprKind::Int: {
    auto value = Integer::parse(llvm::cast<IntExpr>(e)->digits);
    if (!value)
      return fail(
          env, e->range, "large",
          fmt::format("this int needs more than {} bits", Integer::maxBits));
    Interval range = Interval::exactly(*value);
    return {graph.integer(std::move(*value), e->range), range};
  }
  case ExprKind::Real: {
    double value = llvm::cast<RealExpr>(e)->value;
    return {graph.real(value, e->range), Interval::exactly(value)};
  }
  case ExprKind::Bool:
    return {graph.truth(llvm::cast<BoolExpr>(e)->value, e->range), {}};
  case ExprKind::Name:
    return evalName(llvm::cast<NameExpr>(e), env);
  case ExprKind::Call:
    return evalCall(llvm::cast<CallExpr>(e), env);
  case ExprKind::Index:
    return evalIndex(llvm::cast<IndexExpr>(e), env);
  case ExprKind::List:
    return evalList(llvm::cast<ListExpr>(e), env);
  case ExprKind::For:
    return evalFor(llvm::cast<ForExpr>(e), env);
  case ExprKind::Sum:
    return evalSum(llvm::cast<SumExpr>(e), env);
  case ExprKind::If:
    return evalIf(llvm::cast<IfExpr>(e), env);
  case ExprKind::Binary:
    return evalBinary(llvm::cast<BinaryExpr>(e), env);
  case ExprKind::Compare:
    return evalCompare(llvm::cast<CompareExpr>(e), env);
  case ExprKind::Not:
    return evalNot(llvm::cast<NotExpr>(e), env);
  case ExprKind::Negate:
    return evalNegate(llvm::cast<NegateExpr>(e), env);
  case ExprKind::At:
    return evalAt(llvm::cast<AtExpr>(e), env);
  }
  return Meaning();
}

/// What to write for a per-token input or a token's vector that stands bare.
static std::optional<std::string> adviseToken(const Meaning &value) {
  if (value.kind == Meaning::Tensor && value.tensor->isPerToken())
    return fmt::format("'{0}' has one value per token; write {0}[i] for the "
                       "query's or {0}[j] for the key's",
                       value.tensor->name);
  if (value.kind == Meaning::TokenVectors)
    return fmt::format("'{0}' is a token's vector; write {0}[{1}], and dot(…) "
                       "for a product",
                       value.isKey ? "k" : "q", value.isKey ? "j" : "i");
  return std::nullopt;
}

/// What to write for a clock where a number is needed.
static std::string adviseClock(const ClockInfo &clock, bool oneToken) {
  const std::string &name = clock.name;
  bool position = name == "pos";
  if (oneToken)
    return position ? "write 't'" : fmt::format("write {}[j]", name);
  if (clock.running)
    return fmt::format("it is read by its differences; write age({})", name);
  return position ? "its difference is 'age', its values are 's' and 't'"
                  : fmt::format("its difference is age({0}), its values are "
                                "{0}[i] and {0}[j]",
                                name);
}

/// The indices of an element, or of a row with the last axis left out.
static std::string showIndices(const TensorInfo &tensor,
                               llvm::ArrayRef<AxisInfo> axes) {
  std::string text;
  if (tensor.isPerToken())
    text = "j";
  for (const AxisInfo &axis : axes) {
    text += text.empty() ? "" : ", ";
    text += axis.kind == AxisInfo::Heads    ? "h"
            : axis.kind == AxisInfo::Groups ? "g"
                                            : "…";
  }
  return tensor.name + "[" + text + "]";
}

std::string torsor::showElement(const TensorInfo &tensor) {
  return showIndices(tensor, tensor.axes);
}

std::string torsor::describeNoVector(const Meaning &value) {
  std::string text = describe(value);
  if (value.kind != Meaning::Tensor || value.tensor->axes.empty())
    return text;
  const TensorInfo &tensor = *value.tensor;
  llvm::ArrayRef<AxisInfo> axes = tensor.axes;
  if (axes.back().kind != AxisInfo::Constant ||
      getNumberType(tensor.storage) == NumberType::Bool)
    return fmt::format("{}; an element is written {}", text,
                       showElement(tensor));
  if (axes.size() == 1 && !tensor.isPerToken())
    return fmt::format("{0}; as a vector it is written [for p < {1}: {2}[p]]",
                       text, axes.back().extent, tensor.name);
  return fmt::format("{}; a row is written {}", text,
                     showIndices(tensor, axes.drop_back()));
}

Meaning Sema::number(Meaning value, const Expr *e, Env &env) {
  if (value.isPoison() || value.isNumber())
    return value;
  if (value.isBool())
    return fail(env, e->range, "type",
                fmt::format("'{0}' is a bool, but a number is needed; write "
                            "'if {0} then 1 else 0'",
                            quote(e)));
  if (auto advice = adviseToken(value))
    return fail(env, e->range, "token", *advice);
  if (value.kind == Meaning::Tensor && !value.tensor->axes.empty())
    return fail(env, e->range, "type",
                fmt::format("'{}' is a whole tensor, but a number is needed; "
                            "an element is written {}",
                            quote(e), showElement(*value.tensor)));
  std::string row = quote(e);
  bool isToken = row == "q[i]" || row == "k[j]";
  if (value.kind == Meaning::Vector && llvm::isa<IndexExpr>(e) && !isToken &&
      row.ends_with("]"))
    return fail(env, e->range, "type",
                fmt::format("'{}' is a row, {}, but a number is needed; an "
                            "element is written {}, …]",
                            row, describe(value),
                            row.substr(0, row.size() - 1)));
  std::string advice;
  if (value.kind == Meaning::Vector)
    advice = "; there is no arithmetic on whole vectors: write [for p < n: …]";
  else if (value.kind == Meaning::Clock && value.clock.clock)
    advice = "; " + adviseClock(*value.clock.clock, env.where == Where::Embed);
  else if (value.kind == Meaning::Action)
    advice = "; actions stand side by side with '+' and act on the same lanes "
             "with '*'";
  return fail(env, e->range, "type",
              fmt::format("'{}' is {}, but a number is needed{}", quote(e),
                          describe(value), advice));
}

Meaning Sema::boolean(Meaning value, const Expr *e, Env &env) {
  if (value.isPoison() || value.isBool())
    return value;
  if (value.kind == Meaning::Tensor)
    if (auto advice = adviseToken(value))
      return fail(env, e->range, "token", *advice);
  return fail(env, e->range, "type",
              fmt::format("'{}' is {}, but a condition (bool) is needed",
                          quote(e), describe(value)));
}

/// What to write where only an open width keeps a value from being constant.
static std::string adviseWidth(const Meaning &value) {
  auto reads = [&](NodeOp op) {
    return anyNode(value.scalar.node,
                   [&](const Node *node) { return node->op == op; });
  };
  return reads(NodeOp::Width)        ? "; write 'head n'"
         : reads(NodeOp::ValueWidth) ? "; write 'value n'"
                                     : "";
}

std::optional<Integer> Sema::evalInt(const Expr *e, Env &env,
                                     llvm::StringRef what) {
  Meaning value = coerce(eval(e, env), NumberType::Int, e, env, what.str());
  if (value.isPoison())
    return std::nullopt;
  if (!value.isConstant()) {
    fail(env, e->range, "const",
         fmt::format("{} must be known at compile time, but '{}' is not{}",
                     what.str(), quote(e), adviseWidth(value)));
    return std::nullopt;
  }
  return value.scalar.node->integer;
}

std::optional<int64_t> Sema::evalSize(const Expr *e, Env &env,
                                      llvm::StringRef what) {
  std::optional<Integer> value = evalInt(e, env, what);
  if (!value)
    return std::nullopt;
  int64_t size =
      value->toInt64().value_or(value->isNegative() ? -mostSize : mostSize);
  return std::clamp(size, -mostSize, mostSize);
}

std::optional<double> Sema::evalReal(const Expr *e, Env &env,
                                     llvm::StringRef what) {
  Meaning value = coerce(eval(e, env), NumberType::Real, e, env, what.str());
  if (value.isPoison())
    return std::nullopt;
  if (!value.isConstant()) {
    fail(env, e->range, "const",
         fmt::format("{} must be known at compile time, but '{}' is not{}",
                     what.str(), quote(e), adviseWidth(value)));
    return std::nullopt;
  }
  return value.scalar.node->asReal();
}

Meaning Sema::evalNot(const NotExpr *e, Env &env) {
  Meaning value = evalBoolean(e->value, env);
  if (value.isPoison())
    return value;
  const Node *node = value.scalar.node;
  if (node->isConstant())
    return {graph.truth(!node->truth, e->range), {}};
  return {graph.make(NodeOp::Not, NumberType::Bool, {node}, e->range), {}};
}

Meaning Sema::evalNegate(const NegateExpr *e, Env &env) {
  Meaning value = evalNumber(e->value, env);
  if (value.isPoison())
    return value;
  const Node *node = value.scalar.node;
  Interval range = negated(value.scalar.range);
  if (node->op == NodeOp::IntConstant)
    return {graph.integer(-node->integer, e->range), range};
  if (node->op == NodeOp::RealConstant)
    return {graph.real(-node->real, e->range), range};
  return {graph.make(NodeOp::Negate, node->type, {node}, e->range), range};
}

Meaning Sema::evalLogic(const BinaryExpr *e, Env &env) {
  Meaning a = evalBoolean(e->left, env), b = evalBoolean(e->right, env);
  if (a.isPoison() || b.isPoison())
    return Meaning();
  // `absorbing or x`, `absorbing and x` need no x.
  bool absorbing = e->op == BinaryOp::Or;
  for (const Meaning &side : {a, b})
    if (side.isConstant() && side.scalar.node->truth == absorbing)
      return {graph.truth(absorbing, e->range), {}};
  if (a.isConstant())
    return b;
  if (b.isConstant())
    return a;
  return {graph.make(absorbing ? NodeOp::Or : NodeOp::And, NumberType::Bool,
                     {a.scalar.node, b.scalar.node}, e->range),
          {}};
}

Meaning Sema::select(Scalar condition, Scalar yes, Scalar no,
                     SourceRange range) {
  NumberType type =
      yes.node->type == no.node->type ? yes.node->type : NumberType::Real;
  return {graph.make(NodeOp::Select, type, {condition.node, yes.node, no.node},
                     range),
          joined(yes.range, no.range)};
}

Meaning Sema::evalIf(const IfExpr *e, Env &env) {
  Meaning condition = evalBoolean(e->condition, env);
  if (condition.isPoison()) {
    eval(e->yes, env);
    eval(e->no, env);
    return Meaning();
  }
  if (condition.isConstant())
    return evalKnownIf(e, condition.scalar.node->truth, env);
  Meaning a = eval(e->yes, env), b = eval(e->no, env);
  if (a.isPoison() || b.isPoison())
    return Meaning();
  auto mismatch = [&](llvm::StringRef rule) {
    return fail(env, e->range, "type",
                fmt::format("the branches are {} and {}; both must be {}",
                            describe(a), describe(b), rule.str()));
  };
  if (a.kind == Meaning::Action || b.kind == Meaning::Action) {
    if (a.kind != b.kind || a.action->width != b.action->width)
      return mismatch("actions of one width");
    if (condition.getVaries() & varies::content)
      return fail(env, e->condition->range, "depends",
                  "a region of an action cannot depend on the contents of q or "
                  "k");
    ActionNode node{ActionOp::Choose, a.action->width};
    node.kids = {a.action, b.action};
    node.condition = condition.scalar.node;
    node.varies = node.condition->varies & ~(varies::query | varies::key);
    return make(std::move(node), e, env);
  }
  if (a.kind == Meaning::Vector || b.kind == Meaning::Vector) {
    if (a.kind != b.kind || a.vector->length != b.vector->length)
      return mismatch("vectors of one length");
    if (a.vector->row || b.vector->row)
      return fail(env, e->range, "type",
                  "a choice between run-time vectors is made per element: "
                  "[for p < n: if … then … else …]");
    VectorInfo vector;
    vector.type =
        a.vector->type == b.vector->type ? a.vector->type : NumberType::Real;
    vector.length = a.vector->length;
    for (int64_t p = 0; p != vector.length; ++p)
      vector.elements.push_back(select(condition.scalar, a.vector->elements[p],
                                       b.vector->elements[p], e->range)
                                    .scalar);
    return make(std::move(vector));
  }
  if (a.kind != Meaning::Number || b.kind != Meaning::Number)
    return fail(env, e->condition->range, "const",
                fmt::format("the choice between {} and {} must be known at "
                            "compile time",
                            describe(a), describe(b)));
  if (a.isBool() != b.isBool())
    return mismatch("of one type");
  Meaning result = select(condition.scalar, a.scalar, b.scalar, e->range);
  if (!fitsRunTime(result.scalar.node, e, env))
    return Meaning();
  return result;
}

Meaning Sema::evalKnownIf(const IfExpr *e, bool taken, Env &env) {
  Meaning value = eval(taken ? e->yes : e->no, env);
  // The other branch is typed, but cannot break a contract, a range or a width.
  ++valuesUnchecked;
  Meaning other = eval(taken ? e->no : e->yes, env);
  --valuesUnchecked;
  if (value.isPoison() || other.isPoison())
    return value;
  if (value.kind == other.kind && value.isBool() == other.isBool())
    return value;
  return fail(
      env, e->range, "type",
      fmt::format("the branches are {} and {}; both must be of one type",
                  describe(value), describe(other)));
}
