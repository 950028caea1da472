// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: elements of vectors and tensors, readings of clocks.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;

TokenId Sema::tokenOf(Scalar index) const {
  return index.node && index.node->op == NodeOp::Index ? index.node->token
                                                       : TokenId::None;
}

/// What reading at a token varies by.
static Varies variesAt(TokenId token) {
  if (token == TokenId::Query)
    return varies::query;
  return token == TokenId::Key ? varies::key
                               : Varies(varies::key | varies::path);
}

Meaning Sema::evalIndex(const IndexExpr *e, Env &env) {
  Meaning base = eval(e->value, env);
  switch (base.kind) {
  case Meaning::Poison:
    for (const Expr *index : e->indices)
      eval(index, env);
    return base;
  case Meaning::Vector:
    return indexVector(base.vector, e, env);
  case Meaning::Clock:
    return indexClock(base.clock, e, env);
  case Meaning::TokenVectors:
    return indexTokenVector(base.isKey, e, env);
  case Meaning::Tensor:
    return indexTensor(base.tensor, e, env);
  default:
    return fail(env, e->range, "type",
                fmt::format("'{0}' is {1} and takes no index{2}",
                            quote(e->value), describe(base),
                            llvm::isa<NameExpr>(e->value) && base.isNumber()
                                ? "; write '" + quote(e->value) + "'"
                                : ""));
  }
}

bool Sema::isInside(Scalar index, const AxisInfo &axis, const Expr *e,
                    Env &env) {
  if (index.node->type != NumberType::Int) {
    fail(env, e->range, "type",
         fmt::format("an index is an int, but '{}' is real; use floor(…)",
                     quote(e)));
    return false;
  }
  if (axis.kind == AxisInfo::Open) {
    if (index.range.lo >= 0)
      return true;
    fail(env, e->range, "index",
         fmt::format("'{}' may be negative here, and a '*' axis starts at 0",
                     quote(e)));
    return false;
  }
  if (axis.kind != AxisInfo::Constant) {
    bool heads = axis.kind == AxisInfo::Heads;
    if (index.node->op == (heads ? NodeOp::Head : NodeOp::Group))
      return true;
    fail(env, e->range, "index",
         fmt::format("this axis has {} entries, so its index is '{}'",
                     heads ? "H" : "G", heads ? "h" : "g"));
    return false;
  }
  if (index.range.lo >= 0 && index.range.hi <= double(axis.extent - 1))
    return true;
  std::string only = fmt::format("the axis has only 0 .. {}", axis.extent - 1);
  if (index.isConstant())
    fail(env, e->range, "index",
         fmt::format("the index is {:.0f}, but {}{}", index.range.lo, only,
                     index.range.lo == double(axis.extent)
                         ? "; indices count from 0"
                         : ""));
  else
    fail(env, e->range, "index",
         fmt::format("'{}' ranges over {}, but {}; {}", quote(e),
                     printBounds(index.range), only,
                     quote(e) == "h"   ? "an axis of query heads is declared H"
                     : quote(e) == "g" ? "an axis of key heads is declared G"
                                       : "use clamp(…) or declare a range"));
  return false;
}

Meaning Sema::indexVector(const VectorInfo *vector, const IndexExpr *e,
                          Env &env) {
  if (e->indices.size() != 1)
    return fail(env, e->range, "rank",
                fmt::format("a vector takes one index, but {} are given",
                            e->indices.size()));
  if (!vector->length)
    return fail(env, e->value->range, "empty",
                fmt::format("a list needs at least one element, but '{}' has "
                            "none",
                            quote(e->value)));
  const Expr *at = e->indices.front();
  Meaning index =
      coerce(evalNumber(at, env), NumberType::Int, at, env, "an index");
  if (index.isPoison() ||
      !isInside(index.scalar, {AxisInfo::Constant, vector->length}, at, env))
    return Meaning();
  const Node *position = index.scalar.node;
  if (!vector->row && position->isConstant())
    return vector->elements[*position->integer.toInt64()];
  if (vector->row && vector->row->op == NodeOp::Read) {
    // The element of a row is an element of its tensor.
    Node node = *vector->row;
    llvm::SmallVector<const Node *> operands(node.operands);
    operands.push_back(position);
    node.operands = operands;
    node.length = -1;
    node.range = e->range;
    return {graph.intern(std::move(node)), vector->rowRange};
  }
  Interval range = vector->rowRange;
  if (!vector->row)
    for (const Scalar &element : vector->elements)
      range = &element == &vector->elements.front()
                  ? element.range
                  : joined(range, element.range);
  if (!spend(env, e->range, vector->elements.size() / 8))
    return Meaning();
  return {graph.make(NodeOp::Element, vector->type,
                     {vectorNode(vector, e->range), position}, e->range),
          range};
}

Meaning Sema::indexClock(ClockRef ref, const IndexExpr *e, Env &env) {
  const ClockInfo &clock = *ref.clock;
  llvm::ArrayRef<const Expr *> rest = e->indices;
  if (clock.members >= 0 && ref.member < 0) {
    const Expr *at = rest.front();
    Meaning index = coerce(evalNumber(at, env), NumberType::Int, at, env,
                           "a clock's index");
    if (index.isPoison())
      return index;
    if (!index.isConstant())
      return fail(env, at->range, "const",
                  fmt::format("the index of the clock '{}' must be known at "
                              "compile time",
                              clock.name));
    if (!isInside(index.scalar, {AxisInfo::Constant, clock.members}, at, env))
      return Meaning();
    ref.member = int32_t(*index.scalar.node->integer.toInt64());
    rest = rest.drop_front();
    if (rest.empty())
      return ref;
  }
  if (rest.size() != 1)
    return fail(env, e->range, "rank",
                fmt::format("'{}' takes one token, but {} indices are given",
                            clock.name, rest.size()));
  Meaning index = evalNumber(rest.front(), env);
  if (index.isPoison())
    return index;
  TokenId token = tokenOf(index.scalar);
  if (token == TokenId::None)
    return fail(env, rest.front()->range, "token",
                fmt::format("a clock is read at a token: {0}[i] for the query, "
                            "{0}[j] for the key",
                            clock.name));
  return readClock(ref, token, e->range, env);
}

Meaning Sema::readClock(ClockRef ref, TokenId token, SourceRange range,
                        Env &env) {
  const ClockInfo &clock = *ref.clock;
  if (clock.running)
    return fail(env, range, "origin",
                fmt::format("'{0}' is a running sum: only its differences have "
                            "a meaning; write age({0}) or delta({0})",
                            clock.name));
  if (env.where == Where::Embed && token == TokenId::Query)
    return fail(env, range, "ambient",
                "'s' has no meaning in 'embed': one token is seen there, as "
                "'j' and 't'");
  Node node{.op = NodeOp::Time, .type = clock.type};
  node.clock = &clock;
  node.member = ref.member;
  node.token = token;
  node.varies = variesAt(token) | clock.varies;
  node.range = range;
  return {graph.intern(std::move(node)), clock.bounds};
}

Meaning Sema::clockDifference(ClockRef ref, bool age, SourceRange range,
                              Env &env) {
  const ClockInfo &clock = *ref.clock;
  if (env.where == Where::Embed)
    return fail(env, range, "ambient",
                fmt::format("'{}' has no meaning in 'embed': one token is seen "
                            "there, as 'j' and 't'",
                            age ? "age" : "delta"));
  if (clock.members >= 0 && ref.member < 0)
    return fail(env, range, "rank",
                fmt::format("'{0}' is a family of {1} clocks; choose one: "
                            "{0}[…]",
                            clock.name, clock.members));
  Interval bounds;
  bool causal = env.scheme && env.scheme->causal;
  auto falls = [](const Scalar &term) { return term.range.hi <= 0; };
  if (causal && clock.monotone)
    bounds = {0, Interval::inf};
  else if (causal && clock.running && !clock.terms.empty() &&
           llvm::all_of(clock.terms, falls))
    bounds = {-Interval::inf, 0};
  if (!clock.running) {
    Interval apart = difference(clock.bounds, clock.bounds);
    bounds = {std::max(bounds.lo, apart.lo), std::min(bounds.hi, apart.hi)};
  }
  Node node{.op = age ? NodeOp::Age : NodeOp::Delta, .type = clock.type};
  node.clock = &clock;
  node.member = ref.member;
  node.varies = varies::query | varies::key | clock.varies;
  node.range = range;
  return {graph.intern(std::move(node)), age ? bounds : negated(bounds)};
}

Meaning Sema::indexTokenVector(bool isKey, const IndexExpr *e, Env &env) {
  const char *name = isKey ? "k" : "q";
  // What the clause may read: the table of section 5.
  bool allowed =
      env.where == Where::Bias || env.where == Where::Logit ||
      env.where == Where::ValueBias || env.where == Where::Let ||
      ((env.where == Where::Scale || env.where == Where::Sink) && !isKey);
  if (!allowed && env.scheme && !allUnchecked &&
      !env.scheme->toldOfContent.insert(env.where).second)
    return Meaning();
  if (!allowed)
    return fail(env, e->range, "depends",
                fmt::format("'{}' cannot depend on the contents of '{}'",
                            getSpelling(env.where).str(), name));
  Meaning index = evalNumber(e->indices.front(), env);
  if (index.isPoison() || !env.scheme)
    return Meaning();
  if (env.scheme->scheme.headIsOpen)
    return fail(env, e->range, "const",
                "the head width must be known here; write 'head n'");
  TokenId token = tokenOf(index.scalar);
  if (token == TokenId::None || isKey == (token == TokenId::Query))
    return fail(
        env, e->range, "token",
        fmt::format("'{0}' is read as {0}[{1}]", name, isKey ? "j" : "i"));
  Node node{.op = NodeOp::TokenVector, .type = NumberType::Real};
  node.token = token;
  node.after = isKey;
  node.length = int32_t(env.scheme->scheme.head);
  node.varies = variesAt(token) | varies::content |
                (isKey ? varies::group : varies::head);
  node.range = e->range;
  const Node *vector = graph.intern(std::move(node));
  if (e->indices.size() == 1) {
    VectorInfo info;
    info.length = vector->length;
    info.row = vector;
    return make(std::move(info));
  }
  if (e->indices.size() != 2)
    return fail(env, e->range, "rank",
                fmt::format("'{}' takes 2 indices, but {} are given", name,
                            e->indices.size()));
  Meaning lane = evalNumber(e->indices[1], env);
  if (lane.isPoison() ||
      !isInside(lane.scalar, {AxisInfo::Constant, vector->length},
                e->indices[1], env))
    return Meaning();
  return {graph.make(NodeOp::Element, NumberType::Real,
                     {vector, lane.scalar.node}, e->range),
          {}};
}

static Varies variesOf(const TensorInfo &tensor) {
  switch (tensor.rate) {
  case InputRate::Loaded:
    return varies::loaded;
  case InputRate::Call:
    return varies::call;
  case InputRate::Sequence:
    return varies::sequence;
  case InputRate::Token:
    break;
  }
  return varies::none;
}

Meaning Sema::indexTensor(const TensorInfo *tensor, const IndexExpr *e,
                          Env &env) {
  llvm::SmallVector<Scalar> indices;
  for (const Expr *part : e->indices) {
    Meaning index = evalNumber(part, env);
    if (index.isPoison())
      return index;
    indices.push_back(index.scalar);
  }
  Node node{.op = NodeOp::Read, .type = getNumberType(tensor->storage)};
  node.tensor = tensor;
  node.varies = variesOf(*tensor);
  node.range = e->range;
  size_t first = tensor->isPerToken();
  if (first) {
    node.token = tokenOf(indices.front());
    if (node.token == TokenId::None)
      return fail(env, e->indices.front()->range, "token",
                  fmt::format("'{}' is per token: its first index is {}",
                              tensor->name,
                              env.where == Where::Clock
                                  ? "the token of the sum, itself"
                                  : "i (the query) or j (the key)"));
    if (env.where == Where::Embed && node.token == TokenId::Query)
      return fail(env, e->indices.front()->range, "ambient",
                  "'i' has no meaning in 'embed': one token is seen there, as "
                  "'j' and 't'");
    node.varies |= variesAt(node.token);
  }
  size_t rank = tensor->axes.size(), given = indices.size() - first;
  if (given > rank)
    return fail(env, e->range, "rank",
                fmt::format("'{}' takes {} {}, but {} are given", tensor->name,
                            rank + first,
                            rank + first == 1 ? "index" : "indices",
                            indices.size()));
  llvm::SmallVector<const Node *> operands;
  for (size_t axis = 0; axis != given; ++axis) {
    if (!isInside(indices[first + axis], tensor->axes[axis],
                  e->indices[first + axis], env))
      return Meaning();
    operands.push_back(indices[first + axis].node);
  }
  node.operands = operands;
  if (given == rank)
    return {graph.intern(std::move(node)), tensor->bounds};
  if (given + 1 != rank || tensor->axes.back().kind != AxisInfo::Constant ||
      node.type == NumberType::Bool)
    return fail(env, e->range, "rank",
                fmt::format("'{}' takes {} indices (or one fewer, for a row), "
                            "but {} {} given; an element is written {}",
                            tensor->name, rank + first, indices.size(),
                            indices.size() == 1 ? "is" : "are",
                            showElement(*tensor)));
  node.length = int32_t(tensor->axes.back().extent);
  VectorInfo row;
  row.type = node.type;
  row.length = node.length;
  row.rowRange = tensor->bounds;
  row.row = graph.intern(std::move(node));
  return make(std::move(row));
}
