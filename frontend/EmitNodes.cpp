// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one torsor.scheme: leaves, vectors and sums over tokens.
#include "frontend/SchemeEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace torsor;
using namespace mlir;

/// The scope that knows every bound token of a node: the innermost of theirs.
size_t SchemeEmitter::scopeOf(const Node *node) {
  auto [at, fresh] = boundTokens.try_emplace(node);
  if (fresh) {
    llvm::SmallVector<TokenId, 1> tokens;
    auto add = [&](TokenId token) {
      if (token >= TokenId::FirstBound && !llvm::is_contained(tokens, token))
        tokens.push_back(token);
    };
    if (node->op != NodeOp::PathSum)
      add(node->token);
    for (const Node *operand : node->operands) {
      scopeOf(operand);
      for (TokenId token : boundTokens.find(operand)->second)
        if (node->op != NodeOp::PathSum || token != node->token)
          add(token);
    }
    boundTokens[node] = tokens;
  }
  const auto &tokens = boundTokens.find(node)->second;
  for (size_t n = scopes.size(); n-- > 1;)
    if (llvm::is_contained(tokens, scopes[n].token))
      return n;
  return 0;
}

Value SchemeEmitter::get(const Node *node) {
  size_t scope = scopeOf(node);
  if (auto known = scopes[scope].values.find(node);
      known != scopes[scope].values.end())
    return known->second;
  // Operands first, each at the end of its own block; then the node itself.
  Value value = make(node, place(node->range));
  scopes[scope].values[node] = value;
  return value;
}

Value SchemeEmitter::getAs(const Node *node, NumberType type) {
  if (type != NumberType::Real)
    return get(node);
  if (node->op == NodeOp::IntConstant) {
    Value &known = wholeReals[node];
    if (!known) {
      builder.setInsertionPointToEnd(scopes.front().block);
      known = real(node->asReal(), place(node->range));
    }
    return known;
  }
  Value value = get(node);
  if (node->type == NumberType::Real)
    return value;
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  return arith::SIToFPOp::create(builder, place(node->range),
                                 builder.getF64Type(), value);
}

Value SchemeEmitter::getReal(const Node *node) {
  return getAs(node, NumberType::Real);
}

Value SchemeEmitter::integer(int64_t value, Location loc) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value SchemeEmitter::real(double value, Location loc) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF64FloatAttr(value));
}

Value SchemeEmitter::make(const Node *node, Location loc) {
  switch (node->op) {
  case NodeOp::IntConstant:
    builder.setInsertionPointToEnd(scopes.front().block);
    return integer(node->integer.toInt64().value_or(
                       node->integer.isNegative() ? INT64_MIN : INT64_MAX),
                   loc);
  case NodeOp::RealConstant:
    builder.setInsertionPointToEnd(scopes.front().block);
    return real(node->real, loc);
  case NodeOp::BoolConstant:
    builder.setInsertionPointToEnd(scopes.front().block);
    return arith::ConstantOp::create(builder, loc,
                                     builder.getBoolAttr(node->truth));
  case NodeOp::Read:
    return makeRead(node, loc);
  case NodeOp::List:
    return makeList(node, loc);
  case NodeOp::PathSum:
    return makePathSum(node, loc);
  case NodeOp::Element: {
    Value vector = get(node->operands[0]), index = get(node->operands[1]);
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
    return ElementOp::create(
        builder, loc, cast<RankedTensorType>(vector.getType()).getElementType(),
        vector, index);
  }
  case NodeOp::Dot: {
    Value a = getRealVector(node->operands[0]),
          b = getRealVector(node->operands[1]);
    builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
    return DotOp::create(builder, loc, builder.getF64Type(), a, b);
  }
  default:
    if (node->operands.empty())
      return makeLeaf(node, loc);
    return makeArithmetic(node, loc);
  }
}

Value SchemeEmitter::getToken(TokenId token, Location loc) {
  for (const Scope &scope : llvm::reverse(scopes))
    if (scope.token == token && scope.tokenValue)
      return scope.tokenValue;
  Value &value = token == TokenId::Query ? queryToken : keyToken;
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(scopes.front().block);
    value = TokenOp::create(builder, loc,
                            token == TokenId::Query ? Side::Query : Side::Key);
  }
  return value;
}

Value SchemeEmitter::makeTime(const ClockInfo *clock, int32_t member,
                              TokenId token, Location loc) {
  Value declared = getClock(clock);
  Value at = getToken(token, loc);
  // Times of query and key belong to the scheme's own block.
  size_t scope = 0;
  for (size_t n = scopes.size(); n-- > 1;)
    if (scopes[n].token == token)
      scope = n;
  Value *known = scope == 0 ? &times[{clock, member, token}] : nullptr;
  builder.setInsertionPointToEnd(scopes[scope].block);
  if (known && *known)
    return *known;
  Type type = clock->type == NumberType::Int ? Type(builder.getI64Type())
                                             : Type(builder.getF64Type());
  Value time = TimeOp::create(
      builder, loc, type, declared,
      member < 0 ? IntegerAttr() : builder.getI64IntegerAttr(member), at);
  if (known)
    *known = time;
  return time;
}

static std::optional<Ambient> getAmbient(NodeOp op) {
  switch (op) {
  case NodeOp::Head:
    return Ambient::Head;
  case NodeOp::Heads:
    return Ambient::Heads;
  case NodeOp::Group:
    return Ambient::Group;
  case NodeOp::Groups:
    return Ambient::Groups;
  case NodeOp::Length:
    return Ambient::Length;
  case NodeOp::Width:
    return Ambient::Width;
  case NodeOp::ValueWidth:
    return Ambient::ValueWidth;
  case NodeOp::Score:
    return Ambient::Score;
  case NodeOp::Total:
    return Ambient::Total;
  default:
    return std::nullopt;
  }
}

Value SchemeEmitter::makeLeaf(const Node *node, Location loc) {
  if (node->op == NodeOp::Time)
    return makeTime(node->clock, node->member, node->token, loc);
  if (node->op == NodeOp::Age || node->op == NodeOp::Delta) {
    Value s = makeTime(node->clock, node->member, TokenId::Query, loc);
    Value t = makeTime(node->clock, node->member, TokenId::Key, loc);
    if (node->op == NodeOp::Delta)
      std::swap(s, t);
    if (node->type == NumberType::Int)
      return arith::SubIOp::create(builder, loc, s, t);
    return arith::SubFOp::create(builder, loc, s, t);
  }
  Value token =
      node->token == TokenId::None ? Value() : getToken(node->token, loc);
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  if (node->op == NodeOp::Index)
    return IndexOp::create(builder, loc, builder.getI64Type(), token);
  if (node->op == NodeOp::TokenVector)
    return VectorOp::create(
        builder, loc,
        RankedTensorType::get({node->length}, builder.getF64Type()),
        node->after ? Side::Key : Side::Query, token);
  Type type = node->type == NumberType::Int ? Type(builder.getI64Type())
                                            : Type(builder.getF64Type());
  return AmbientOp::create(builder, loc, type, *getAmbient(node->op));
}

Value SchemeEmitter::makeRead(const Node *node, Location loc) {
  llvm::SmallVector<Value> indices;
  if (node->token != TokenId::None)
    indices.push_back(getToken(node->token, loc));
  for (const Node *operand : node->operands)
    indices.push_back(get(operand));
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  Type type = node->type == NumberType::Int    ? Type(builder.getI64Type())
              : node->type == NumberType::Bool ? Type(builder.getI1Type())
                                               : Type(builder.getF64Type());
  if (node->isVector())
    type = RankedTensorType::get({node->length}, type);
  return ReadOp::create(builder, loc, type, tensors.lookup(node->tensor),
                        indices);
}

Value SchemeEmitter::makeList(const Node *node, Location loc) {
  if (node->type == NumberType::Real)
    return listReals(node->operands, loc);
  auto isConstant = [](const Node *x) { return x->isConstant(); };
  auto type = RankedTensorType::get({node->length}, builder.getI64Type());
  if (llvm::all_of(node->operands, isConstant)) {
    llvm::SmallVector<int64_t> values;
    for (const Node *element : node->operands)
      values.push_back(element->integer.toInt64().value_or(0));
    builder.setInsertionPointToEnd(scopes.front().block);
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, llvm::ArrayRef(values)));
  }
  llvm::SmallVector<Value> values;
  for (const Node *element : node->operands)
    values.push_back(get(element));
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  return ListOp::create(builder, loc, type, values);
}

/// The row of a tensor that a list spells out: w[h, 0], w[h, 1], … w[h, n - 1].
const Node *SchemeEmitter::findRow(llvm::ArrayRef<const Node *> list) const {
  const Node *first = list.front();
  if (first->op != NodeOp::Read || first->operands.empty() ||
      first->type != NumberType::Real ||
      first->tensor->axes.back().extent != int64_t(list.size()))
    return nullptr;
  for (size_t p = 0; p != list.size(); ++p) {
    const Node *read = list[p];
    if (read->op != NodeOp::Read || read->tensor != first->tensor ||
        read->token != first->token ||
        read->operands.size() != first->operands.size() ||
        read->operands.drop_back() != first->operands.drop_back())
      return nullptr;
    const Node *last = read->operands.back();
    if (last->op != NodeOp::IntConstant ||
        last->integer.compare(Integer(int64_t(p))) != 0)
      return nullptr;
  }
  return first;
}

Value SchemeEmitter::listReals(llvm::ArrayRef<const Node *> list,
                               Location loc) {
  int64_t length = int64_t(list.size());
  auto type = RankedTensorType::get({length}, builder.getF64Type());
  if (llvm::all_of(list, [](const Node *x) { return x->isConstant(); })) {
    llvm::SmallVector<double> values;
    for (const Node *element : list)
      values.push_back(element->asReal());
    builder.setInsertionPointToEnd(scopes.front().block);
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, llvm::ArrayRef(values)));
  }
  size_t scope = 0;
  for (const Node *element : list)
    scope = std::max(scope, scopeOf(element));
  if (const Node *row = findRow(list)) {
    llvm::SmallVector<Value> indices;
    if (row->token != TokenId::None)
      indices.push_back(getToken(row->token, loc));
    for (const Node *operand : row->operands.drop_back())
      indices.push_back(get(operand));
    builder.setInsertionPointToEnd(scopes[scope].block);
    return ReadOp::create(builder, loc, type, tensors.lookup(row->tensor),
                          indices);
  }
  auto choice = [](const Node *x) {
    return x->op == NodeOp::ToReal ? x->operands[0] : x;
  };
  const Node *first = choice(list.front());
  if (first->op == NodeOp::Select && llvm::all_of(list, [&](const Node *x) {
        return choice(x)->op == NodeOp::Select &&
               choice(x)->operands[0] == first->operands[0];
      })) {
    // One choice between two lists.
    llvm::SmallVector<const Node *> yes, no;
    for (const Node *element : list) {
      yes.push_back(choice(element)->operands[1]);
      no.push_back(choice(element)->operands[2]);
    }
    Value condition = get(first->operands[0]);
    Value a = listReals(yes, loc), b = listReals(no, loc);
    builder.setInsertionPointToEnd(scopes[scope].block);
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  llvm::SmallVector<Value> values;
  for (const Node *element : list)
    values.push_back(getReal(element));
  builder.setInsertionPointToEnd(scopes[scope].block);
  return ListOp::create(builder, loc, type, values);
}

Value SchemeEmitter::getRealVector(const Node *node) {
  if (node->op == NodeOp::List)
    return listReals(node->operands, place(node->range));
  Value vector = get(node);
  auto type = cast<RankedTensorType>(vector.getType());
  if (type.getElementType().isF64())
    return vector;
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  return arith::SIToFPOp::create(builder, place(node->range),
                                 type.clone(builder.getF64Type()), vector);
}

Value SchemeEmitter::getVector(const VectorInfo &vector, SourceRange range) {
  if (vector.row)
    return getRealVector(vector.row);
  llvm::SmallVector<const Node *> elements;
  for (const Scalar &element : vector.elements)
    elements.push_back(element.node);
  return listReals(elements, place(range));
}

Value SchemeEmitter::makePathSum(const Node *node, Location loc) {
  auto block = std::make_unique<Block>();
  Value token = block->addArgument(TokenType::get(builder.getContext()), loc);
  enter(node->token, block.get(), token);
  Value term = getReal(node->operands[0]);
  builder.setInsertionPointToEnd(block.get());
  YieldOp::create(builder, loc, term);
  scopes.pop_back();
  builder.setInsertionPointToEnd(scopes[scopeOf(node)].block);
  auto op = PathSumOp::create(builder, loc, builder.getF64Type(), node->after);
  op.getTerm().push_back(block.release());
  return op;
}
