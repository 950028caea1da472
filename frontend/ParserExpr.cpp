// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing of expressions, from loose to tight.
#include "frontend/Parser.h"

#include <fmt/format.h>

using namespace torsor;

namespace {
struct Nest {
  explicit Nest(unsigned &depth) : depth(depth) { ++depth; }
  ~Nest() { --depth; }
  unsigned &depth;
};
} // namespace

/// expr = "if" expr "then" expr "else" expr | "sum" NAME bound ":" expr | or
Expr *Parser::parseExpr() {
  Nest nest(depth);
  if (depth > recursionLimit && !failNesting())
    return nullptr;
  if (at("if"))
    return parseIf();
  if (at("sum"))
    return parseSum();
  return parseOr();
}

Expr *Parser::parseIf() {
  uint32_t begin = take().range.begin;
  auto *node = make<IfExpr>();
  if (!(node->condition = parseExpr()))
    return nullptr;
  if (!expect("then", "",
              at("=")    ? "equality is written '=='"
              : at("..") ? "a range is tested by comparisons, as in 0 <= x < 8"
                         : "a choice is written 'if c then a else b'"))
    return nullptr;
  if (!(node->yes = parseExpr()))
    return nullptr;
  if (!at("else")) {
    if (peek().error >= 0)
      failExpected("'else'");
    else
      fail(getFoundRange(), "syntax",
           "an 'if' needs its 'else': every expression has a value");
    return nullptr;
  }
  take();
  if (!(node->no = parseExpr()))
    return nullptr;
  return finish(node, from(begin), {node->condition, node->yes, node->no});
}

/// bound = ( "<" | "<=" ) arith | "in" arith ".." arith
bool Parser::parseSumBound(SumExpr &sum) {
  if (accept("in")) {
    sum.bound = SumKind::In;
    return (sum.lo = parseBound()) &&
           expect("..", "",
                  "a sum from 0 is written 'sum p < n: …', another one "
                  "'sum p in a .. b: …'") &&
           (sum.hi = parseBound());
  }
  if (!atAny({"<", "<="})) {
    failExpected("'<', '<=' or 'in' after the summation index");
    return false;
  }
  sum.bound = take().text == "<" ? SumKind::Less : SumKind::LessEqual;
  return (sum.hi = parseBound());
}

Expr *Parser::parseSum() {
  uint32_t begin = take().range.begin;
  auto *node = make<SumExpr>();
  if (at("(")) {
    failExpected("the name of the summation index",
                 "a sum is written 'sum p < n: …', without parentheses");
    return nullptr;
  }
  if (!parseName(node->name, "the summation index") || !parseSumBound(*node) ||
      !expect(":", "and what is summed") || !(node->body = parseExpr()))
    return nullptr;
  llvm::SmallVector<const Expr *, 3> children = {node->hi, node->body};
  if (node->lo)
    children.push_back(node->lo);
  return finish(node, from(begin), children);
}

Expr *Parser::makeBinary(BinaryOp op, SourceRange opRange, Expr *left,
                         Expr *right) {
  auto *node = make<BinaryExpr>();
  node->op = op;
  node->opRange = opRange;
  node->left = left;
  node->right = right;
  return finish(node, left->full.to(right->full), {left, right});
}

/// operand { op operand }, grouped to the left.
Expr *Parser::parseChain(Rule operand, llvm::ArrayRef<BinaryOp> ops) {
  Expr *left = (this->*operand)();
  while (left) {
    const auto *op =
        llvm::find_if(ops, [&](BinaryOp op) { return at(getSpelling(op)); });
    if (op == ops.end())
      break;
    SourceRange opRange = take().range;
    Expr *right = (this->*operand)();
    left = right ? makeBinary(*op, opRange, left, right) : nullptr;
  }
  return left;
}

Expr *Parser::parseOr() {
  return parseChain(&Parser::parseAnd, {BinaryOp::Or});
}

Expr *Parser::parseAnd() {
  return parseChain(&Parser::parseNot, {BinaryOp::And});
}

/// not = "not" not | compare
Expr *Parser::parseNot() {
  if (!at("not"))
    return parseCompare();
  Nest nest(depth);
  if (depth > recursionLimit && !failNesting())
    return nullptr;
  uint32_t begin = take().range.begin;
  auto *node = make<NotExpr>();
  if (!(node->value = parseNot()))
    return nullptr;
  return finish(node, from(begin), {node->value});
}

/// 1: upwards, -1: downwards, 0: neither.
static int getDirection(CompareOp op) {
  switch (op) {
  case CompareOp::Less:
  case CompareOp::LessEqual:
    return 1;
  case CompareOp::Greater:
  case CompareOp::GreaterEqual:
    return -1;
  default:
    return 0;
  }
}

/// compare = arith { ( "<" | "<=" | ">" | ">=" | "==" | "!=" | "in" ) arith }
Expr *Parser::parseCompare() {
  static constexpr CompareOp ops[] = {
      CompareOp::Less,    CompareOp::LessEqual,
      CompareOp::Greater, CompareOp::GreaterEqual,
      CompareOp::Equal,   CompareOp::NotEqual,
      CompareOp::In};
  Expr *first = parseArith();
  if (!first)
    return nullptr;
  llvm::SmallVector<CompareLink, 2> links;
  llvm::SmallVector<const Expr *, 3> children = {first};
  bool oneWay = true;
  while (true) {
    const auto *op =
        llvm::find_if(ops, [&](CompareOp op) { return at(getSpelling(op)); });
    if (op == std::end(ops))
      break;
    CompareLink link;
    link.op = *op;
    link.opRange = take().range;
    if (!(link.right = parseArith()))
      return nullptr;
    if (!links.empty())
      oneWay &= getDirection(*op) != 0 &&
                getDirection(*op) == getDirection(links.back().op);
    links.push_back(link);
    children.push_back(link.right);
  }
  if (links.empty())
    return first;
  SourceRange range = first->full.to(links.back().right->full);
  if (!oneWay) {
    fail(range, "chain",
         "only comparisons of one direction can be chained, as in 0 <= x < 8");
    return nullptr;
  }
  auto *node = make<CompareExpr>();
  node->first = first;
  node->links = copy(links);
  return finish(node, range, children);
}

Expr *Parser::parseArith() {
  return parseChain(&Parser::parseProduct, {BinaryOp::Add, BinaryOp::Sub});
}

/// An arith that stands for itself, such as the bound of a sum.
Expr *Parser::parseBound() {
  Nest nest(depth);
  if (depth > recursionLimit && !failNesting())
    return nullptr;
  return parseArith();
}

Expr *Parser::parseProduct() {
  return parseChain(&Parser::parseUnary, {BinaryOp::Mul, BinaryOp::Div,
                                          BinaryOp::FloorDiv, BinaryOp::Mod});
}

/// unary = "-" unary | power
Expr *Parser::parseUnary() {
  if (!at("-"))
    return parsePower();
  Nest nest(depth);
  if (depth > recursionLimit && !failNesting())
    return nullptr;
  uint32_t begin = take().range.begin;
  auto *node = make<NegateExpr>();
  if (!(node->value = parseUnary()))
    return nullptr;
  return finish(node, from(begin), {node->value});
}

/// power = placed [ "^" unary ]
Expr *Parser::parsePower() {
  Expr *base = parsePlaced();
  if (!base || !at("^"))
    return base;
  Nest nest(depth);
  if (depth > recursionLimit && !failNesting())
    return nullptr;
  SourceRange opRange = take().range;
  Expr *exponent = parseUnary();
  return exponent ? makeBinary(BinaryOp::Pow, opRange, base, exponent)
                  : nullptr;
}

/// placed = postfix [ "at" place ]
Expr *Parser::parsePlaced() {
  Expr *value = parsePostfix();
  if (!value || !at("at"))
    return value;
  auto *node = make<AtExpr>();
  node->value = value;
  node->word = take().range;
  if (!parsePlace(*node))
    return nullptr;
  llvm::SmallVector<const Expr *, 3> children = {value};
  for (const Expr *place : {node->clock, node->query, node->key})
    if (place)
      children.push_back(place);
  Expr *expr = finish(node, from(value->range.begin), children);
  if (expr)
    expr->full = from(value->full.begin);
  return expr;
}

/// place = NAME [ "[" expr "]" ] | "(" expr ")"
///       | "(" NAME "=" expr "," NAME "=" expr ")"
bool Parser::parsePlace(AtExpr &at) {
  if (this->at("(")) {
    if (peek(1).kind == TokenKind::Name && peek(2).is("="))
      return parseSides(at);
    SourceRange open = take().range;
    Expr *clock = parseExpr();
    if (!clock ||
        !expectClose(")", open,
                     this->at(",")
                         ? "times are written (q = …, k = …), two clocks "
                           "on the same lanes (A at c) * (B at d)"
                         : ""))
      return false;
    clock->parens = true;
    clock->full = from(open.begin);
    at.clock = clock;
    return true;
  }
  Name name;
  if (!parseName(name, "a clock"))
    return false;
  auto *clock = make<NameExpr>();
  clock->text = name.text;
  at.clock = finish(clock, name.range);
  if (!this->at("["))
    return at.clock;
  SourceRange open = take().range;
  auto *member = make<IndexExpr>();
  member->value = at.clock;
  const Expr *index = parseExpr();
  if (!index || !expectClose("]", open))
    return false;
  member->indices = llvm::ArrayRef<const Expr *>(index).copy(arena);
  at.clock = finish(member, from(name.range.begin), {member->value, index});
  return at.clock;
}

bool Parser::parseSides(AtExpr &at) {
  SourceRange open = take().range;
  Name query, key;
  if (!parseName(query, "the query's place") || !expect("=") ||
      !(at.query = parseExpr()) ||
      !expect(",", "and the key's place", "at (q = …, k = …)") ||
      !parseName(key, "the key's place") || !expect("=") ||
      !(at.key = parseExpr()))
    return false;
  if (query.text != "q" || key.text != "k") {
    fail(query.range.to(at.key->full), "place",
         "a place gives both sides, in this order: at (q = …, k = …)");
    return false;
  }
  return expectClose(")", open);
}
