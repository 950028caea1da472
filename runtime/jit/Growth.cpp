// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds the norm of exp(delta X), block by block.
#include "runtime/jit/Growth.h"

#include "passes/ActionForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>
#include <vector>

using namespace torsor;

namespace {

/// The most profiles that are told apart.
constexpr size_t maxProfiles = 256;

/// Bound of the norm of one part at distance a:
///   condition exp(-rate a) times, for each chain,
///   sum over n < order of (couple a)^n / n!
/// or, if that is less, condition exp(abscissa a).
struct Profile {
  double condition = 1, rate = 0;
  std::vector<std::pair<double, int64_t>> chains; // couple, order
  /// The query's time; null: none yet, or the position.
  mlir::Value clock;

  bool isNormal() const { return condition == 1 && chains.empty(); }
  /// Of a chain of m equal blocks it is e cos(pi / (m + 1)) - rate.
  double abscissa() const {
    double most = -rate;
    for (auto [couple, order] : chains)
      most += couple *
              std::cos(std::numbers::pi / (static_cast<double>(order) + 1));
    return std::abs(most) < 1e-12 * rate ? 0 : most;
  }
  double evaluate(double a) const {
    double product = condition * std::exp(-rate * a);
    for (auto [couple, order] : chains) {
      double term = 1, sum = 1;
      for (int64_t n = 1; n < order; ++n) {
        term *= couple * a / static_cast<double>(n);
        sum += term;
      }
      product *= sum;
    }
    return std::min(product, condition * std::exp(abscissa() * a));
  }
  /// Behind it the bound only falls; `limit` where nothing fades.
  double reach(double limit) const {
    double links = 0;
    for (auto [couple, order] : chains)
      links += static_cast<double>(order);
    return rate > 0 ? std::min(limit, std::ceil(links / rate)) : limit;
  }
};

using Profiles = std::vector<Profile>;

/// Where a profile is largest over 0 … limit, and how large.
std::pair<double, double> findPeak(const Profile &profile, double limit) {
  std::pair<double, double> best = {0, profile.evaluate(0)};
  if (profile.chains.empty())
    return best;
  double last = profile.reach(limit);
  double step = std::max(1.0, std::floor(last / 100'000));
  for (double a = step; a <= last; a += step)
    if (double value = profile.evaluate(a); value > best.second)
      best = {a, value};
  return best;
}

class Bounder {
public:
  explicit Bounder(double limit) : limit(limit) {}

  /// Nothing: a rate or a couple is not known, or there are too many parts.
  std::optional<Profiles> bound(mlir::Value action, int depth = 0);
  bool hasChain = false, hasBasis = false;

private:
  double limit;

  std::optional<Profiles> boundChain(JordanOp jordan, int depth);
  std::optional<Profiles> boundProduct(ProductOp product, int depth);
  std::optional<Profiles> boundParts(mlir::ValueRange parts, int depth);
};

/// Keeps, of profiles that differ by the rate alone, the one that fades least.
void add(Profiles &all, Profile profile) {
  for (Profile &known : all)
    if (known.condition == profile.condition &&
        known.chains == profile.chains && known.clock == profile.clock) {
      known.rate = std::min(known.rate, profile.rate);
      return;
    }
  all.push_back(std::move(profile));
}

} // namespace

std::optional<Profiles> Bounder::boundParts(mlir::ValueRange parts, int depth) {
  Profiles all;
  for (mlir::Value part : parts)
    if (llvm::isa<ActionType>(part.getType())) {
      std::optional<Profiles> some = bound(part, depth);
      if (!some)
        return std::nullopt;
      for (Profile &profile : *some)
        add(all, std::move(profile));
    }
  if (all.size() > maxProfiles)
    return std::nullopt;
  return all;
}

/// exp(a (I (x) X_A + e N (x) I)): the two commute, so norms multiply.
std::optional<Profiles> Bounder::boundChain(JordanOp jordan, int depth) {
  std::optional<Profiles> base = bound(jordan.getBase(), depth);
  auto order = static_cast<int64_t>(jordan.getOrder());
  if (!base || order < 2)
    return base;
  std::optional<double> couple = constantReal(jordan.getCouple());
  if (!couple)
    return std::nullopt;
  hasChain |= *couple != 0;
  Profiles all;
  for (Profile &profile : *base) {
    if (*couple != 0)
      profile.chains.emplace_back(std::abs(*couple), order);
    add(all, std::move(profile));
  }
  return all;
}

/// Factors on one clock meet the same distance; those on two do not, so each
/// counts at its worst.
std::optional<Profiles> Bounder::boundProduct(ProductOp product, int depth) {
  std::optional<Profiles> left = bound(product.getLhs(), depth);
  std::optional<Profiles> right = bound(product.getRhs(), depth);
  if (!left || !right || left->size() * right->size() > maxProfiles)
    return std::nullopt;
  Profiles all;
  for (const Profile &a : *left)
    for (const Profile &b : *right) {
      Profile both = a;
      if (a.clock == b.clock || a.isNormal() || b.isNormal()) {
        // A fading side on another clock is at its worst at distance 0.
        bool same = a.clock == b.clock;
        bool still = a.isNormal() && (a.rate == 0 || !b.isNormal());
        const Profile &main = still ? b : a;
        both = main;
        both.condition = a.condition * b.condition;
        both.rate = same ? a.rate + b.rate : main.rate;
        both.chains = a.chains;
        both.chains.insert(both.chains.end(), b.chains.begin(), b.chains.end());
      } else {
        both.condition *= findPeak(b, limit).second;
      }
      add(all, std::move(both));
    }
  return all;
}

std::optional<Profiles> Bounder::bound(mlir::Value action, int depth) {
  mlir::Operation *op = action.getDefiningOp();
  if (!op || depth > 512)
    return std::nullopt;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<Profiles>>(op)
      .Case([&](DecayOp decay) -> std::optional<Profiles> {
        std::optional<double> rate = constantReal(decay.getRate());
        if (!rate)
          return std::nullopt;
        return Profiles{{1, *rate, {}, {}}};
      })
      .Case([&](JordanOp jordan) { return boundChain(jordan, depth + 1); })
      .Case([&](ProductOp product) { return boundProduct(product, depth + 1); })
      .Case([&](BasisOp basis) {
        std::optional<Profiles> all = bound(basis.getBase(), depth + 1);
        auto param = basis.getColumns().getDefiningOp<ParamOp>();
        if (all && param && !param.getOrthogonal() && param.getCondition())
          for (Profile &profile : *all) {
            profile.condition *= param.getCondition()->convertToDouble();
            hasBasis |= profile.condition > 1;
          }
        return all;
      })
      .Case([&](AtOp at) {
        std::optional<Profiles> all = bound(at.getBase(), depth + 1);
        if (all)
          for (Profile &profile : *all)
            if (!profile.clock)
              profile.clock = at.getQ();
        return all;
      })
      .Case([](UnipotentOp) -> std::optional<Profiles> { return Profiles(); })
      .Default([&](mlir::Operation *other) -> std::optional<Profiles> {
        bool inner = llvm::any_of(other->getOperands(), [](mlir::Value part) {
          return llvm::isa<ActionType>(part.getType());
        });
        // zero, turn and plane keep every length.
        return inner ? boundParts(other->getOperands(), depth + 1)
                     : Profiles{Profile()};
      });
}

/// The first distance from which on all profiles are at most 1.
static std::optional<int64_t> findEnd(const Profiles &all, double limit) {
  double end = 0;
  for (const Profile &profile : all) {
    if (profile.isNormal())
      continue;
    double low = findPeak(profile, limit).first, high = limit;
    if (profile.evaluate(high) > 1)
      return std::nullopt;
    while (high - low > 1e-6) {
      double middle = (low + high) / 2;
      (profile.evaluate(middle) > 1 ? low : high) = middle;
    }
    end = std::max(end, std::ceil(high));
  }
  return static_cast<int64_t>(end);
}

static std::optional<double> findAbscissa(const Profiles &all) {
  double most = -HUGE_VAL;
  for (const Profile &profile : all) {
    if (profile.condition != 1)
      return std::nullopt;
    most = std::max(most, profile.abscissa());
  }
  return most;
}

GrowthFacts torsor::boundGrowth(mlir::Value action, int64_t horizon) {
  GrowthFacts facts;
  auto limit = static_cast<double>(horizon);
  Bounder bounder(limit);
  std::optional<Profiles> all = bounder.bound(action);
  if (bounder.hasChain)
    facts.reason = "a chain of equal blocks";
  if (bounder.hasBasis)
    facts.reason += std::string(facts.reason.empty() ? "" : " in ") +
                    "a basis that need not be orthogonal";
  if (!all) {
    facts.factor.reset();
    return facts;
  }
  if (facts.reason.empty())
    return facts;
  std::optional<double> peak;
  for (const Profile &profile : *all) {
    auto [distance, factor] = findPeak(profile, limit);
    if (factor <= *facts.factor)
      continue;
    facts.factor = factor;
    peak = distance;
  }
  if (peak && *peak > 0)
    facts.peak = static_cast<int64_t>(*peak);
  facts.settled = findEnd(*all, limit);
  facts.abscissa = findAbscissa(*all);
  return facts;
}
