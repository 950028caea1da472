// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remarks of form-kernels on the terms of the logit, the mask, norms and the
// forms of the kernels.
#include "passes/BoundMasks.h"
#include "passes/FormRemarks.h"
#include "passes/KernelRegions.h"

using namespace mlir;

namespace torsor {

void SchemeRemarks::scale() {
  if (!plan.scale)
    return refused(find<ScaleOp>(), "ScaleInQuery",
                   "the scale is not moved into q: a term reads the product of "
                   "q and k as it is");
  // log2 e goes along unless something stands between the scale and exp.
  bool between = term<SoftcapOp>() || term<LogitOp>();
  bool withBase = !plan.linear && !between;
  if (plan.constantScale)
    applied(find<ScaleOp>(), "ScaleInQuery",
            std::string("the scale is constant: q is multiplied by it ") +
                (withBase ? "and by log2 e " : "") + "once, when it is loaded");
  else
    applied(find<ScaleOp>(), "ScaleInQuery",
            "the scale belongs to a query row: q is multiplied by it once, "
            "when it is loaded");
  if (plan.linear)
    return;
  applied(SchemeOp(plan.scheme).getLoc(), "WeightsByExp2",
          "weights are powers of 2: log2 e is folded into the terms and the "
          "sink, and taken out of LSE again");
  if (between)
    refused(term<SoftcapOp>() ? find<SoftcapOp>() : find<LogitOp>(),
            "BaseInQuery",
            std::string("log2 e does not go into q: ") +
                (term<SoftcapOp>() ? "the softcap" : "the clause 'logit'") +
                " stands between, so it is multiplied in behind it");
}

/// The place of the bias; nothing without one. What is affine in an age may
/// stand in the action by now.
std::optional<Location> SchemeRemarks::biasPlace() const {
  if (BiasOp bias = term<BiasOp>())
    return bias.getLoc();
  for (const ActionUnit &unit : plan.action.units)
    if (isa<UnipotentOp>(unit.block))
      return unit.block->getLoc();
  return std::nullopt;
}

/// Why a term is computed for each pair.
std::string SchemeRemarks::whyPerPair() const {
  if (term<LogitOp>())
    return "the clause 'logit' may do anything with the score";
  if (term<SoftcapOp>())
    return biasPlace()
               ? "a softcap is applied to each score, and the bias comes "
                 "behind it: added before, it would be another function"
               : "a softcap is applied to each score";
  BiasOp bias = term<BiasOp>();
  if (!bias)
    return "a part of the score stands behind the product";
  VarySet set = VariesBy(plan.scheme).of(bias.getOperand());
  if (set.has(VarySet::Path))
    return "it sums over the tokens between key and query";
  if (set.has(VarySet::Content))
    return "it reads the contents of q or k";
  return "it is no function of one age alone, since it varies by " +
         set.getText();
}

void SchemeRemarks::bias() {
  std::optional<Location> place = biasPlace();
  if (plan.init)
    applied(place.value_or(find<BiasOp>()), "BiasStarts",
            "the bias depends on ages alone: it starts the accumulator, where "
            "it costs no pass over the scores");
  if (plan.logit)
    refused(term<LogitOp>() ? find<LogitOp>()
            : place         ? *place
                            : find<SoftcapOp>(),
            "BiasStarts",
            "a term of the logit is computed for each pair behind the "
            "product: " +
                whyPerPair());
  if (place && !plan.linear)
    refused(
        *place, "RowShift",
        std::string("what the bias adds to a whole row is not dropped: LSE "
                    "is an output, and parts of the keys are merged by "
                    "it") +
            (plan.sink ? "; and a sink stands beside the row's terms" : ""));
}

void SchemeRemarks::mask() {
  if (!plan.mask)
    return;
  MaskBounds bounds = boundMask(plan.mask, SchemeOp(plan.scheme).getContext());
  Location loc = find<MaskOp>();
  if (!bounds.needsTile)
    applied(loc, "MaskInRanges",
            "the mask is ranges of keys: no tile outside them is touched, and "
            "those that all queries of a tile see run no mask code");
  else
    refused(loc, "MaskInRanges",
            "ranges of keys do not decide the mask: each tile inside them is "
            "tested by the least and greatest values in it");
  if (bounds.byPosition)
    refused(loc, "RangesByIndex",
            "the ranges hold while positions are the indices; a call that "
            "gives others has every tile tested");
}

/// Norms, and products with tables.
void SchemeRemarks::contents() {
  if (plan.norm) {
    Location loc = NormOp(plan.norm).getLoc();
    applied(loc, "NormInLoad",
            std::string("q is normed when it is loaded, k ") +
                (plan.keysActed ? "when it is appended, so that a cache holds "
                                  "normed keys"
                                : "when it is packed"));
    if (!plan.normQ.empty() || !plan.normK.empty())
      refused(loc, "NormBehindAction",
              "the norm stays before the action: its weights may differ within "
              "a pair that turns, and then the two do not commute");
  }
  for (const PlannedScan &scan : plan.scans)
    if (!scan.isSum())
      applied(scan.terms.front().getLoc(), "KeysKept",
              "what follows from a key's vector alone is computed once, by an "
              "append: a cache keeps it beside the key");
  for (auto dot : SchemeOp(plan.scheme).getBody().getOps<TableDotOp>()) {
    if (dot.getCount() <= 1)
      continue;
    bool isKey = dot.getSide() == Side::Key;
    applied(dot.getLoc(), "ProductsTabulated",
            std::string("all ") + std::to_string(dot.getCount()) +
                " products of a " + (isKey ? "key" : "query") +
                " with the rows of a table are computed once, and pairs pick "
                "among them: " +
                std::to_string((dot.getCount() + 15) / 16 * 64) + " bytes a " +
                (isKey ? "key, or directly in a decode" : "row of a block"));
  }
}

void SchemeRemarks::forms() {
  Location loc = SchemeOp(plan.scheme).getLoc();
  if (!plan.paths.empty())
    return refused(
        loc, "SplitAlongKeys",
        "a sum over the tokens between key and query is carried from a row's "
        "last key down to its first: keys are walked in one piece, few "
        "queries are tiled like many, and no part of the keys stands alone");
  applied(loc, "SplitAlongKeys",
          "sequences of up to " + std::to_string(decodeQueries) +
              " queries are decoded, split along their keys; longer ones are "
              "tiled");
}

} // namespace torsor
