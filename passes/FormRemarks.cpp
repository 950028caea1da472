// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remarks of form-kernels: what was placed where, and why.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace torsor {
namespace {

remark::RemarkOpts options(StringRef name) {
  return remark::RemarkOpts::name(name).category("torsor-form-kernels");
}

/// The place of a term of the scheme, or else of the scheme.
template <typename Term> Location locationOf(const SchemePlan &plan) {
  for (Term term : SchemeOp(plan.scheme).getBody().getOps<Term>())
    return term.getLoc();
  return SchemeOp(plan.scheme).getLoc();
}

void remarkKeys(const SchemePlan &plan) {
  Location loc = locationOf<ActionTermOp>(plan);
  if (plan.keysActed)
    remark::passed(loc, options("KeysActed"))
        << "a cache holds keys acted on: nothing on the key side changes "
           "between calls; fresh keys are acted on while they are packed";
  else if (!plan.whyRaw.empty())
    remark::passed(loc, options("KeysRaw"))
        << "a cache holds raw keys, acted on again in each call: " +
               plan.whyRaw;
  else
    remark::passed(loc, options("KeysPlain"))
        << "nothing acts on keys: a cache holds them as they come";
}

/// How phases are computed, for each kind of clock that turns something.
void remarkPhases(const SchemePlan &plan) {
  bool integers = false, reals = false;
  for (const PlannedBlock &block : plan.blocks)
    if (block.pairs.front().acts())
      (block.pairs.front().isReal ? reals : integers) = true;
  Location loc = locationOf<ActionTermOp>(plan);
  if (integers)
    remark::passed(loc, options("PhaseInTurns"))
        << "phases are 64-bit fixed-point turns, which wrap exactly: the law "
           "is relative at every position";
  if (reals)
    remark::passed(loc, options("PhaseOfReals"))
        << "a clock counts reals: whole units turn as 64-bit fixed point, the "
           "rest in f64";
}

/// Norms, and products with tables.
void remarkContents(const SchemePlan &plan) {
  SchemeOp scheme = plan.scheme;
  if (plan.norm)
    remark::passed(NormOp(plan.norm).getLoc(), options("NormInLoad"))
        << std::string("q is normed when it is loaded, k ") +
               (plan.keysActed ? "when it is appended, so that a cache holds "
                                 "normed keys"
                               : "when it is packed");
  for (auto dot : scheme.getBody().getOps<TableDotOp>()) {
    if (dot.getCount() <= 1)
      continue;
    bool isKey = dot.getSide() == Side::Key;
    remark::passed(dot.getLoc(), options("ProductsTabulated"))
        << std::string("all ") + std::to_string(dot.getCount()) +
               " products of a " + (isKey ? "key" : "query") +
               " with the rows of a table are computed once, and pairs pick "
               "among them: " +
               std::to_string((dot.getCount() + 15) / 16 * 64) + " bytes a " +
               (isKey ? "key, or directly in a decode" : "row of a block");
  }
  if (plan.keysByHead)
    remark::passed(scheme.getLoc(), options("KeysByHead"))
        << "the key side differs between the query heads of a group: keys are "
           "packed once for each head";
}

} // namespace

void remarkDecisions(const SchemePlan &plan) {
  remarkKeys(plan);
  remarkPhases(plan);
  if (plan.scale && plan.constantScale)
    remark::passed(locationOf<ScaleOp>(plan), options("ScaleInQuery"))
        << std::string("the scale is constant: q is multiplied by it ") +
               (plan.logit ? "" : "and by log2 e ") + "once, when it is loaded";
  else if (plan.scale)
    remark::passed(locationOf<ScaleOp>(plan), options("ScalePerRow"))
        << "the scale belongs to a query row: q is multiplied by it once, when "
           "it is loaded";
  if (plan.init)
    remark::passed(locationOf<BiasOp>(plan), options("BiasStarts"))
        << "the bias depends on ages alone: it starts the accumulator, where "
           "it costs no pass over the scores";
  if (plan.logit)
    remark::passed(locationOf<BiasOp>(plan), options("LogitPerPair"))
        << "a term of the logit is computed for each pair behind the product: "
           "it is no function of an age, or follows a softcap";
  remarkContents(plan);
  if (!plan.paths.empty()) {
    remark::passed(SchemeOp(plan.scheme).getLoc(), options("PathsInOnePiece"))
        << "a sum over the tokens between key and query is carried from a "
           "row's last key down to its first: keys are walked in one piece, "
           "few "
           "queries are tiled like many, and no part of the keys stands alone";
    return;
  }
  remark::passed(SchemeOp(plan.scheme).getLoc(), options("Forms"))
      << "sequences of up to " + std::to_string(decodeQueries) +
             " queries are decoded, split along their keys; longer ones are "
             "tiled";
}

} // namespace torsor
