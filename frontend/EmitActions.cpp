// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one torsor.scheme: actions.
#include "frontend/SchemeEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace torsor;
using namespace mlir;

static ActionType getType(int64_t width, Builder &builder) {
  return ActionType::get(builder.getContext(), width);
}

Value SchemeEmitter::get(const ActionNode *action) {
  if (auto known = actions.find(action); known != actions.end())
    return known->second;
  Value made = make(action, place(action->range));
  actions[action] = made;
  return made;
}

Value SchemeEmitter::make(const ActionNode *action, Location loc) {
  auto atEnd = [&] { builder.setInsertionPointToEnd(scopes.front().block); };
  ActionType type = getType(action->width, builder);
  switch (action->op) {
  case ActionOp::Zero:
    atEnd();
    return ZeroOp::create(builder, loc, type);
  case ActionOp::Turn:
    return makeTurns({action}, loc);
  case ActionOp::Decay: {
    Value rate = getReal(action->rate.node);
    atEnd();
    return DecayOp::create(builder, loc, type, rate);
  }
  case ActionOp::Jordan: {
    Value base = get(action->kids[0]), couple = getReal(action->rate.node);
    atEnd();
    return JordanOp::create(builder, loc, type, base, action->order, couple);
  }
  case ActionOp::Plane: {
    Value frequency = getReal(action->rate.node);
    Value u = getVector(*action->u, action->range);
    Value v = getVector(*action->v, action->range);
    atEnd();
    return PlaneOp::create(builder, loc, type, frequency, u, v);
  }
  case ActionOp::Split: {
    Value base = get(action->kids[0]);
    atEnd();
    return SplitOp::create(builder, loc, base);
  }
  case ActionOp::Adjacent: {
    Value base = get(action->kids[0]);
    atEnd();
    return AdjacentOp::create(builder, loc, base);
  }
  case ActionOp::Basis: {
    Value base = get(action->kids[0]);
    Value columns = tensors.lookup(action->columns);
    atEnd();
    return BasisOp::create(builder, loc, type, base, columns);
  }
  case ActionOp::Gain:
    return makeGain(action, loc);
  case ActionOp::Sum:
    return makeSum(action, loc);
  case ActionOp::Product: {
    Value a = get(action->kids[0]), b = get(action->kids[1]);
    atEnd();
    return ProductOp::create(builder, loc, a, b);
  }
  case ActionOp::At:
    return placeAt(action, get(action->kids[0]), loc);
  case ActionOp::Choose: {
    Value condition = get(action->condition);
    Value a = get(action->kids[0]), b = get(action->kids[1]);
    atEnd();
    return ChooseOp::create(builder, loc, type, condition, a, b);
  }
  }
  return nullptr;
}

Value SchemeEmitter::makeGain(const ActionNode *action, Location loc) {
  Value base = get(action->kids[0]), by, q, k;
  if (action->u) {
    q = getVector(*action->u, action->range);
    k = getVector(*action->v, action->range);
  } else {
    by = getReal(action->rate.node);
  }
  builder.setInsertionPointToEnd(scopes.front().block);
  return GainOp::create(builder, loc, getType(action->width, builder), base, by,
                        q, k);
}

Value SchemeEmitter::placeAt(const ActionNode *place, Value base,
                             Location loc) {
  Value q, k;
  if (place->clock.clock) {
    q = makeTime(place->clock.clock, place->clock.member, TokenId::Query, loc);
    k = makeTime(place->clock.clock, place->clock.member, TokenId::Key, loc);
  } else {
    q = get(place->query.node);
    k = get(place->key.node);
  }
  builder.setInsertionPointToEnd(scopes.front().block);
  return AtOp::create(builder, loc, base, q, k);
}

/// One op for pairs that turn side by side.
Value SchemeEmitter::makeTurns(llvm::ArrayRef<const ActionNode *> turns,
                               Location loc) {
  llvm::SmallVector<const Node *> rates;
  for (const ActionNode *turn : turns)
    rates.push_back(turn->rate.node);
  Value frequencies = listReals(rates, loc);
  builder.setInsertionPointToEnd(scopes.front().block);
  return TurnOp::create(
      builder, loc, getType(2 * int64_t(turns.size()), builder), frequencies);
}

/// The parts of a direct sum, sums of sums taken apart.
static void flatten(const ActionNode *action,
                    llvm::SmallVectorImpl<const ActionNode *> &parts) {
  if (action->op != ActionOp::Sum)
    return parts.push_back(action);
  for (const ActionNode *kid : action->kids)
    flatten(kid, parts);
}

/// Do two parts turn, on one clock?
static bool turnTogether(const ActionNode *a, const ActionNode *b) {
  if (a->op != b->op)
    return false;
  if (a->op == ActionOp::Turn)
    return true;
  return a->op == ActionOp::At && a->kids[0]->op == ActionOp::Turn &&
         b->kids[0]->op == ActionOp::Turn && a->clock.clock == b->clock.clock &&
         a->clock.member == b->clock.member && a->query.node == b->query.node &&
         a->key.node == b->key.node;
}

Value SchemeEmitter::makeSum(const ActionNode *action, Location loc) {
  llvm::SmallVector<const ActionNode *> parts;
  flatten(action, parts);
  llvm::SmallVector<Value> values;
  for (size_t first = 0; first != parts.size();) {
    const ActionNode *part = parts[first];
    size_t last = first + 1;
    llvm::SmallVector<const ActionNode *> turns = {part};
    while (last != parts.size() && turnTogether(part, parts[last]))
      turns.push_back(parts[last++]);
    Location at = last == first + 1 ? place(part->range) : loc;
    if (part->op == ActionOp::Turn) {
      values.push_back(makeTurns(turns, at));
    } else if (part->op == ActionOp::At &&
               part->kids[0]->op == ActionOp::Turn) {
      for (const ActionNode *&turn : turns)
        turn = turn->kids[0];
      values.push_back(placeAt(part, makeTurns(turns, at), at));
    } else {
      values.push_back(get(part));
    }
    first = last;
  }
  if (values.size() == 1)
    return values.front();
  builder.setInsertionPointToEnd(scopes.front().block);
  return ConcatOp::create(builder, loc, getType(action->width, builder),
                          values);
}
