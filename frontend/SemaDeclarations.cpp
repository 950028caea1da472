// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: what a scheme declares: lets, tensors and clocks.
#include "frontend/Clauses.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

bool Sema::declareName(SchemeState &state, const Name &name,
                       SchemeState::Entity entity) {
  Env env = makeClauseEnv(state, Where::File);
  if (!mayDefine(env, name)) {
    state.takenNames.insert(name.text);
    return false;
  }
  entity.range = name.range;
  auto note = [&](SourceRange first) {
    report(env, name.range, "twice",
           fmt::format("'{}' is defined twice", name.text.str()))
        .note(first, "first defined here");
  };
  if (const Item *item = items.lookup(name.text)) {
    note(item->name.range);
    // Uses of it in the scheme stay silent.
    state.names.try_emplace(name.text, SchemeState::Entity());
    return false;
  }
  auto [at, fresh] = state.names.try_emplace(name.text, entity);
  if (!fresh && at->second.pending) {
    entity.used = at->second.used;
    at->second = entity;
    return true;
  }
  if (!fresh)
    note(at->second.range);
  return fresh;
}

static bool declaresPos(const Clause *clause) {
  auto *clock = llvm::dyn_cast<ClockClause>(clause);
  return clock && llvm::any_of(clock->binders, [](const ClockBinder &binder) {
           return binder.name.text == "pos";
         });
}

/// What widths may read, and the names that they may not.
void Sema::declareLets(SchemeState &state) {
  auto later = [&](const Name &name) {
    if (isBuiltinName(name.text) || items.contains(name.text))
      return; // refused when it is declared
    SchemeState::Entity entity;
    entity.pending = true;
    entity.range = name.range;
    state.names.try_emplace(name.text, entity);
  };
  for (const Clause *clause : state.item.clauses) {
    SchemeState::Entity entity;
    if (auto *let = llvm::dyn_cast<LetClause>(clause)) {
      entity.let = let;
      declareName(state, let->name, entity);
    } else if (auto *tensor = llvm::dyn_cast<TensorClause>(clause)) {
      llvm::for_each(tensor->names, later);
    } else if (auto *clock = llvm::dyn_cast<ClockClause>(clause)) {
      for (const ClockBinder &binder : clock->binders)
        if (binder.name.text != "pos")
          later(binder.name);
    }
  }
  for (const Clause *clause : state.item.clauses)
    if (declaresPos(clause)) {
      auto *clock = llvm::cast<ClockClause>(clause);
      Env env = makeClauseEnv(state, Where::Clock);
      for (const ClockBinder &binder : clock->binders)
        if (binder.name.text == "pos")
          declareClock(state, clock, binder, env);
    }
  if (state.pos)
    return;
  ClockInfo pos;
  pos.name = "pos";
  pos.bounds = {0, Interval::inf};
  pos.monotone = true;
  state.scheme.clocks.push_back(std::move(pos));
  state.pos = &state.scheme.clocks.back();
}

/// Does a tensor read a width that only the action will say?
bool Sema::awaitsWidth(SchemeState &state, const TensorClause *clause) {
  Scheme &scheme = state.scheme;
  if (findTerm(state, ClauseKind::Head) || !findTerm(state, ClauseKind::Action))
    return false;
  bool follows = !findClause(state, ClauseKind::Value);
  bool head = std::exchange(scheme.headIsOpen, true);
  bool value = std::exchange(scheme.valueIsOpen, scheme.valueIsOpen || follows);
  TensorInfo tried;
  Env env = makeClauseEnv(state, Where::Tensor);
  ++allUnchecked;
  bool known = readTensor(clause, tried, env);
  --allUnchecked;
  state.letValues.clear();
  callResults.clear();
  scheme.headIsOpen = head;
  scheme.valueIsOpen = value;
  return !known;
}

void Sema::declareNames(SchemeState &state) {
  // An action's width is known behind the names that the action may read, and
  // before the tensors that read the width. These keep their places.
  std::vector<std::pair<const TensorClause *, size_t>> later;
  std::deque<TensorInfo> &tensors = state.scheme.tensors;
  for (const Clause *clause : state.item.clauses)
    if (auto *tensor = llvm::dyn_cast<TensorClause>(clause)) {
      size_t first = tensors.size();
      tensors.resize(first + tensor->names.size());
      if (awaitsWidth(state, tensor))
        later.push_back({tensor, first});
      else
        declareTensors(state, tensor, first);
    }
  for (const Clause *clause : state.item.clauses)
    if (auto *clock = llvm::dyn_cast<ClockClause>(clause))
      declareClocks(state, clock);
  findOpenWidth(state);
  for (auto [tensor, first] : later)
    declareTensors(state, tensor, first);
}

std::optional<Interval> Sema::readRange(const RangeNode &range, Env &env) {
  auto side = [&](const Expr *e) -> std::optional<double> {
    auto *minus = llvm::dyn_cast<NegateExpr>(e);
    auto *name = llvm::dyn_cast<NameExpr>(minus ? minus->value : e);
    if (name && name->text == "inf")
      return minus ? -Interval::inf : Interval::inf;
    Meaning value = eval(e, env);
    if (value.isPoison())
      return std::nullopt;
    if (!value.isNumber() || !value.isConstant()) {
      fail(env, e->range, "const",
           "a range's bound must be known at compile time");
      return std::nullopt;
    }
    return value.scalar.node->asReal();
  };
  auto lo = side(range.lo), hi = side(range.hi);
  if (!lo || !hi)
    return std::nullopt;
  if (*lo <= *hi)
    return Interval{*lo, *hi};
  fail(env, range.lo->range.to(range.hi->range), "range",
       fmt::format("the range {} is empty", printBounds({*lo, *hi})));
  return std::nullopt;
}

bool Sema::readAxes(const TensorClause *clause, std::vector<AxisInfo> &out,
                    Env &env) {
  double elements = 1;
  for (const Axis &axis : clause->axes) {
    auto *name = llvm::dyn_cast_or_null<NameExpr>(axis.extent);
    if (!axis.extent) {
      out.push_back({AxisInfo::Open, 0});
    } else if (name && name->text == "H") {
      out.push_back({AxisInfo::Heads, 0});
    } else if (name && name->text == "G") {
      out.push_back({AxisInfo::Groups, 0});
    } else if (name &&
               (name->text == "B" || name->text == "L" || name->text == "T")) {
      fail(env, name->range, "axis",
           fmt::format("'{}' is not an axis here: {}", name->text.str(),
                       clause->kind == ClauseKind::Param
                           ? "those of a param are constants, H, G and * (any "
                             "extent)"
                           : "batch and sequence are never written; say 'per "
                             "token' or 'per sequence'"));
      return false;
    } else {
      std::optional<int64_t> extent = evalSize(axis.extent, env, "an axis");
      if (!extent)
        return false;
      if (*extent < 1) {
        fail(env, axis.extent->range, "width",
             fmt::format("an axis must have at least 1 entry, but it has {}",
                         printSize(*extent)));
        return false;
      }
      elements *= double(*extent);
      if (elements > 0x1p31) {
        fail(env, axis.extent->range, "large",
             "a tensor's constant axes must hold fewer than 2^31 elements");
        return false;
      }
      out.push_back({AxisInfo::Constant, *extent});
    }
  }
  return true;
}

/// What a word that is no storage type was meant to be.
static std::string adviseStorage(StringRef text) {
  if (text == "int")
    return "write i32";
  if (text == "real" || text == "float")
    return "write f32";
  if (text == "double")
    return "write f64";
  if (text == "half")
    return "write f16";
  return "write one of i32, i64, bool, f16, bf16, f32, f64";
}

static std::optional<InputRate> readRate(const TensorClause *clause) {
  if (clause->kind == ClauseKind::Param)
    return InputRate::Loaded;
  if (clause->per.text == "token")
    return InputRate::Token;
  if (clause->per.text == "sequence")
    return InputRate::Sequence;
  if (clause->per.text == "call")
    return InputRate::Call;
  return std::nullopt;
}

static bool isSquare(llvm::ArrayRef<AxisInfo> axes) {
  return axes.size() == 2 && axes[0].kind == AxisInfo::Constant &&
         axes[1].kind == AxisInfo::Constant && axes[0].extent == axes[1].extent;
}

bool Sema::readContracts(const TensorClause *clause, TensorInfo &tensor,
                         Env &env) {
  bool valid = true;
  if (clause->bounds.lo) {
    auto bounds = readRange(clause->bounds, env);
    valid &= bounds.has_value();
    tensor.bounds = bounds.value_or(Interval());
    tensor.hasBounds = true;
  }
  tensor.orthogonal = clause->orthogonal;
  if (clause->condition) {
    tensor.condition = evalReal(clause->condition, env, "the condition bound");
    valid &= tensor.condition.has_value();
    if (tensor.condition &&
        !(*tensor.condition >= 1 && *tensor.condition <= 1000)) {
      fail(env, clause->condition->range, "basis",
           *tensor.condition < 1
               ? fmt::format("a condition number is at least 1, but the bound "
                             "is {}",
                             printNumber(*tensor.condition))
               : fmt::format(
                     "a basis must have a condition number of at most 1000 "
                     "to keep f32 results, but the bound is {}",
                     printNumber(*tensor.condition)));
      valid = false;
    }
  }
  return valid;
}

bool Sema::readTensor(const TensorClause *clause, TensorInfo &tensor,
                      Env &env) {
  bool valid = true;
  if (auto storage = parseStorage(clause->storage.text)) {
    tensor.storage = *storage;
  } else {
    fail(env, clause->storage.range, "storage",
         fmt::format("'{}' is not a storage type; {}",
                     clause->storage.text.str(),
                     adviseStorage(clause->storage.text)));
    valid = false;
  }
  valid &= readAxes(clause, tensor.axes, env);
  if (auto rate = readRate(clause)) {
    tensor.rate = *rate;
  } else {
    fail(env, clause->per.range, "per",
         fmt::format("an input is per token, per sequence or per call, not "
                     "'per {}'",
                     clause->per.text.str()));
    valid = false;
  }
  valid &= readContracts(clause, tensor, env);
  if (valid && (tensor.orthogonal || tensor.condition) &&
      !isSquare(tensor.axes)) {
    fail(env, clause->storage.range, "basis",
         "'orthogonal' and 'condition' belong to a square param, as f32[64, "
         "64]");
    valid = false;
  }
  return valid;
}

void Sema::declareTensors(SchemeState &state, const TensorClause *clause,
                          size_t first) {
  Env env = makeClauseEnv(state, Where::Tensor);
  TensorInfo tensor;
  bool valid = readTensor(clause, tensor, env);
  for (const Name &name : clause->names) {
    tensor.name = name.text.str();
    tensor.range = name.range;
    SchemeState::Entity entity;
    TensorInfo *made = &state.scheme.tensors[first++];
    *made = tensor;
    if (valid) {
      if (!tensor.axes.empty() || tensor.isPerToken()) {
        entity.value = made;
      } else {
        Node node{.op = NodeOp::Read, .type = getNumberType(tensor.storage)};
        node.tensor = made;
        node.varies = tensor.rate == InputRate::Call       ? varies::call
                      : tensor.rate == InputRate::Sequence ? varies::sequence
                                                           : varies::loaded;
        node.range = name.range;
        entity.value = {graph.intern(std::move(node)), tensor.bounds};
      }
    }
    declareName(state, name, entity);
  }
}
