// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides what holds of a scheme's action and bias, from the scheme level.
#include "runtime/jit/Stability.h"

#include "passes/ActionForm.h"
#include "runtime/jit/Facts.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numbers>

using namespace torsor;

/// ln of the largest f32.
static constexpr double largestExponent = 88.72;

namespace {

class Decider {
public:
  Decider(SchemeOp scheme, const SchemeFacts &facts, StabilityFacts &out)
      : scheme(scheme), facts(facts), out(out) {}

  void run();

private:
  SchemeOp scheme;
  const SchemeFacts &facts;
  StabilityFacts &out;

  void fail(const char *axiom, std::string reason);
  void decideGroup(const ActionForm &form);
  void decideCommuting(const ActionForm &form);
  void boundFactors(mlir::Value action);
};

} // namespace

void Decider::fail(const char *axiom, std::string reason) {
  if (!out.group)
    return; // the first that fails is the one to name
  out.group = false;
  out.axiom = axiom;
  out.reason = std::move(reason);
}

void Decider::decideGroup(const ActionForm &form) {
  for (const ActionUnit &unit : form.units)
    for (mlir::Operation *combinator : unit.within)
      if (llvm::isa<ChooseOp>(combinator))
        fail("composition", "regions follow different laws, so two steps "
                            "across a border are not one step");
  if (facts.hasUnevenGains())
    fail("translation", "gains behind the action differ, or may differ, "
                        "within a block, so they do not commute with it");
  else if (!facts.isRelative())
    fail("translation", "explicit times of query and key enter, not their "
                        "difference");
  else if (!facts.startsAtIdentity())
    fail("identity", "at one token the explicit times of query and key differ, "
                     "or may differ");
}

/// By the rules of the front end and of check-legality, which refuse all other
/// products.
void Decider::decideCommuting(const ActionForm &form) {
  bool scalar = false, pairs = false, planes = false, regions = false;
  for (const ActionUnit &unit : form.units)
    for (mlir::Operation *combinator : unit.within) {
      regions |= llvm::isa<ChooseOp>(combinator);
      if (auto product = llvm::dyn_cast<ProductOp>(combinator)) {
        auto isScalar = [](mlir::Value side) {
          while (mlir::Operation *op = side.getDefiningOp()) {
            if (auto generator = llvm::dyn_cast<Generator>(op))
              return generator.isScalar();
            if (op->getNumOperands() == 0)
              return false;
            side = op->getOperand(0);
          }
          return false;
        };
        bool isScaled =
            isScalar(product.getLhs()) || isScalar(product.getRhs());
        (isScaled                         ? scalar
         : llvm::isa<PlaneOp>(unit.block) ? planes
                                          : pairs) = true;
      }
    }
  auto add = [&](bool holds, const char *rule) {
    if (holds)
      out.commuting += (out.commuting.empty() ? "" : "; ") + std::string(rule);
  };
  add(pairs, "both sides of '*' act on the same pairs");
  add(planes, "both sides of '*' turn planes that are orthogonal");
  add(scalar, "one side of '*' is a multiple of the identity on the other's "
              "lanes");
  add(out.commuting.empty() && !regions && form.units.size() > 1,
      "blocks share no lane (a direct sum)");
}

/// `action` null: there is none.
void Decider::boundFactors(mlir::Value action) {
  for (const BlockFacts &block : facts.blocks) {
    out.boundedOnPast &= block.boundedOnPast;
    out.boundedOnFuture &= block.boundedOnFuture;
  }
  if (action)
    out.growth = boundGrowth(action, out.horizon);
  if (!facts.isBounded())
    out.growth.factor.reset();
  double fastest = 0;
  bool known = true;
  scheme.walk([&](mlir::Operation *op) {
    if (auto decay = llvm::dyn_cast<DecayOp>(op)) {
      std::optional<double> rate = constantReal(decay.getRate());
      known &= rate.has_value();
      fastest = std::max(fastest, rate.value_or(0));
    } else if (auto basis = llvm::dyn_cast<BasisOp>(op)) {
      auto param = basis.getColumns().getDefiningOp<ParamOp>();
      double bound = 1;
      if (param && !param.getOrthogonal() && param.getCondition())
        bound = param.getCondition()->convertToDouble();
      out.condition = std::max(out.condition.value_or(1), bound);
    }
  });
  if (known && fastest > 0)
    out.span = static_cast<int64_t>(
        std::min(std::floor(largestExponent / fastest), 1e15));
}

void Decider::run() {
  mlir::Value acted;
  TermLaws laws(scheme);
  for (mlir::Operation &op : scheme.getBody().front()) {
    if (auto action = llvm::dyn_cast<ActionTermOp>(op)) {
      acted = action.getAction();
      auto form = flattenAction(acted);
      if (failed(form))
        continue;
      decideGroup(*form);
      decideCommuting(*form);
    } else if (auto term = llvm::dyn_cast<BiasOp>(op)) {
      out.bias = laws.of(term.getOperand());
    } else if (auto term = llvm::dyn_cast<ScaleOp>(op)) {
      out.scale = laws.of(term.getOperand());
    } else if (auto term = llvm::dyn_cast<LogitOp>(op)) {
      out.logit = laws.of(term.getOperand());
    }
  }
  boundFactors(acted);
}

/// Pairs that turn less than once while training meet only a part of the
/// circle; they leave it where the phase at the target is larger than the
/// largest of the training.
static std::optional<CoverageFacts>
cover(const SchemeFacts &facts, const TrainingFacts &training, int64_t target) {
  CoverageFacts out;
  out.trained = static_cast<int64_t>(training.trained);
  out.target = target;
  int64_t pair = 0, known = 0;
  for (const BlockFacts &block : facts.blocks)
    known += static_cast<int64_t>(block.frequencies.size());
  // The frequencies of the training, if the text gives them.
  bool plain =
      training.base > 1 && static_cast<double>(2 * known) == training.width;
  for (const BlockFacts &block : facts.blocks) {
    if (!llvm::StringRef(block.kind).starts_with("turn"))
      continue;
    for (double frequency : block.frequencies) {
      double before =
          plain ? std::pow(training.base,
                           static_cast<double>(-2 * pair) / training.width)
                : std::abs(frequency);
      double turns = before * training.trained / (2 * std::numbers::pi);
      ++(turns >= 32 ? out.many : turns >= 1 ? out.some : out.partial);
      double reached = std::abs(frequency) * static_cast<double>(target);
      if (turns < 1 && reached > before * training.trained * (1 + 1e-9))
        out.leaving.push_back(pair);
      ++pair;
    }
  }
  return pair ? std::optional(out) : std::nullopt;
}

StabilityFacts torsor::gatherStability(SchemeOp scheme,
                                       const SchemeFacts &facts,
                                       const TrainingFacts &training,
                                       int64_t length) {
  StabilityFacts out;
  double target = static_cast<double>(length);
  if (facts.longest < 2147483647)
    target = facts.longest + 1;
  if (training.trained > 0)
    target = std::max({target, training.trained,
                       training.trained * std::max(1.0, training.factor)});
  out.horizon = static_cast<int64_t>(std::min(target, 1e15));
  Decider(scheme, facts, out).run();
  if (training.trained >= 1)
    out.coverage = cover(facts, training, out.horizon);
  return out;
}
