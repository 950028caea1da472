// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was decided about a scheme, in plain words.
#include "runtime/jit/Explain.h"

#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <fmt/format.h>

using namespace torsor;

static std::string describeCoverage(const CoverageFacts &coverage) {
  std::string text = fmt::format(
      "  coverage: in the {} tokens of the training, {} pairs turn 32 times or "
      "more, {} once or more, {} less than once\n",
      coverage.trained, coverage.many, coverage.some, coverage.partial);
  if (coverage.leaving.empty())
    return text + fmt::format("  at {} tokens no pair meets a phase that it "
                              "did not meet in the training\n",
                              coverage.target);
  return text + fmt::format("  at {} tokens {} pairs meet phases that they did "
                            "not meet in the training: {}\n",
                            coverage.target, coverage.leaving.size(),
                            describeRuns(coverage.leaving));
}

static std::string describeBounds(const StabilityFacts &facts) {
  std::string text = facts.boundedOnPast && facts.boundedOnFuture
                         ? "  bounded: at every distance, both ways\n"
                     : facts.boundedOnPast
                         ? "  bounded: for keys before the query alone (the "
                           "half-line delta <= 0)\n"
                         : "  bounded: on neither half-line\n";
  const GrowthFacts &growth = facts.growth;
  if (!growth.factor)
    text += fmt::format("  growth: over {} tokens not known before the params "
                        "are, or without bound\n",
                        facts.horizon);
  else
    text += fmt::format("  growth: over {} tokens a score grows by a factor of "
                        "{:.6g} at most\n",
                        facts.horizon, *growth.factor);
  if (growth.reason.empty())
    return text;
  text += fmt::format("  transient: {} is not normal", growth.reason);
  if (growth.abscissa && *growth.abscissa <= 0)
    return text + ", but its numerical abscissa is not above 0, so that no "
                  "score grows on the way\n";
  if (growth.peak)
    text += fmt::format("; the bound is largest at distance {}", *growth.peak);
  else if (growth.factor && *growth.factor > 1)
    text += "; the bound is largest next to distance 0";
  if (growth.settled)
    text += fmt::format(", and at most 1 from distance {} on", *growth.settled);
  else if (growth.factor)
    text += ", and need not fall to 1 again";
  if (growth.abscissa)
    text += fmt::format("; at first it grows by up to {:.4g} nats a unit (the "
                        "numerical abscissa)",
                        *growth.abscissa);
  return text + "\n";
}

static std::string describeLaw(const char *term, TermLaw law) {
  static const char *const texts[] = {
      nullptr,
      "a function of the distance",
      "translation fails: it reads an absolute position or index",
      "it reads inputs of the tokens, so it is no function of the distance",
      "it sums over the tokens between, so it is no function of the distance",
      "it reads the contents, so it is no function of the distance"};
  const char *text = texts[static_cast<int>(law)];
  return text ? fmt::format("  {}: {}\n", term, text) : "";
}

std::string torsor::describeStability(const SchemeFacts &all) {
  const StabilityFacts &facts = all.stability;
  std::string text =
      all.blocks.empty() ? "  group: the identity; no position in q and k\n"
      : facts.group      ? "  group: yes, one generator: A(a + b) = A(a) A(b)\n"
                    : fmt::format("  group: no; {} fails: {}\n", facts.axiom,
                                  facts.reason);
  if (!facts.commuting.empty())
    text += fmt::format("  commuting: {}\n", facts.commuting);
  text += describeBounds(facts);
  if (facts.condition)
    text += *facts.condition == 1
                ? "  basis: orthogonal, so its condition is 1\n"
                : fmt::format("  basis: its condition is at most {:.6g}, so a "
                              "score is off by up to {:.2g} of |q| |k|\n",
                              *facts.condition,
                              *facts.condition * std::ldexp(1.0, -24));
  if (facts.span)
    text += fmt::format("  anchors: factors of one side stay within f32 over "
                        "{} tokens; longer spans need another anchor\n",
                        *facts.span);
  text += describeLaw("bias", facts.bias);
  // A scale without positions is no news, nor that a logit reads the score.
  if (facts.scale == TermLaw::Absolute)
    text += describeLaw("scale", facts.scale);
  if (facts.logit == TermLaw::Absolute)
    text += describeLaw("logit", facts.logit);
  if (facts.coverage)
    text += describeCoverage(*facts.coverage);
  return text;
}

std::string torsor::describePhaseStrategies(const SchemeFacts &facts) {
  double fastest = 0;
  for (const BlockFacts &block : facts.blocks)
    if (llvm::StringRef(block.kind).starts_with("turn"))
      for (double frequency : block.frequencies)
        fastest = std::max(fastest, std::abs(frequency));
  if (fastest == 0)
    return "";
  bool half = facts.q == "f16", brain = facts.q == "bf16";
  double rounding = std::ldexp(1.0, half ? -11 : brain ? -8 : -24);
  return fmt::format(
      "  storage in {} rounds by {:.2g} of a lane; phases as f32 products "
      "would be off by {:.2g} radians at position {:.0f}\n",
      facts.q.empty() ? "f32" : facts.q, rounding,
      getRoundedPhaseError(facts.longest, fastest), facts.longest);
}
