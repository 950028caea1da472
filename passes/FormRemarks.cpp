// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remarks of form-kernels on actions: what was rewritten and placed where, what
// was refused, and why.
#include "passes/FormRemarks.h"

#include "passes/KernelRegions.h"

using namespace mlir;

namespace torsor {

void SchemeRemarks::keys() {
  Location loc = find<ActionTermOp>();
  if (plan.keysActed)
    applied(loc, "KeysActed",
            "a cache holds keys acted on: nothing on the key side changes "
            "between calls; fresh keys are acted on while they are packed");
  else if (!plan.whyRaw.empty())
    refused(loc, "KeysActed",
            "a cache holds raw keys, acted on again in each call: " +
                plan.whyRaw);
  else
    applied(loc, "KeysPlain",
            "nothing acts on keys: a cache holds them as they come");
  if (plan.keysByHead)
    refused(SchemeOp(plan.scheme).getLoc(), "KeysByGroup",
            "the key side differs between the query heads of a group: keys are "
            "packed once for each head");
}

void SchemeRemarks::rebase() {
  Location loc = find<ActionTermOp>();
  if (!plan.whyNoRebase.empty())
    refused(loc, "Rebase",
            "cached keys cannot be moved to other positions: " +
                plan.whyNoRebase);
  else if (plan.keysActed)
    applied(loc, "Rebase",
            "cached keys can be moved to other positions: the action of the "
            "shift is applied to what the cache holds, rounded once");
  else
    applied(loc, "Rebase",
            "cached keys can be moved to other positions without touching "
            "them: a cache holds no action");
}

/// How phases are computed, for each kind of clock that turns something, and
/// when their frequencies are known.
void SchemeRemarks::phases() {
  bool integers = false, reals = false, constant = false;
  VarySet open;
  for (const PlannedBlock &block : plan.blocks) {
    const PlannedPair &pair = block.pairs.front();
    if (!pair.acts())
      continue;
    if (pair.kind == BlockKind::Turn || pair.kind == BlockKind::Plane)
      (pair.isReal ? reals : integers) = true;
    if (pair.kind == BlockKind::Turn && pair.frequency.empty())
      constant = true;
    open = open | pair.frequency;
  }
  Location loc = find<ActionTermOp>();
  if (constant)
    applied(loc, "FrequenciesFolded",
            std::string(open.empty() ? "" : "some ") +
                "frequencies are constants: whatever rescales or shifts them "
                "is folded into one table, in f64");
  if (!open.empty())
    applied(loc, "FrequenciesOnce",
            std::string(constant ? "other " : "") +
                "frequencies or rates vary by " + open.getText() +
                ": they are computed in f64 " +
                (open.isBound() ? "when an instance binds params and heads"
                                : "once for each sequence of a call"));
  if (integers)
    applied(loc, "PhaseInTurns",
            "phases are 64-bit fixed-point turns, which wrap exactly: equal "
            "differences of times are equal phases at every position");
  if (reals)
    applied(
        loc, "PhaseOfReals",
        "a clock counts reals: whole units turn as 64-bit fixed point and "
        "the rest in f64, or, where a unit may turn by half or more, by the "
        "product of time and frequency with all its bits");
}

/// Lanes without position, and gains.
void SchemeRemarks::lanes() {
  int64_t still = 0, acted = 0;
  bool some = false, all = true;
  Location loc = find<ActionTermOp>();
  for (const ActionUnit &unit : plan.action.units) {
    if (isa<UnipotentOp>(unit.block))
      continue;
    (isa<ZeroOp>(unit.block) ? still : acted) += int64_t(unit.lanes.size());
    bool hasGain =
        !unit.by.empty() || !unit.gainQ.empty() || !unit.gainK.empty();
    some |= hasGain;
    all &= hasGain;
  }
  if (still && acted)
    applied(loc, "LanesStay",
            std::to_string(still) + " of " + std::to_string(plan.head) +
                " lanes have no position: they are copied, with no phase");
  if (!plan.gainK.empty() || !plan.gainQ.empty())
    applied(loc, "GainsBehind",
            "gains by lane stand behind the action, one factor for each lane "
            "when a row is loaded");
  if (some && all)
    refused(loc, "GainInScale",
            "gains are not moved into the scale, though every lane has one: "
            "keys lie in a cache with theirs, as the scheme says");
  else if (some)
    refused(loc, "GainInScale",
            "gains are not moved into the scale: it is a factor of every lane, "
            "and some lanes have none");
}

/// Decay and chains: anchors; changes of basis; regions.
void SchemeRemarks::blocks() {
  bool anchored = false, chain = false;
  for (const PlannedBlock &block : plan.blocks) {
    BlockKind kind = block.pairs.front().kind;
    chain |= kind == BlockKind::Jordan;
    anchored |= kind == BlockKind::Decay || kind == BlockKind::Jordan;
  }
  Location loc = find<ActionTermOp>();
  if (anchored)
    applied(loc, "AnchoredByTile",
            "what fades or grows is taken from an anchor in each tile of keys, "
            "so that neither side leaves the range of f32 at any length");
  if (chain)
    applied(loc, "ChainFactored",
            "a chain is its base on every copy, and the couples beside it: the "
            "two factors commute");
  for (const PlannedBlock &block : plan.blocks) {
    const PlannedPair &pair = block.pairs.front();
    if (pair.kind != BlockKind::Basis)
      continue;
    auto param = BasisOp(pair.basis).getColumns().getDefiningOp<ParamOp>();
    bool orthogonal = param && param.getOrthogonal();
    applied(BasisOp(pair.basis).getLoc(), "BasisOnce",
            orthogonal
                ? "both sides are turned into the basis once a token: it is "
                  "orthogonal, so its inverse is its transpose"
                : "each side is turned into the basis once a token, with the "
                  "inverse found in f64 when params are bound");
    refused(BasisOp(pair.basis).getLoc(), "BasisInProjections",
            "the basis is not folded into the projections of q and k: they are "
            "no part of a scheme; a caller may do so where lanes without a "
            "basis stay apart");
  }
  if (plan.branches.size() > 1)
    applied(loc, "RegionsByTile",
            "a tile whose pairs all lie in one region costs one product; only "
            "those on a border compute both sides");
  if (!plan.valueBlocks.empty())
    applied(find<ValueActionOp>(), "OutputTurnedBack",
            "the query's side of the action on values is undone on the output, "
            "once a row, behind the division and the merge of parts");
}

void remarkDecisions(const SchemePlan &plan) {
  SchemeRemarks remarks(plan);
  remarks.keys();
  remarks.rebase();
  remarks.phases();
  remarks.lanes();
  remarks.blocks();
  remarks.scale();
  remarks.bias();
  remarks.mask();
  remarks.contents();
  remarks.forms();
}

} // namespace torsor
