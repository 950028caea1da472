// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of an expression at one pair, for warnings.
#include "frontend/Probe.h"

#include "frontend/Builtins.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>

using namespace torsor;

namespace {

double applyTwo(NodeOp op, double a, double b, double unknown) {
  switch (op) {
  case NodeOp::Add:
    return a + b;
  case NodeOp::Sub:
    return a - b;
  case NodeOp::Mul:
    return a * b;
  case NodeOp::Div:
    return a / b;
  case NodeOp::FloorDiv:
    return std::floor(a / b);
  case NodeOp::Mod:
    return a - b * std::floor(a / b);
  case NodeOp::Power:
    return std::pow(a, b);
  case NodeOp::And:
    return a != 0 && b != 0;
  case NodeOp::Or:
    return a != 0 || b != 0;
  case NodeOp::Less:
    return a < b;
  case NodeOp::LessEqual:
    return a <= b;
  case NodeOp::Greater:
    return a > b;
  case NodeOp::GreaterEqual:
    return a >= b;
  case NodeOp::Equal:
    return a == b;
  case NodeOp::NotEqual:
    return a != b;
  case NodeOp::Min:
    return std::min(a, b);
  case NodeOp::Max:
    return std::max(a, b);
  default:
    return unknown;
  }
}

struct Prober {
  const ProbePoint &point;
  llvm::DenseMap<const Node *, double> values;

  /// The arm of a Select that counts at the point.
  const Node *taken(const Node *select) {
    return select->operands[value(select->operands[0]) != 0 ? 1 : 2];
  }
  /// Is this 1 / 0, or 0 to a negative power?
  bool isPole(const Node *node) {
    bool divides = node->op == NodeOp::Div && value(node->operands[1]) == 0;
    bool powers = node->op == NodeOp::Power && value(node->operands[0]) == 0 &&
                  value(node->operands[1]) < 0;
    return divides || powers;
  }
  double value(const Node *node) {
    if (auto known = values.find(node); known != values.end())
      return known->second;
    double result = compute(node);
    values[node] = result;
    return result;
  }

private:
  double leaf(const Node *node) const {
    double s = double(point.query), t = double(point.key);
    switch (node->op) {
    case NodeOp::IntConstant:
    case NodeOp::RealConstant:
      return node->asReal();
    case NodeOp::BoolConstant:
      return node->truth;
    case NodeOp::Index:
    case NodeOp::Time:
      return node->token == TokenId::Query ? s
             : node->token == TokenId::Key ? t
                                           : point.unknown;
    case NodeOp::Age:
      return s - t;
    case NodeOp::Delta:
      return t - s;
    case NodeOp::Head:
    case NodeOp::Group:
      return double(point.head);
    case NodeOp::Heads:
    case NodeOp::Groups:
      return double(point.heads);
    case NodeOp::Length:
      return double(point.length);
    default:
      return point.unknown;
    }
  }

  double compute(const Node *node) {
    if (node->operands.empty())
      return leaf(node);
    if (node->op == NodeOp::Select)
      return value(taken(node));
    if (node->op == NodeOp::Clamp)
      return std::max(
          value(node->operands[1]),
          std::min(value(node->operands[0]), value(node->operands[2])));
    if (node->operands.size() == 2)
      return applyTwo(node->op, value(node->operands[0]),
                      value(node->operands[1]), point.unknown);
    if (node->operands.size() != 1)
      return point.unknown;
    double x = value(node->operands[0]);
    switch (node->op) {
    case NodeOp::ToReal:
      return x;
    case NodeOp::Negate:
      return -x;
    case NodeOp::Not:
      return x == 0;
    case NodeOp::Abs:
      return std::abs(x);
    case NodeOp::Floor:
      return std::floor(x);
    case NodeOp::Ceil:
      return std::ceil(x);
    case NodeOp::ILog2:
      return std::floor(std::log2(x));
    default:
      break;
    }
    const RealFunction *function = findRealFunction(getSpelling(node->op));
    return function ? function->apply(x) : point.unknown;
  }
};

} // namespace

double torsor::probe(const Node *node, const ProbePoint &point) {
  Prober prober{point, llvm::DenseMap<const Node *, double>()};
  return prober.value(node);
}

const Node *torsor::findPole(const Node *node, const ProbePoint &point) {
  Prober prober{point, llvm::DenseMap<const Node *, double>()};
  if (std::isfinite(prober.value(node)))
    return nullptr;
  llvm::DenseSet<const Node *> seen;
  llvm::SmallVector<const Node *> open = {node};
  while (!open.empty()) {
    const Node *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (prober.isPole(next))
      return next;
    if (next->op == NodeOp::Select)
      open.append({next->operands[0], prober.taken(next)});
    else
      open.append(next->operands.begin(), next->operands.end());
  }
  return nullptr;
}
