// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds the errors of phases.
#include "runtime/jit/Facts.h"

#include <cmath>
#include <numbers>

using namespace torsor;

double torsor::getPhaseError(double position) {
  return 2 * std::numbers::pi * std::ldexp(position, -65);
}

double torsor::getRoundedPhaseError(double position, double frequency) {
  double unit = std::ldexp(1.0, -24);
  double roundings = position > std::ldexp(1.0, 24) ? 3 : 2;
  return position * frequency * (std::pow(1 + unit, roundings) - 1);
}

/// By a clock of reals: what is cut off of a phase is the same at any time; of
/// a frequency below half a turn 2^-65 of a turn is cut off, of others 2^-52.
static void boundRealPhases(SchemeFacts &facts) {
  facts.phaseError =
      2 * std::numbers::pi * (std::ldexp(1.0, -32) + std::ldexp(1.0, -33));
  facts.phaseGrowth = getPhaseError(1);
  for (const auto *blocks : {&facts.blocks, &facts.valueBlocks})
    for (const BlockFacts &block : *blocks) {
      if (!block.isTurn() || !block.isReal)
        continue;
      if (block.frequencies.empty() || block.second < 0) {
        facts.phaseGrowth.reset();
        return;
      }
      for (double frequency : block.frequencies)
        if (std::abs(frequency) >= std::numbers::pi)
          facts.phaseGrowth = std::max(*facts.phaseGrowth,
                                       std::ldexp(std::abs(frequency), -52));
    }
}

/// The error is that of the fastest turn; reach is where it is 0.01.
static void boundRoundedPhases(SchemeFacts &facts) {
  double fastest = 0;
  facts.phaseError.reset();
  for (const auto *blocks : {&facts.blocks, &facts.valueBlocks})
    for (const BlockFacts &block : *blocks) {
      if (!block.isTurn())
        continue;
      if (!block.varies.empty())
        return;
      for (double frequency : block.frequencies)
        fastest = std::max(fastest, std::abs(frequency));
    }
  facts.phaseError = getRoundedPhaseError(facts.longest, fastest);
  if (fastest == 0)
    return;
  // Proportional to the position on either side of 2^24.
  double exact = std::ldexp(1.0, 24);
  double reach = 0.01 / getRoundedPhaseError(1, fastest);
  if (reach > exact)
    reach = std::max(exact, 0.01 / getRoundedPhaseError(2 * exact, fastest) *
                                2 * exact);
  facts.phaseReach = std::min(std::floor(reach), facts.longest);
}

void torsor::boundPhases(SchemeFacts &facts) {
  if (!facts.hasTurns())
    return;
  facts.phaseError = getPhaseError(facts.longest);
  facts.phaseGrowth = getPhaseError(1);
  if (facts.f32Reference)
    boundRoundedPhases(facts);
  else if (facts.turnsByReals())
    boundRealPhases(facts);
}
