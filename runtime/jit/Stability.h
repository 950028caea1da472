// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is decided about a scheme's action and bias: is it a group, where is it
// bounded, how far may it be anchored, which pairs leave what was trained.
#ifndef TORSOR_RUNTIME_JIT_STABILITY_H
#define TORSOR_RUNTIME_JIT_STABILITY_H

#include "runtime/jit/Growth.h"
#include "runtime/jit/TermLaw.h"

#include <optional>
#include <string>
#include <vector>

namespace torsor {

struct CheckedFile;
struct SchemeFacts;

/// The pairs of a rotation against the length of the training.
struct CoverageFacts {
  /// Tokens of the training and of the target.
  int64_t trained = 0, target = 0;
  /// Pairs with 32 turns or more, with 1 to 32, with less than one turn within
  /// the training.
  int64_t many = 0, some = 0, partial = 0;
  /// Pairs, by their number, that meet phases at the target that they never
  /// met in the training.
  std::vector<int64_t> leaving;
};

struct StabilityFacts {
  /// One generator for all pairs of times: A(a + b) = A(a) A(b).
  bool group = true;
  /// The axiom that fails, by name, and why.
  std::string axiom, reason;
  /// The rule by which blocks that share lanes commute; "": none share any.
  std::string commuting;
  TermLaw bias = TermLaw::None, scale = TermLaw::None, logit = TermLaw::None;
  bool boundedOnPast = true, boundedOnFuture = true;
  /// The largest distance that is looked at, tokens.
  int64_t horizon = 0;
  /// The largest factor on a score over the horizon; its factor is absent, too,
  /// where the action is not bounded on what the mask shows.
  GrowthFacts growth;
  /// Bound of the condition of learned bases; 1: all are orthogonal.
  std::optional<double> condition;
  /// Tokens over which factors exp(+-rate distance) stay below the largest
  /// f32; absent: nothing fades, or the rate is not known.
  std::optional<int64_t> span;
  std::optional<CoverageFacts> coverage;
};

/// What a scheme's text says of the training: literals of the arguments of
/// llama3, yarn, spectrum and their like; 0 where it says nothing.
struct TrainingFacts {
  double trained = 0, factor = 0;
  /// Of the spectrum before it was rescaled.
  double base = 0, width = 0;
};
TrainingFacts findTraining(const CheckedFile &file, llvm::StringRef scheme);

/// `length`: tokens that are served where nothing says more.
StabilityFacts gatherStability(SchemeOp scheme, const SchemeFacts &facts,
                               const TrainingFacts &training, int64_t length);

/// The facts as lines of `explain`.
std::string describeStability(const SchemeFacts &facts);
/// The errors of each way to make phases, against the storage type.
std::string describePhaseStrategies(const SchemeFacts &facts);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_STABILITY_H
