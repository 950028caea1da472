// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: clocks that the call gives, and families of clocks.
#include "frontend/Sema.h"

#include "fmt/format.h"

using namespace torsor;

void Sema::declareClocks(SchemeState &state, const ClockClause *clause) {
  Env env = makeClauseEnv(state, Where::Clock);
  for (const ClockBinder &binder : clause->binders)
    if (binder.name.text != "pos")
      declareClock(state, clause, binder, env);
}

void Sema::declareClock(SchemeState &state, const ClockClause *clause,
                        const ClockBinder &binder, Env &env) {
  bool isPos = binder.name.text == "pos", valid = true;
  ClockInfo clock;
  clock.name = binder.name.text.str();
  clock.range = binder.name.range;
  clock.running = clause->value != nullptr;
  clock.moving = clause->moving;
  clock.rising = clause->rising;
  clock.monotone = isPos || clause->rising;
  if (isPos && clock.running) {
    fail(env, binder.name.range, "pos",
         "'pos' is given by the call; define a running sum under another name");
    return;
  }
  // Names of tensors and other clocks are read later; `pos` is read first.
  if (isPos && state.pos) {
    report(env, binder.name.range, "twice", "'pos' is declared twice")
        .note(state.pos->range, "first declared here");
    return;
  }
  if (binder.bound) {
    auto members = evalSize(binder.bound, env, "the number of clocks");
    valid &= members.has_value();
    if (members && (*members < 1 || *members > 65536 || isPos)) {
      fail(env, binder.bound->range, isPos ? "pos" : "large",
           isPos ? "'pos' is one clock, not a family"
                 : fmt::format("a family has 1 to 65536 clocks, not {}",
                               printSize(*members)));
      valid = false;
    }
    clock.members = valid ? *members : 1;
    clock.indexName = binder.index.text.str();
  }
  auto storage = clause->storage ? parseStorage(clause->storage.text)
                                 : std::optional(Storage::I32);
  bool stored =
      storage && (*storage == Storage::I32 || *storage == Storage::I64 ||
                  *storage == Storage::F32 || *storage == Storage::F64);
  if (!stored) {
    fail(env, clause->storage.range, "storage",
         fmt::format("a clock is stored as i32, i64, f32 or f64, not as '{}'",
                     clause->storage.text.str()));
    valid = false;
  }
  clock.storage = clock.running ? Storage::F64 : storage.value_or(Storage::I32);
  clock.type = getNumberType(clock.storage);
  if (isPos)
    clock.bounds = {0, Interval::inf};
  if (clause->bounds.lo) {
    auto bounds = readRange(clause->bounds, env);
    valid &= bounds.has_value();
    clock.bounds = bounds.value_or(clock.bounds);
    clock.hasBounds = true;
  }
  if (clock.moving)
    clock.varies = varies::moving;
  state.scheme.clocks.push_back(std::move(clock));
  ClockInfo *made = &state.scheme.clocks.back();
  if (isPos) {
    state.pos = made;
    return;
  }
  SchemeState::Entity entity;
  if (valid)
    entity.value = ClockRef{made};
  declareName(state, binder.name, entity);
}
