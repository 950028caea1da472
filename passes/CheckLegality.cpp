// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that checks schemes, and the rules about what may vary by what.
#include "passes/BoundMasks.h"
#include "passes/Legality.h"
#include "passes/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_CHECKLEGALITY
#include "passes/Passes.h.inc"

bool isCausalMask(Value mask, MLIRContext *context) {
  if (!mask)
    return false;
  // One condition is enough, whatever the others bound by positions.
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    if (isCausalMask(both.getLhs(), context) ||
        isCausalMask(both.getRhs(), context))
      return true;
  MaskBounds bounds = boundMask(mask, context);
  if (bounds.byPosition)
    return false;
  AffineExpr last = getAffineDimExpr(1, context);
  return llvm::all_of(bounds.visible, [&](IntervalAttr interval) {
    // Some upper end is at most one behind the last query.
    return llvm::any_of(interval.getUpper().getResults(),
                        [&](AffineExpr upper) {
                          auto past = dyn_cast<AffineConstantExpr>(
                              simplifyAffineExpr(upper - last, 2, 1));
                          return past && past.getValue() <= 1;
                        });
  });
}

static Value maskOf(SchemeOp scheme) {
  for (MaskOp mask : scheme.getBody().getOps<MaskOp>())
    return mask.getOperand();
  return {};
}

Legality::Legality(SchemeOp scheme)
    : scheme(scheme), varies(scheme),
      causal(isCausalMask(maskOf(scheme), scheme.getContext())),
      ranges(scheme, causal) {}

void Legality::require(bool holds, Operation *op, StringRef axiom,
                       const Twine &text) {
  if (holds)
    return;
  broken = true;
  // Blocks written out of one place break one rule once.
  std::string message = (text + " [" + axiom + "]").str();
  if (reported.insert({op->getLoc().getAsOpaquePointer(), message}).second)
    op->emitError() << message;
}

LogicalResult Legality::check() {
  checkTerms();
  checkOrigins();
  checkPlacing();
  for (Operation &op : scheme.getBody().front()) {
    if (auto term = dyn_cast<ActionTermOp>(op))
      checkAction(term.getAction(), false);
    if (auto term = dyn_cast<ValueActionOp>(op))
      checkAction(term.getAction(), true);
    if (auto basis = dyn_cast<BasisOp>(op))
      checkBasis(basis);
    if (auto gain = dyn_cast<GainOp>(op))
      checkGain(gain);
    if (auto product = dyn_cast<ProductOp>(op))
      checkProduct(product);
  }
  return failure(broken);
}

void Legality::checkTerms() {
  using V = VarySet;
  Operation *logit = nullptr, *linear = nullptr;
  for (Operation &op : scheme.getBody().front()) {
    if (isa<LogitOp>(op))
      logit = &op;
    if (auto readout = dyn_cast<ReadoutOp>(op)) {
      if (readout.getKind() != ReadoutKind::Softmax)
        linear = &op;
    }
  }
  auto stage = [&](Operation &op, Value value, uint16_t excluded,
                   StringRef rule) {
    VarySet set = varies.of(value);
    require(!set.has(excluded), &op, "stage",
            "'" + op.getName().stripDialect() + "' " + rule +
                ", but this varies by " + set.getText());
  };
  for (Operation &op : scheme.getBody().front()) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case<ScaleOp, SinkOp>([&](auto term) {
          stage(op, term.getOperand(), V::Key | V::Path | V::Score,
                "belongs to a row and cannot depend on the key");
        })
        .Case([&](SoftcapOp term) {
          stage(op, term.getOperand(),
                V::Query | V::Key | V::Path | V::Content | V::Score,
                "cannot depend on a token");
          require(ranges.of(term.getOperand()).isAbove(0), &op, "range",
                  "a softcap must be above 0, and this cannot be shown");
        })
        .Case([&](MaskOp term) {
          stage(op, term.getOperand(), V::Content | V::Score,
                "cannot depend on the contents of q and k");
        })
        .Case<BiasOp>([&](auto term) {
          stage(op, term.getOperand(), V::Score, "cannot depend on the score");
        })
        .Case([&](ReadoutOp readout) { checkReadout(readout); });
    bool besides = isa<ScaleOp, SoftcapOp, BiasOp>(op);
    require(!logit || !besides, &op, "assembly",
            "'logit' writes the whole logit, so '" +
                op.getName().stripDialect() + "' has no place beside it");
    bool softmaxOnly = isa<SoftcapOp, BiasOp, SinkOp>(op);
    require(!linear || !softmaxOnly, &op, "readout",
            "'" + op.getName().stripDialect() +
                "' belongs to softmax; another readout has no such term");
    if (auto ambient = dyn_cast<AmbientOp>(op))
      require(ambient.getKind() != Ambient::Score || logit, &op, "stage",
              "the score is known only in 'logit'");
  }
}

void Legality::checkReadout(ReadoutOp op) {
  if (op.getKind() != ReadoutKind::Delta)
    return;
  require(causal, op, "half-line",
          "the delta rule needs a mask that hides all keys after the query");
  bool unit = llvm::any_of(scheme.getBody().getOps<NormOp>(), [](NormOp norm) {
    return norm.getKind() == NormKind::L2;
  });
  require(unit, op, "stability",
          "the delta rule needs unit keys: a norm of kind l2");
  require(op.getBeta() && ranges.of(op.getBeta()).isWithin(0, 2), op,
          "stability",
          "beta of the delta rule must lie in 0 .. 2, and this "
          "cannot be shown");
  if (op.getBeta())
    require(!varies.of(op.getBeta()).has(VarySet::Query), op, "stage",
            "beta belongs to the key and cannot depend on the query");
}

/// A running sum has no origin: only differences of its times, and the times of
/// an action, have a meaning.
void Legality::checkOrigins() {
  for (TimeOp time : scheme.getBody().getOps<TimeOp>()) {
    if (!time.getClock().getDefiningOp<RunningOp>())
      continue;
    for (Operation *user : time->getUsers()) {
      bool difference = false;
      if (auto sub = dyn_cast<arith::SubFOp>(user)) {
        auto a = sub.getLhs().getDefiningOp<TimeOp>();
        auto b = sub.getRhs().getDefiningOp<TimeOp>();
        difference = a && b && a.getClock() == b.getClock() &&
                     a.getMember() == b.getMember();
      }
      require(difference || isa<AtOp>(user), user, "origin",
              "a running sum has no origin: only the difference of two of its "
              "times has a meaning");
    }
  }
}

namespace {
struct CheckLegality : impl::CheckLegalityBase<CheckLegality> {
  void runOnOperation() override {
    bool ok = true;
    for (SchemeOp scheme : getOperation().getOps<SchemeOp>())
      ok &= succeeded(checkDeclarations(scheme)) &&
            succeeded(Legality(scheme).check());
    if (!ok)
      signalPassFailure();
  }
};
} // namespace

} // namespace torsor
