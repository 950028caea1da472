// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The elaborated expressions of a scheme: a hash-consed graph.
#include "frontend/Node.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace torsor;

llvm::StringRef torsor::getTypeName(NumberType type) {
  switch (type) {
  case NumberType::Int:
    return "int";
  case NumberType::Real:
    return "real";
  case NumberType::Bool:
    return "bool";
  }
  return "";
}

llvm::StringRef torsor::getSpelling(NodeOp op) {
  static constexpr llvm::StringLiteral names[] = {
      "",        "",         "",     "",      "",      "age",  "delta", "h",
      "H",       "g",        "G",    "N",     "D",     "V",    "score", "total",
      "",        "",         "",     "",      "",      "-",    "+",     "-",
      "*",       "/",        "div",  "mod",   "^",     "not",  "and",   "or",
      "<",       "<=",       ">",    ">=",    "==",    "!=",   "in",    "if",
      "abs",     "min",      "max",  "clamp", "floor", "ceil", "ilog2", "exp",
      "exp2",    "log",      "log2", "log1p", "sqrt",  "sin",  "cos",   "tanh",
      "sigmoid", "softplus", "dot",  "sum"};
  static_assert(std::size(names) == size_t(NodeOp::PathSum) + 1);
  return names[size_t(op)];
}

bool torsor::anyNode(const Node *node,
                     llvm::function_ref<bool(const Node *)> test) {
  llvm::DenseSet<const Node *> seen;
  llvm::SmallVector<const Node *> open = {node};
  while (!open.empty()) {
    const Node *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (test(next))
      return true;
    open.append(next->operands.begin(), next->operands.end());
  }
  return false;
}

bool torsor::isInfix(NodeOp op) {
  return (op >= NodeOp::Add && op <= NodeOp::Power) ||
         (op >= NodeOp::And && op <= NodeOp::In);
}

const Node *NodeGraph::integer(Integer value, SourceRange range) {
  Node node{NodeOp::IntConstant, NumberType::Int};
  node.integer = std::move(value);
  node.range = range;
  return intern(std::move(node));
}

const Node *NodeGraph::real(double value, SourceRange range) {
  Node node{NodeOp::RealConstant, NumberType::Real};
  node.real = value;
  node.range = range;
  return intern(std::move(node));
}

const Node *NodeGraph::truth(bool value, SourceRange range) {
  Node node{NodeOp::BoolConstant, NumberType::Bool};
  node.truth = value;
  node.range = range;
  return intern(std::move(node));
}

static size_t hashOf(const Node &node) {
  return llvm::hash_combine(
      uint8_t(node.op), uint8_t(node.type), int32_t(node.token), node.after,
      node.length, node.member, node.clock, node.tensor, node.integer,
      llvm::bit_cast<uint64_t>(node.real), node.truth,
      llvm::hash_combine_range(node.operands.begin(), node.operands.end()));
}

static bool equal(const Node &a, const Node &b) {
  return a.op == b.op && a.type == b.type && a.token == b.token &&
         a.after == b.after && a.length == b.length && a.member == b.member &&
         a.clock == b.clock && a.tensor == b.tensor && a.integer == b.integer &&
         llvm::bit_cast<uint64_t>(a.real) == llvm::bit_cast<uint64_t>(b.real) &&
         a.truth == b.truth && a.operands == b.operands;
}

void NodeGraph::grow() {
  std::vector<Place> old(std::max<size_t>(1024, 2 * table.size()));
  old.swap(table);
  size_t mask = table.size() - 1;
  for (const Place &place : old) {
    if (!place.node)
      continue;
    size_t at = place.hash & mask;
    while (table[at].node)
      at = (at + 1) & mask;
    table[at] = place;
  }
}

const Node *NodeGraph::intern(Node wanted) {
  if (2 * (nodes.size() + 1) > table.size())
    grow();
  size_t hash = hashOf(wanted), mask = table.size() - 1, at = hash & mask;
  for (; table[at].node; at = (at + 1) & mask)
    if (table[at].hash == hash && equal(*table[at].node, wanted))
      return table[at].node;
  for (const Node *operand : wanted.operands) {
    wanted.varies |= operand->varies;
    wanted.height = std::max(wanted.height, operand->height + 1);
  }
  // Operands of the caller may live on its stack.
  wanted.operands = wanted.operands.copy(arena);
  wanted.range = placeOf(wanted.range);
  wanted.id = uint32_t(nodes.size());
  unsigned words = wanted.integer.wordCount();
  bytes += sizeof(Node) + wanted.operands.size() * sizeof(Node *) +
           2 * sizeof(Place) + (words > 1 ? words * 8 : 0);
  nodes.push_back(std::move(wanted));
  table[at] = {hash, &nodes.back()};
  return table[at].node;
}

const Node *NodeGraph::make(NodeOp op, NumberType type,
                            llvm::ArrayRef<const Node *> operands,
                            SourceRange range) {
  Node node{op, type};
  node.operands = operands;
  node.range = range;
  return intern(std::move(node));
}

TokenId NodeGraph::makeToken(llvm::StringRef name) {
  tokenNames.push_back(name.str());
  return TokenId(int32_t(TokenId::FirstBound) + int32_t(tokenNames.size()) - 1);
}

llvm::StringRef NodeGraph::getTokenName(TokenId token) const {
  if (token == TokenId::Query)
    return "i";
  if (token == TokenId::Key)
    return "j";
  return tokenNames[size_t(token) - size_t(TokenId::FirstBound)];
}
