// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the values of a scheme, and what each of them varies by.
#include "reference/Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor::reference {

llvm::Error fail(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

llvm::Error failAt(Operation *op, const llvm::Twine &text) {
  return fail(op->getName().getStringRef() + ": " + text);
}

Level Node::level() const {
  if (varies & ByTotal)
    return Level::Total;
  if (varies & ByScore)
    return Level::Score;
  bool query = varies & ByQuery, key = varies & ByKey;
  if (query && key)
    return Level::Pair;
  return query ? Level::Query : key ? Level::Key : Level::Head;
}

static unsigned variesBy(TokenRef token) {
  switch (token.kind) {
  case TokenRef::Query:
    return ByQuery;
  case TokenRef::Key:
    return ByKey;
  case TokenRef::Path:
    return ByVariable << token.depth;
  }
  return 0;
}

/// What a value of this type is to the reference.
static void setType(Node &node, Type type) {
  if (auto vector = dyn_cast<RankedTensorType>(type)) {
    node.length = vector.getDimSize(0);
    type = vector.getElementType();
  }
  node.real = isa<FloatType>(type);
  if (auto integer = dyn_cast<IntegerType>(type))
    node.bits = int(integer.getWidth());
}

int ValueBuilder::node(Value value) const {
  if (!value)
    return -1;
  auto found = nodes.find(value);
  return found == nodes.end() ? -1 : found->second;
}

int ValueBuilder::add(Node node, std::vector<int> &list) {
  for (int operand : node.in)
    node.varies |= program.nodes[operand].varies;
  program.nodes.push_back(std::move(node));
  list.push_back(int(program.nodes.size()) - 1);
  return list.back();
}

int ValueBuilder::clockArgument(llvm::StringRef name) {
  auto [at, fresh] = names.try_emplace(name, int(program.arguments.size()));
  if (fresh) {
    Argument argument{Argument::Token, name.str(), {}, name != "pos"};
    program.arguments.push_back(argument);
  }
  return at->second;
}

int ValueBuilder::time(int clock, TokenRef token, int64_t member,
                       std::vector<int> &list) {
  Node node;
  node.code = Code::Time;
  node.clock = clock;
  node.token = token;
  node.number = member;
  const Clock &of = program.clocks[clock];
  node.real = of.real;
  node.length = member < 0 && of.members ? of.members : -1;
  node.varies = variesBy(token);
  if (of.running >= 0)
    node.in.push_back(of.running);
  return add(node, list);
}

Place ValueBuilder::position() {
  if (positionClock < 0) {
    positionClock = int(program.clocks.size());
    program.clocks.push_back({"pos", false, 0, -1, clockArgument("pos")});
  }
  std::vector<int> list;
  return {time(positionClock, {TokenRef::Query}, -1, list),
          time(positionClock, {TokenRef::Key}, -1, list)};
}

llvm::Error ValueBuilder::readTerm(Node &node, Region &region, int depth,
                                   bool token) {
  if (depth >= maximalDepth)
    return fail("terms are nested too deep for the reference");
  Block &block = region.front();
  Value variable = block.getArgument(0);
  Term term;
  term.depth = depth;
  if (token) {
    tokens[variable] = {TokenRef::Path, depth};
  } else {
    Node count;
    count.code = Code::Variable;
    count.number = depth;
    count.varies = ByVariable << depth;
    nodes[variable] = add(count, term.nodes);
  }
  for (Operation &op : block.without_terminator()) {
    llvm::Expected<bool> done = read(op, depth + 1, term.nodes);
    if (!done)
      return done.takeError();
    if (!*done)
      return failAt(&op, "the reference does not know it inside a term");
  }
  term.result = this->node(block.getTerminator()->getOperand(0));
  if (term.result < 0)
    return fail("a term yields something that is no value");
  for (int inner : term.nodes) {
    program.nodes[inner].top = false;
    node.varies |= program.nodes[inner].varies;
  }
  node.varies |= program.nodes[term.result].varies;
  node.varies &= ~(unsigned(ByVariable) << depth);
  node.term = int(program.terms.size());
  program.terms.push_back(std::move(term));
  return llvm::Error::success();
}

llvm::Error ValueBuilder::readRunning(RunningOp op, int depth,
                                      std::vector<int> &list) {
  Node node;
  node.code = Code::Running;
  node.flag = op.getExclusive();
  if (llvm::Error error = readTerm(node, op.getTerm(), depth, true))
    return error;
  if (node.varies & (ByQuery | ByKey | ByScore | ByTotal))
    return failAt(op, "the term of a running sum reads the query or the key");
  node.real = true;
  Clock clock;
  clock.real = true;
  clock.members = op.getType().getMembers();
  clock.running = add(node, list);
  program.nodes[clock.running].clock = int(program.clocks.size());
  clocks[op.getResult()] = int(program.clocks.size());
  program.clocks.push_back(clock);
  return llvm::Error::success();
}

void ValueBuilder::readArgument(Value tensor, llvm::StringRef name,
                                ArrayAttr axes, Argument::Kind kind) {
  Argument argument{kind, name.str(), {}, true};
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    argument.open.push_back(axis == "*");
  tensors[tensor] = int(program.arguments.size());
  program.arguments.push_back(std::move(argument));
}

llvm::Error ValueBuilder::readRead(ReadOp op, Node &node) {
  if (!tensors.count(op.getTensor()))
    return failAt(op, "reads something that is no param and no input");
  node.number = tensors.lookup(op.getTensor());
  setType(node, op.getType());
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  bool row = int64_t(op.getIndices().size()) + 1 == type.getRank();
  node.code = row ? Code::Row : Code::Read;
  for (auto [n, index] : llvm::enumerate(op.getIndices())) {
    auto token = tokens.find(index);
    if (token == tokens.end()) {
      node.in.push_back(this->node(index));
      continue;
    }
    bool first =
        n == 0 && program.arguments[node.number].kind == Argument::Token;
    if (!first)
      return failAt(op, "a token stands where the tensor has no axis for it");
    node.token = token->second;
    node.varies |= variesBy(node.token);
  }
  return llvm::Error::success();
}

llvm::Error ValueBuilder::readScalar(Operation &op, ScalarCode code,
                                     std::vector<int> &list) {
  Node node;
  node.code = Code::Scalar;
  node.scalar = code;
  setType(node, op.getResult(0).getType());
  for (Value operand : op.getOperands()) {
    int in = this->node(operand);
    if (in < 0)
      return failAt(&op, "takes something that is no value");
    node.in.push_back(in);
  }
  if (!node.in.empty())
    node.fromBits = program.nodes[node.in[0]].bits;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    node.number = int64_t(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    node.number = int64_t(compare.getPredicate());
  nodes[op.getResult(0)] = add(node, list);
  return llvm::Error::success();
}

static void setConstant(Node &node, Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    node.constant.i = node.bits == 1 ? integer.getValue().getBoolValue()
                                     : integer.getValue().getSExtValue();
  else if (auto real = dyn_cast<FloatAttr>(value))
    node.constant.f = real.getValueAsDouble();
  else if (auto list = dyn_cast<DenseIntElementsAttr>(value))
    for (const llvm::APInt &element : list)
      node.constant.integers.push_back(element.getSExtValue());
  else if (auto list = dyn_cast<DenseFPElementsAttr>(value))
    for (const llvm::APFloat &element : list)
      node.constant.reals.push_back(element.convertToDouble());
}

llvm::Error ValueBuilder::readLeaf(Operation &op, int depth,
                                   std::vector<int> &list) {
  Node node;
  if (op.getNumResults() == 1)
    setType(node, op.getResult(0).getType());
  llvm::Error error = llvm::Error::success();
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](arith::ConstantOp constant) {
        node.code = Code::Constant;
        setConstant(node, constant.getValue());
      })
      .Case([&](IndexOp index) {
        node.code = Code::Index;
        node.token = tokens.lookup(index.getToken());
        node.varies = variesBy(node.token);
      })
      .Case([&](AmbientOp ambient) {
        node.code = Code::Ambient;
        node.number = int64_t(ambient.getKind());
        bool head = ambient.getKind() == Ambient::Head ||
                    ambient.getKind() == Ambient::Group;
        node.varies = head ? ByHead
                      : ambient.getKind() == Ambient::Score
                          ? ByQuery | ByKey | ByScore
                      : ambient.getKind() == Ambient::Total ? ByQuery | ByTotal
                                                            : 0;
      })
      .Case([&](ReadOp read) { error = readRead(read, node); })
      .Case([&](VectorOp vector) {
        node.code = Code::Vector;
        node.flag = vector.getSide() == Side::Key;
        node.token = tokens.lookup(vector.getToken());
        node.varies = variesBy(node.token) | ByHead;
        node.length = program.head;
      })
      .Case([&](DotOp) { node.code = Code::Dot; })
      .Case([&](ListOp) { node.code = Code::List; })
      .Case([&](ElementOp) { node.code = Code::Element; })
      .Case([&](PathSumOp sum) {
        node.code = Code::PathSum;
        node.flag = sum.getAfter();
        node.varies = ByQuery | ByKey | ByHead;
        error = readTerm(node, sum.getTerm(), depth, true);
      })
      .Case([&](SumOp sum) {
        node.code = Code::Sum;
        node.number = int64_t(sum.getCount());
        error = readTerm(node, sum.getTerm(), depth, false);
      })
      .Case([&](TabulateOp table) {
        node.code = Code::Tabulate;
        error = readTerm(node, table.getTerm(), depth, false);
      });
  if (error)
    return error;
  if (isa<DotOp, ListOp, ElementOp>(op))
    for (Value operand : op.getOperands())
      node.in.push_back(this->node(operand));
  for (int in : node.in)
    if (in < 0)
      return failAt(&op, "takes something that is no value");
  nodes[op.getResult(0)] = add(node, list);
  return llvm::Error::success();
}

llvm::Expected<bool> ValueBuilder::read(Operation &op, int depth,
                                        std::vector<int> &list) {
  auto done = [](llvm::Error error) -> llvm::Expected<bool> {
    if (error)
      return std::move(error);
    return true;
  };
  if (auto token = dyn_cast<TokenOp>(op)) {
    tokens[token] = {token.getSide() == Side::Query ? TokenRef::Query
                                                    : TokenRef::Key};
    return true;
  }
  if (auto clock = dyn_cast<ClockOp>(op)) {
    ClockType type = clock.getType();
    if (clock.getName() == "pos") // Also of actions without `at`.
      positionClock = int(program.clocks.size());
    clocks[clock] = int(program.clocks.size());
    program.clocks.push_back(
        {clock.getName().str(), isa<FloatType>(type.getElement()),
         type.getMembers(), -1, clockArgument(clock.getName())});
    return true;
  }
  if (auto param = dyn_cast<ParamOp>(op)) {
    readArgument(param, param.getName(), param.getAxes(), Argument::Value);
    return true;
  }
  if (auto input = dyn_cast<InputOp>(op)) {
    Argument::Kind kind = input.getPer() == Per::Token      ? Argument::Token
                          : input.getPer() == Per::Sequence ? Argument::Sequence
                                                            : Argument::Value;
    readArgument(input, input.getName(), input.getAxes(), kind);
    return true;
  }
  if (auto running = dyn_cast<RunningOp>(op))
    return done(readRunning(running, depth, list));
  if (auto at = dyn_cast<TimeOp>(op)) {
    auto clock = clocks.find(at.getClock());
    auto token = tokens.find(at.getToken());
    if (clock == clocks.end() || token == tokens.end())
      return failAt(&op, "its clock or its token is declared nowhere");
    int64_t member = at.getMember() ? int64_t(*at.getMember()) : -1;
    nodes[at] = time(clock->second, token->second, member, list);
    return true;
  }
  if (isa<arith::ConstantOp, IndexOp, AmbientOp, ReadOp, VectorOp, DotOp,
          ListOp, ElementOp, PathSumOp, SumOp, TabulateOp>(op))
    return done(readLeaf(op, depth, list));
  if (std::optional<ScalarCode> code = scalarCode(op.getName().getStringRef()))
    return done(readScalar(op, *code, list));
  return false;
}

} // namespace torsor::reference
