// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints expressions and actions in canonical form.
#include "frontend/NodePrinter.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cmath>

#include "fmt/format.h"

using namespace torsor;

std::string torsor::printReal(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                           std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  size_t mark = text.find('e');
  int exponent = std::stoi(text.substr(mark + 1));
  if (exponent < -4 || exponent >= 16)
    return text;
  end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                      std::chars_format::fixed);
  text.assign(buffer, end.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string torsor::printNode(const CheckedFile &file, const Scheme &scheme,
                              const Node *node) {
  return NodePrinter(file, scheme).printOuter(node);
}

std::string torsor::printAction(const CheckedFile &file, const Scheme &scheme,
                                const ActionNode *action) {
  return NodePrinter(file, scheme).print(action);
}

std::string NodePrinter::print(const Node *node) {
  // A graph with much sharing may be far longer as text.
  if (length > limit)
    return "…";
  std::string text = make(node);
  length += text.size();
  return text;
}

/// Does one pair of parentheses enclose all of the text?
static bool isEnclosed(llvm::StringRef text) {
  if (!text.starts_with("("))
    return false;
  int depth = 0;
  for (size_t at = 0; at != text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0)
      return at + 1 == text.size();
  }
  return false;
}

std::string NodePrinter::printOuter(const Node *node) {
  std::string text = print(node);
  return isEnclosed(text) ? text.substr(1, text.size() - 2) : text;
}

std::string NodePrinter::print(const VectorInfo &vector) {
  if (vector.row)
    return print(vector.row);
  llvm::SmallVector<const Node *> elements;
  for (const Scalar &element : vector.elements)
    elements.push_back(element.node);
  return "[" + printArguments(elements) + "]";
}

std::string NodePrinter::print(ClockRef ref) {
  read.insert(ref.clock);
  if (ref.member < 0)
    return ref.clock->name;
  return fmt::format("{}[{}]", ref.clock->name, ref.member);
}

std::string NodePrinter::print(const TensorInfo &tensor) {
  read.insert(&tensor);
  return tensor.name;
}

std::string NodePrinter::bind(TokenId token) {
  std::string wanted = file.graph.getTokenName(token).str(), name = wanted;
  auto taken = [&] {
    auto has = [&](const auto &thing) { return thing.name == name; };
    return llvm::any_of(scheme.clocks, has) ||
           llvm::any_of(scheme.tensors, has) ||
           llvm::any_of(
               file.schemes,
               [&](const auto &other) { return other->name == name; }) ||
           llvm::any_of(
               bound, [&](const auto &entry) { return entry.second == name; });
  };
  for (int n = 1; taken(); ++n)
    name = fmt::format("{}_{}", wanted, n);
  bound.emplace_back(token, name);
  return name;
}

std::string NodePrinter::printToken(TokenId token) const {
  for (const auto &[known, name] : llvm::reverse(bound))
    if (known == token)
      return name;
  return file.graph.getTokenName(token).str();
}

std::string NodePrinter::printArguments(llvm::ArrayRef<const Node *> args) {
  std::string text;
  for (const Node *arg : args) {
    if (arg != args.front() || !text.empty())
      text += ", ";
    text += print(arg);
  }
  return text;
}

std::string NodePrinter::printRead(const Node *node) {
  std::string text = print(*node->tensor);
  std::string indices;
  if (node->token != TokenId::None)
    indices = printToken(node->token);
  for (const Node *operand : node->operands)
    indices += (indices.empty() ? "" : ", ") + print(operand);
  return indices.empty() ? text : text + "[" + indices + "]";
}

std::string NodePrinter::printInfix(const Node *node) {
  std::string left = print(node->operands[0]);
  // -x ^ y is -(x ^ y).
  if (node->op == NodeOp::Power && llvm::StringRef(left).starts_with("-"))
    left = "(" + left + ")";
  return fmt::format("({} {} {})", left, getSpelling(node->op).str(),
                     print(node->operands[1]));
}

std::string NodePrinter::printPathSum(const Node *node) {
  std::string name = bind(node->token);
  std::string body = printOuter(node->operands[0]);
  unbind();
  return fmt::format("(sum {} in {} .. i: {})", name,
                     node->after ? "j + 1" : "j", body);
}

std::string NodePrinter::make(const Node *node) {
  auto operand = [&](size_t n) { return node->operands[n]; };
  switch (node->op) {
  case NodeOp::IntConstant:
    return node->integer.toString();
  case NodeOp::RealConstant:
    return printReal(node->real);
  case NodeOp::BoolConstant:
    return node->truth ? "true" : "false";
  case NodeOp::Index:
    return printToken(node->token);
  case NodeOp::Time:
    if (node->clock->name == "pos" && node->token == TokenId::Query)
      return "s";
    if (node->clock->name == "pos" && node->token == TokenId::Key)
      return "t";
    return fmt::format("{}[{}]", print(ClockRef{node->clock, node->member}),
                       printToken(node->token));
  case NodeOp::Age:
  case NodeOp::Delta: {
    std::string word = getSpelling(node->op).str();
    if (node->clock->name == "pos")
      return word;
    return fmt::format("{}({})", word,
                       print(ClockRef{node->clock, node->member}));
  }
  case NodeOp::Read:
    return printRead(node);
  case NodeOp::TokenVector:
    return fmt::format("{}[{}]", node->after ? "k" : "q",
                       printToken(node->token));
  case NodeOp::List:
    return "[" + printArguments(node->operands) + "]";
  case NodeOp::Element:
    if (operand(0)->op == NodeOp::TokenVector)
      return fmt::format("{}[{}, {}]", operand(0)->after ? "k" : "q",
                         printToken(operand(0)->token), print(operand(1)));
    return fmt::format("{}[{}]", print(operand(0)), printOuter(operand(1)));
  case NodeOp::ToReal:
    return print(operand(0));
  case NodeOp::Negate:
    return "-" + print(operand(0));
  case NodeOp::Not:
    return "not (" + printOuter(operand(0)) + ")";
  case NodeOp::Select:
    return fmt::format("(if {} then {} else {})", print(operand(0)),
                       print(operand(1)), print(operand(2)));
  case NodeOp::PathSum:
    return printPathSum(node);
  default:
    break;
  }
  if (isInfix(node->op))
    return printInfix(node);
  std::string word = getSpelling(node->op).str();
  if (node->operands.empty())
    return word;
  return word + "(" + printArguments(node->operands) + ")";
}

std::string NodePrinter::printPlace(const ActionNode *place) {
  if (place->clock.clock)
    return " at " + print(place->clock);
  return fmt::format(" at (q = {}, k = {})", print(place->query.node),
                     print(place->key.node));
}

namespace {

/// A part of a direct sum and the place that was written around it or around
/// the sum it stood in.
struct Part {
  const ActionNode *action;
  const ActionNode *place;
};

void flatten(const ActionNode *action, const ActionNode *place,
             std::vector<Part> &parts) {
  if (action->op == ActionOp::Sum) {
    for (const ActionNode *kid : action->kids)
      flatten(kid, place, parts);
  } else if (action->op == ActionOp::At) {
    flatten(action->kids[0], action, parts);
  } else {
    parts.push_back({action, place});
  }
}

} // namespace

std::string NodePrinter::printSum(const ActionNode *action, bool inner) {
  std::vector<Part> parts;
  flatten(action, nullptr, parts);
  std::vector<std::string> texts;
  std::vector<std::string> run; // frequencies of adjacent turns on one clock
  std::string where;
  auto flush = [&] {
    if (run.empty())
      return;
    texts.push_back((run.size() > 1
                         ? fmt::format("rotation([{}])", fmt::join(run, ", "))
                         : fmt::format("turn({})", run.front())) +
                    where);
    run.clear();
  };
  for (const Part &part : parts) {
    std::string place = part.place ? printPlace(part.place) : "";
    if (part.action->op == ActionOp::Turn) {
      if (place != where)
        flush();
      where = place;
      run.push_back(print(part.action->rate.node));
      continue;
    }
    flush();
    std::string text = print(part.action, parts.size() > 1);
    if (part.place && part.action->op == ActionOp::Product)
      text = "(" + text + ")";
    texts.push_back(text + place);
  }
  flush();
  std::string text = fmt::format("{}", fmt::join(texts, " + "));
  return inner && texts.size() > 1 ? "(" + text + ")" : text;
}

std::string NodePrinter::print(const ActionNode *action, bool inner) {
  auto kid = [&](size_t n) { return action->kids[n]; };
  auto rate = [&] { return print(action->rate.node); };
  if (length > limit)
    return "…";
  switch (action->op) {
  case ActionOp::Sum:
    return printSum(action, inner);
  case ActionOp::At: {
    std::string text = print(kid(0), true);
    if (kid(0)->op == ActionOp::Product)
      text = "(" + text + ")";
    return text + printPlace(action);
  }
  case ActionOp::Product:
    return fmt::format("{} * {}", print(kid(0), true), print(kid(1), true));
  case ActionOp::Choose:
    return fmt::format("(if {} then {} else {})", print(action->condition),
                       print(kid(0)), print(kid(1)));
  case ActionOp::Zero:
    return fmt::format("zero({})", action->width);
  case ActionOp::Turn:
    return fmt::format("turn({})", rate());
  case ActionOp::Decay: {
    // In parentheses a rate is taken as it is.
    bool quoted = action->rate.node->looksLikeFactor();
    return fmt::format("decay({}, rate = {})", action->width,
                       quoted ? "(" + rate() + ")" : rate());
  }
  case ActionOp::Jordan:
    return fmt::format("jordan({}, order = {}, couple = {})", print(kid(0)),
                       action->order, rate());
  case ActionOp::Plane:
    return fmt::format("plane({}, a = {}, b = {})", rate(), print(*action->u),
                       print(*action->v));
  case ActionOp::Basis:
    return fmt::format("basis({}, columns = {})", print(kid(0)),
                       print(*action->columns));
  case ActionOp::Gain:
    if (action->u)
      return fmt::format("gain({}, q = {}, k = {})", print(kid(0)),
                         print(*action->u), print(*action->v));
    return fmt::format("gain({}, by = {})", print(kid(0)), rate());
  case ActionOp::Split:
  case ActionOp::Adjacent:
    return fmt::format("{}({})", getSpelling(action->op).str(), print(kid(0)));
  }
  return "";
}
