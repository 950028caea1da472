// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does a mask hide every key after the query? By what it says: a conjunct that
// means i - j >= c for a constant c >= 0.
#include "frontend/Sema.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

using namespace torsor;

namespace {

/// `i * query + j * key + constant`, for small coefficients.
struct Affine {
  int64_t query = 0, key = 0, constant = 0;
};

constexpr int64_t limit = int64_t(1) << 40;

std::optional<Affine> bounded(Affine a) {
  for (int64_t part : {a.query, a.key, a.constant})
    if (part > limit || part < -limit)
      return std::nullopt;
  return a;
}

std::optional<Affine> combine(std::optional<Affine> a, std::optional<Affine> b,
                              int64_t sign) {
  if (!a || !b)
    return std::nullopt;
  return bounded({a->query + sign * b->query, a->key + sign * b->key,
                  a->constant + sign * b->constant});
}

/// `budget` bounds the work on graphs with much sharing.
std::optional<Affine> readAffine(const Node *node, unsigned &budget) {
  if (budget == 0)
    return std::nullopt;
  --budget;
  switch (node->op) {
  case NodeOp::IntConstant:
    if (auto value = node->integer.toInt64())
      return bounded({0, 0, *value});
    return std::nullopt;
  case NodeOp::Index:
    if (node->token == TokenId::Query)
      return Affine{1, 0, 0};
    if (node->token == TokenId::Key)
      return Affine{0, 1, 0};
    return std::nullopt;
  case NodeOp::Negate:
    return combine(Affine{}, readAffine(node->operands[0], budget), -1);
  case NodeOp::Add:
  case NodeOp::Sub:
    return combine(readAffine(node->operands[0], budget),
                   readAffine(node->operands[1], budget),
                   node->op == NodeOp::Add ? 1 : -1);
  case NodeOp::Mul:
    for (int side : {0, 1}) {
      const Node *factor = node->operands[side];
      auto by = factor->op == NodeOp::IntConstant ? factor->integer.toInt64()
                                                  : std::nullopt;
      auto rest =
          by ? readAffine(node->operands[1 - side], budget) : std::nullopt;
      if (rest && *by < (1 << 20) && *by > -(1 << 20))
        return bounded(
            {rest->query * *by, rest->key * *by, rest->constant * *by});
    }
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Does `a >= 0` mean i - j >= 0? It does if a = m (i - j) + c with c < m,
/// since then i - j > -1.
bool saysPast(std::optional<Affine> a) {
  return a && a->query > 0 && a->key == -a->query && a->constant < a->query;
}

/// Does comparing a with b in this direction say so? For ints a < b is
/// b - a - 1 >= 0.
bool saysPast(NodeOp op, const Node *a, const Node *b) {
  if (a->type != NumberType::Int || b->type != NumberType::Int)
    return false;
  unsigned budget = 1000;
  auto x = readAffine(a, budget), y = readAffine(b, budget);
  auto above = combine(y, x, -1), below = combine(x, y, -1);
  auto one = Affine{0, 0, 1};
  switch (op) {
  case NodeOp::Less:
    return saysPast(combine(above, one, -1));
  case NodeOp::LessEqual:
    return saysPast(above);
  case NodeOp::Greater:
    return saysPast(combine(below, one, -1));
  case NodeOp::GreaterEqual:
    return saysPast(below);
  case NodeOp::Equal:
    return saysPast(above) || saysPast(below);
  default:
    return false;
  }
}

NodeOp opposite(NodeOp op) {
  switch (op) {
  case NodeOp::Less:
    return NodeOp::GreaterEqual;
  case NodeOp::LessEqual:
    return NodeOp::Greater;
  case NodeOp::Greater:
    return NodeOp::LessEqual;
  case NodeOp::GreaterEqual:
    return NodeOp::Less;
  case NodeOp::Equal:
    return NodeOp::NotEqual;
  default:
    return NodeOp::Equal;
  }
}

struct CausalReader {
  /// What is known: 0 nothing, 1 no, 2 yes; for truth and falsehood.
  llvm::DenseMap<const Node *, std::array<char, 2>> known;

  /// Does the truth of `node` (its falsehood, if `negated`) say that the key is
  /// not after the query?
  bool implies(const Node *node, bool negated) {
    if (char found = known[node][negated])
      return found == 2;
    bool result = compute(node, negated);
    known[node][negated] = result ? 2 : 1;
    return result;
  }

private:
  bool compute(const Node *node, bool negated) {
    auto operand = [&](size_t n) { return node->operands[n]; };
    switch (node->op) {
    case NodeOp::BoolConstant:
      return node->truth == negated;
    case NodeOp::Not:
      return implies(operand(0), !negated);
    case NodeOp::And:
    case NodeOp::Or: {
      bool a = implies(operand(0), negated), b = implies(operand(1), negated);
      return (node->op == NodeOp::And) != negated ? a || b : a && b;
    }
    case NodeOp::Select:
      return implies(operand(1), negated) && implies(operand(2), negated);
    case NodeOp::Less:
    case NodeOp::LessEqual:
    case NodeOp::Greater:
    case NodeOp::GreaterEqual:
    case NodeOp::Equal:
    case NodeOp::NotEqual:
      return saysPast(negated ? opposite(node->op) : node->op, operand(0),
                      operand(1));
    default:
      return false;
    }
  }
};

} // namespace

bool torsor::impliesCausal(const Node *mask) {
  return CausalReader().implies(mask, false);
}
