// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether cached keys can be moved to other positions.
//
// A cache holds, lane by lane, k' = g exp(t X) b with the norm and the change
// of basis in b, the time t of the key and gains g. Moved by d it must hold
// g exp((t + d) X) b = g exp(d X) g^-1 k': that is a function of k' and d where
// t is the position itself, g commutes with the blocks, and all factors do.
#include "passes/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {
namespace {

/// The clocks that a shift of positions moves: `pos`; where a scheme has none,
/// the axes that stand in its place, all alike.
SmallVector<ClockOp> positionsOf(const SchemePlan &plan) {
  if (ClockOp position = plan.arguments.getPosition())
    return {position};
  SmallVector<ClockOp> axes;
  for (Operation *declaration : plan.arguments.getAll())
    if (auto clock = dyn_cast<ClockOp>(declaration);
        clock && isa<IntegerType>(clock.getType().getElement()))
      axes.push_back(clock);
  return axes;
}

/// The time without what is added to that of every key alike.
Value withoutOffset(SchemePlan &plan, Value time) {
  for (;;) {
    Operation *op = time.getDefiningOp();
    bool adds = isa_and_nonnull<arith::AddIOp, arith::AddFOp>(op);
    bool subtracts = isa_and_nonnull<arith::SubIOp, arith::SubFOp>(op);
    auto isOffset = [&](unsigned n) {
      return plan.varies.of(op->getOperand(n)).isUniform();
    };
    if ((adds || subtracts) && isOffset(1))
      time = op->getOperand(0);
    else if (adds && isOffset(0))
      time = op->getOperand(1);
    else
      return time;
  }
}

/// Why a block at this time of its keys cannot be moved; empty if it can.
std::string whyTimeStays(SchemePlan &plan, Value time) {
  time = withoutOffset(plan, time);
  auto read = time.getDefiningOp<TimeOp>();
  auto clock = read ? read.getClock().getDefiningOp<ClockOp>() : ClockOp();
  if (!clock)
    return "keys are acted on at a time that is computed, and moving a key by "
           "n positions does not add n to it";
  SmallVector<ClockOp> positions = positionsOf(plan);
  if (llvm::is_contained(positions, clock))
    return "";
  std::string name = "'" + clock.getName().str() + "'";
  if (plan.arguments.getPosition())
    return "keys are acted on at the clock " + name +
           ", which a shift of positions does not move";
  return "keys are acted on at the clock " + name +
         ", which counts reals, not positions";
}

/// Do all lanes that a block mixes have the same factor behind it?
bool gainsCommute(const SchemePlan &plan, const PlannedPair &pair) {
  return plan.gainK.empty() || llvm::all_of(pair.lanes, [&](int64_t lane) {
           return plan.gainK[lane] == plan.gainK[pair.lanes.front()];
         });
}

/// Is a basis changed behind a block that acts at a time on one of its lanes?
bool changesBasisBehind(ArrayRef<PlannedBlock> blocks, size_t number) {
  const PlannedPair &basis = blocks[number].pairs.front();
  for (const PlannedBlock &before : blocks.take_front(number))
    for (const PlannedPair &pair : before.pairs)
      if (pair.acts() && llvm::any_of(pair.lanes, [&](int64_t lane) {
            return llvm::is_contained(basis.lanes, lane);
          }))
        return true;
  return false;
}

/// Does the value read what a shift moves?
bool readsPosition(const SchemePlan &plan, Value root) {
  SmallVector<ClockOp> positions = positionsOf(plan);
  return readsAny(root, [&](Operation *op) {
    auto clock = dyn_cast<ClockOp>(op);
    return isa<IndexOp>(op) || (clock && llvm::is_contained(positions, clock));
  });
}

std::string whyNoRebase(SchemePlan &plan) {
  for (const PlannedScan &scan : plan.scans)
    if (scan.isStored && llvm::any_of(scan.terms, [&](Value term) {
          return readsPosition(plan, term);
        }))
      return "a running sum beside the keys is of positions, and does not move "
             "with them";
  if (!plan.keysActed) // what does not stand in a cache need not be moved
    return "";
  for (auto [n, block] : llvm::enumerate(plan.blocks)) {
    const PlannedPair &pair = block.pairs.front();
    if (pair.kind == BlockKind::Basis && changesBasisBehind(plan.blocks, n))
      return "a basis is changed behind a block that acts";
    if (!pair.acts() || plan.varies.of(pair.unit->timeK).isUniform())
      continue;
    if (std::string why = whyTimeStays(plan, pair.unit->timeK); !why.empty())
      return why;
    if (plan.f32Reference)
      return "phases are rounded at each position (f32_reference), so that "
             "those of two positions do not differ by that of their distance";
    for (const PlannedPair &each : block.pairs)
      if (!gainsCommute(plan, each))
        return "gains by lane stand behind the action, and lanes that it mixes "
               "have different ones";
  }
  return "";
}

} // namespace

void planRebase(SchemePlan &plan) { plan.whyNoRebase = whyNoRebase(plan); }

SmallVector<StringRef> shiftedStreams(const SchemePlan &plan) {
  SmallVector<StringRef> names = {"index"};
  for (ClockOp clock : positionsOf(plan))
    names.push_back(clock.getName());
  return names;
}

} // namespace torsor
