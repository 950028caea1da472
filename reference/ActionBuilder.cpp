// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads actions and terms, and orders what is computed when.
#include "reference/Builder.h"
#include "reference/Reference.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace torsor::reference {
namespace {

/// Reads one action; `place` is where the nearest `at` around it puts it.
class ActionReader {
public:
  ActionReader(Program &program, ValueBuilder &values)
      : program(program), values(values) {}

  llvm::Expected<std::unique_ptr<Action>> read(Value value, Place place,
                                               std::vector<int> lanes);

private:
  llvm::Error readParts(Operation *op, Action &action, Place place);
  llvm::Error readOperands(Operation *op, Action &action, Place &place);
  bool isApart(const Action &action) const;

  Program &program;
  ValueBuilder &values;
};

/// The lane of `split(A)` at which each lane of A lies: pair p at p and
/// p + width / 2.
std::vector<int> splitLanes(const std::vector<int> &lanes) {
  std::vector<int> inner(lanes.size());
  for (size_t p = 0; p < lanes.size() / 2; ++p) {
    inner[2 * p] = lanes[p];
    inner[2 * p + 1] = lanes[p + lanes.size() / 2];
  }
  return inner;
}

Action::Kind kindOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Action::Kind>(op)
      .Case([](ZeroOp) { return Action::Zero; })
      .Case([](TurnOp) { return Action::Turn; })
      .Case([](DecayOp) { return Action::Decay; })
      .Case([](JordanOp) { return Action::Jordan; })
      .Case([](PlaneOp) { return Action::Plane; })
      .Case([](UnipotentOp) { return Action::Unipotent; })
      .Case([](ConcatOp) { return Action::Concat; })
      .Case([](ProductOp) { return Action::Product; })
      .Case([](SplitOp) { return Action::Split; })
      .Case([](BasisOp) { return Action::Basis; })
      .Case([](GainOp gain) {
        return gain.getBy() ? Action::Gain : Action::SideGains;
      })
      .Case([](ChooseOp) { return Action::Choose; })
      .Default([](Operation *) { return Action::Same; });
}

llvm::Error ActionReader::readOperands(Operation *op, Action &action,
                                       Place &place) {
  auto set = [&](int &slot, Value value) {
    slot = values.node(value);
    return slot >= 0;
  };
  bool good =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case(
              [&](TurnOp turn) { return set(action.a, turn.getFrequencies()); })
          .Case([&](DecayOp decay) { return set(action.a, decay.getRate()); })
          .Case([&](JordanOp jordan) {
            action.order = int64_t(jordan.getOrder());
            return set(action.a, jordan.getCouple());
          })
          .Case([&](PlaneOp plane) {
            return set(action.a, plane.getFrequency()) &&
                   set(action.b, plane.getU()) && set(action.c, plane.getV());
          })
          .Case(
              [&](UnipotentOp bias) { return set(action.a, bias.getSlope()); })
          .Case([&](GainOp gain) {
            return gain.getBy() ? set(action.a, gain.getBy())
                                : set(action.b, gain.getQ()) &&
                                      set(action.c, gain.getK());
          })
          .Case([&](BasisOp basis) {
            if (!values.isArgument(basis.getColumns()))
              return false;
            action.basis = values.argument(basis.getColumns());
            if (auto param = basis.getColumns().getDefiningOp<ParamOp>())
              action.orthogonal = param.getOrthogonal();
            return true;
          })
          .Case([&](ChooseOp choose) {
            return set(action.a, choose.getCondition());
          })
          .Case([&](AtOp at) {
            return set(place.query, at.getQ()) && set(place.key, at.getK());
          })
          .Default([](Operation *) { return true; });
  return good ? llvm::Error::success()
              : failAt(op, "takes something that is no value");
}

llvm::Error ActionReader::readParts(Operation *op, Action &action,
                                    Place place) {
  int64_t at = 0;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<ActionType>(operand.getType());
    if (!type)
      continue;
    std::vector<int> lanes = action.lanes;
    if (action.kind == Action::Concat)
      lanes = {action.lanes.begin() + at,
               action.lanes.begin() + at + type.getWidth()};
    else if (action.kind == Action::Split)
      lanes = splitLanes(action.lanes);
    else if (action.kind == Action::Jordan)
      lanes.resize(type.getWidth()); // The chain spreads them itself.
    at += type.getWidth();
    auto part = read(operand, place, std::move(lanes));
    if (!part)
      return part.takeError();
    action.parts.push_back(std::move(*part));
  }
  return llvm::Error::success();
}

bool ActionReader::isApart(const Action &action) const {
  switch (action.kind) {
  case Action::Decay:
  case Action::Jordan:
  case Action::Unipotent:
  case Action::Choose:
    return false;
  case Action::Turn:
  case Action::Plane: {
    unsigned rate = program.nodes[action.a].varies;
    if (action.b >= 0)
      rate |= program.nodes[action.b].varies | program.nodes[action.c].varies;
    return !(rate & (ByQuery | ByKey)) &&
           !(program.nodes[action.place.query].varies & ByKey) &&
           !(program.nodes[action.place.key].varies & ByQuery);
  }
  case Action::Gain:
  case Action::SideGains:
    for (int gain : {action.a, action.b, action.c})
      if (gain >= 0 && program.nodes[gain].varies & (ByQuery | ByKey))
        return false;
    break;
  default:
    break;
  }
  return llvm::all_of(action.parts, [](auto &part) { return part->apart; });
}

llvm::Expected<std::unique_ptr<Action>>
ActionReader::read(Value value, Place place, std::vector<int> lanes) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ActionType>(value.getType()))
    return fail("an action comes from nowhere");
  auto action = std::make_unique<Action>();
  action->kind = kindOf(op);
  if (action->kind == Action::Same && !isa<AdjacentOp, AtOp>(op))
    return failAt(op, "the reference does not know this action");
  action->width = cast<ActionType>(value.getType()).getWidth();
  if (int64_t(lanes.size()) != action->width)
    return failAt(op, "its width does not fit its place");
  action->lanes = std::move(lanes);
  Place inner = place;
  if (llvm::Error error = readOperands(op, *action, inner))
    return std::move(error);
  action->place = inner;
  if (llvm::Error error = readParts(op, *action, inner))
    return std::move(error);
  action->apart = isApart(*action);
  return action;
}

/// Gives every largest part that can be applied to q and k apart a place for
/// its acted vectors.
void assignStorage(Action &action, int64_t &storage) {
  if (action.apart) {
    action.storage = storage;
    storage += action.width;
    return;
  }
  // What stands under these is applied as a whole.
  if (action.kind == Action::Product || action.kind == Action::Jordan ||
      action.kind == Action::Basis || action.kind == Action::SideGains)
    return;
  for (auto &part : action.parts)
    assignStorage(*part, storage);
}

void collect(const Action &action, std::vector<int> &goals) {
  for (int node :
       {action.a, action.b, action.c, action.place.query, action.place.key})
    if (node >= 0)
      goals.push_back(node);
  for (auto &part : action.parts)
    collect(*part, goals);
}

/// Everything of the scheme's block that the goals need.
std::vector<bool> closure(const Program &program, std::vector<int> goals) {
  std::vector<bool> needed(program.nodes.size());
  while (!goals.empty()) {
    int at = goals.back();
    goals.pop_back();
    if (at < 0 || needed[at])
      continue;
    needed[at] = true;
    const Node &node = program.nodes[at];
    goals.insert(goals.end(), node.in.begin(), node.in.end());
    if (node.term < 0)
      continue;
    const Term &term = program.terms[node.term];
    goals.insert(goals.end(), term.nodes.begin(), term.nodes.end());
    goals.push_back(term.result);
  }
  return needed;
}

void order(Program &program) {
  std::vector<int> rest = {program.scale, program.softcap,   program.bias,
                           program.logit, program.valueBias, program.sink,
                           program.embed, program.beta,      program.divisor};
  if (program.action)
    collect(*program.action, rest);
  if (program.valueAction)
    collect(*program.valueAction, rest);
  if (program.norm)
    rest.insert(rest.end(), {program.norm->q, program.norm->k});
  std::vector<bool> forMask = closure(program, {program.mask});
  std::vector<bool> forRest = closure(program, rest);
  for (int n = 0; n < int(program.nodes.size()); ++n) {
    if (!program.nodes[n].top || (!forMask[n] && !forRest[n]))
      continue;
    switch (program.nodes[n].level()) {
    case Level::Head:
      program.headNodes.push_back(n);
      break;
    case Level::Query:
      program.queryNodes.push_back(n);
      break;
    case Level::Key:
      program.keyNodes.push_back(n);
      program.keyed.push_back(n);
      break;
    case Level::Pair:
      if (forMask[n])
        program.maskNodes.push_back(n);
      if (forRest[n])
        program.pairNodes.push_back(n);
      break;
    case Level::Score:
      program.scoreNodes.push_back(n);
      break;
    case Level::Total:
      program.totalNodes.push_back(n);
      break;
    }
  }
}

/// Reads the clauses that take values.
llvm::Error readTerms(SchemeOp scheme, Program &program, ValueBuilder &values,
                      Value &action, Value &valueAction) {
  for (Operation &op : scheme.getBody().front()) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ActionTermOp term) { action = term.getAction(); })
        .Case([&](ValueActionOp term) { valueAction = term.getAction(); })
        .Case([&](ScaleOp t) { program.scale = values.node(t.getOperand()); })
        .Case(
            [&](SoftcapOp t) { program.softcap = values.node(t.getOperand()); })
        .Case([&](LogitOp t) { program.logit = values.node(t.getOperand()); })
        .Case([&](BiasOp t) { program.bias = values.node(t.getOperand()); })
        .Case([&](SinkOp t) { program.sink = values.node(t.getOperand()); })
        .Case([&](MaskOp t) { program.mask = values.node(t.getOperand()); })
        .Case([&](ValueBiasOp t) {
          program.valueBias = values.node(t.getOperand());
        })
        .Case([&](EmbedOp t) { program.embed = values.node(t.getOperand()); })
        .Case([&](NormOp t) {
          program.norm = std::make_unique<Norm>();
          program.norm->rms = t.getKind() == NormKind::Rms;
          program.norm->eps = t.getEps() ? t.getEps()->convertToDouble() : 0;
          program.norm->q = values.node(t.getQ());
          program.norm->k = values.node(t.getK());
        })
        .Case([&](ReadoutOp t) {
          program.readout =
              t.getKind() == ReadoutKind::Softmax  ? Program::Softmax
              : t.getKind() == ReadoutKind::Linear ? Program::Linear
                                                   : Program::Delta;
          program.beta = values.node(t.getBeta());
          program.divisor = values.node(t.getDivisor());
        });
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::unique_ptr<Action>> buildAction(Value action,
                                                    Program &program,
                                                    ValueBuilder &values,
                                                    Place defaults) {
  int64_t width = cast<ActionType>(action.getType()).getWidth();
  std::vector<int> lanes(width);
  std::iota(lanes.begin(), lanes.end(), 0);
  return ActionReader(program, values).read(action, defaults, lanes);
}

llvm::Expected<Program> build(SchemeOp scheme, const Problem &problem) {
  Program program;
  program.f32Phases = problem.f32Phases;
  auto width = [](const HostArray &array) {
    return array.rank() == 4 ? array.shape[3] : 0;
  };
  program.head =
      scheme.getHead() ? int64_t(*scheme.getHead()) : width(problem.q);
  if (scheme.getValueLow()) {
    program.valueLow = int64_t(*scheme.getValueLow());
    program.valueHigh = int64_t(*scheme.getValueHigh());
    program.value = program.valueHigh - program.valueLow + 1;
  } else {
    program.value = scheme.getValue() ? int64_t(*scheme.getValue())
                    : problem.v       ? width(problem.v)
                                      : program.head;
  }
  ValueBuilder values(program);
  std::vector<int> list;
  for (Operation &op : scheme.getBody().front()) {
    bool other =
        isa<ActionTermOp, ValueActionOp, ScaleOp, SoftcapOp, LogitOp, BiasOp,
            SinkOp, MaskOp, ValueBiasOp, EmbedOp, NormOp, ReadoutOp>(op) ||
        llvm::any_of(op.getResultTypes(),
                     [](Type type) { return isa<ActionType>(type); });
    if (other)
      continue;
    llvm::Expected<bool> done = values.read(op, 0, list);
    if (!done)
      return done.takeError();
    if (!*done)
      return failAt(&op, "the reference does not know this operation");
  }
  Value action, valueAction;
  if (llvm::Error error =
          readTerms(scheme, program, values, action, valueAction))
    return std::move(error);
  Place defaults = values.position();
  for (auto [value, slot] : {std::pair{action, &program.action},
                             std::pair{valueAction, &program.valueAction}}) {
    if (!value)
      continue;
    auto tree = buildAction(value, program, values, defaults);
    if (!tree)
      return tree.takeError();
    *slot = std::move(*tree);
  }
  if (program.action)
    assignStorage(*program.action, program.storage);
  order(program);
  return program;
}

} // namespace torsor::reference
