// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What there is to say about a compiled scheme, before it is text or JSON.
#ifndef TORSOR_RUNTIME_JIT_FACTS_H
#define TORSOR_RUNTIME_JIT_FACTS_H

#include "runtime/jit/MaskFacts.h"
#include "runtime/jit/Remarks.h"
#include "runtime/jit/Stability.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torsor {

/// Lanes in equal steps that one generator acts on.
struct BlockFacts {
  std::string kind;
  /// Pair p is first + p step, second + p step; second is -1 for single lanes.
  int64_t first = 0, second = -1, step = 1, count = 0;
  /// Radians per unit of the clock; of a decay, its rate. Empty: not constant.
  std::vector<double> frequencies;
  /// What they vary by otherwise: "{loaded, head}".
  std::string varies;
  std::string clock = "pos";
  /// The clock counts reals; gains behind the action differ, or may differ,
  /// within a pair, and then do not commute with it.
  bool isReal = false, unevenGains = false;
  /// Constant gains on the acted lanes; absent where they are not constant.
  std::optional<double> gainQ = 1, gainK = 1;
  bool isometric = true, boundedOnPast = true, boundedOnFuture = true;
  /// The score depends on the difference of the two times alone; at one token
  /// it does not act.
  bool relative = true, startsAtIdentity = true;
  /// Where keys are acted on: "packing", "cached", …; "" without a kernel.
  std::string keys;

  /// A turn, or a plane, in whatever stands around it: its time is a phase.
  bool isTurn() const {
    llvm::StringRef name = kind;
    return name.starts_with("turn") || name.starts_with("plane");
  }
};

/// A term of the logit: its constant value, or what it varies by.
struct TermFacts {
  bool present = false;
  std::optional<double> value;
  std::string varies;
};

/// What divides q and k before the action.
struct NormFacts {
  std::string kind; ///< "l2" or "rms"; "" without one
  double epsilon = 0;
  bool weightsQ = false, weightsK = false;
};

/// A tensor that a call or an instance takes, or a cache holds, beside q, k, v.
struct TensorFacts {
  std::string name, type;
  /// "param", "token", "sequence" or "call".
  std::string per;
  std::vector<std::string> axes;
  bool atQuery = false, atKey = false, optional = false;

  /// Of a stream beside k and v: bytes that a token takes, for each head where
  /// `headAxis` is "H" or "G" (empty: there is one for all).
  int64_t tokenBytes() const;
  std::string headAxis() const;
};

struct SchemeFacts {
  std::string name, canonical;
  int64_t head = 0, value = 0;
  std::string q, k, v, o; ///< element types; "" without a kernel
  /// The scheme only adds a vector to embeddings: nothing attends.
  bool isEmbedding = false;
  NormFacts norm;
  std::vector<BlockFacts> blocks, valueBlocks;
  /// What chooses between regions of the action.
  TermLaw regions = TermLaw::None;
  TermFacts scale, softcap, bias, logit, sink, valueBias, divisor;
  std::string readout = "softmax";

  std::vector<IntervalAttr> visible, full;
  bool byPosition = false, needsTile = false;
  /// No key after the query is seen.
  bool causal = false;

  /// Largest position that is declared, or else possible.
  double longest = 2147483647;
  /// Bound of the phase's error there, radians; absent where nothing turns, and
  /// where the frequencies decide it and are not all known.
  std::optional<double> phaseError;
  /// What each unit of time adds to it beyond, or, by a clock of reals, to what
  /// it is at 0; absent: 2^-52 of the phase, where frequencies are not known.
  std::optional<double> phaseGrowth;
  /// Phases are products of f32 numbers, as other libraries have them.
  bool f32Reference = false;
  /// With them: the last position up to which a phase is off by at most 0.01
  /// radians.
  std::optional<double> phaseReach;

  StabilityFacts stability;

  /// Of kernels; empty where there are none.
  std::vector<std::string> operations;
  std::string contract;
  bool keysActed = false;
  /// Cached keys can be moved to other positions, or why not; and, where that
  /// touches them, the most that a move adds to a pair of lanes for its size.
  std::string noRebase;
  std::vector<std::pair<std::string, double>> rebaseErrors; ///< by type
  int64_t window = -1, first = 0, decodeQueries = 0;
  int64_t tileRows = 0, tileKeys = 0;
  /// In the order in which a call gives them; what a cache holds beside k, v.
  std::vector<TensorFacts> arguments, streams;
  /// What passes rewrote and refused to, once kernels were formed.
  std::vector<Decision> rewrites;

  /// One head over `length` tokens that attend to themselves.
  int64_t length = 0;
  double pairs = 0, flops = 0, bytes = 0;
  TileCounts tiles;

  /// A cache of that many tokens: those that a later query may still see, and
  /// the bytes of their keys and values, of one key head.
  int64_t cacheTokens = 0;
  double cacheBytes = 0;
  /// Those of running sums beside them: of one key head, of one query head, and
  /// of all heads together.
  double groupSums = 0, headSums = 0, sharedSums = 0;

  /// A turn or a plane acts on q and k, or on v.
  bool hasTurns() const;
  bool isIsometric() const;
  /// A shift of all positions, or of all indices, leaves the action of every
  /// pair as it is.
  bool isRelative() const;
  bool startsAtIdentity() const;
  bool isBounded() const;
  /// Gains behind the action differ, or may differ, within some block.
  bool hasUnevenGains() const;
  /// A turn by a clock that counts reals.
  bool turnsByReals() const;
};

/// Gathers the facts of a scheme; `interface` null: it has no kernels (yet).
/// `length` is that of the counts.
SchemeFacts gatherFacts(SchemeOp scheme, InterfaceOp interface, int64_t length,
                        bool f32Reference);

/// Adds what the kernel level says of a scheme's kernels.
void readKernel(InterfaceOp interface, SchemeFacts &facts);

/// Fills in what is said of phases, from the blocks and the longest position.
void boundPhases(SchemeFacts &facts);

/// Largest error of the phase of a turn at a position, in radians: a frequency
/// is a multiple of 2^-64 turns, so it is off by 2^-65 at most.
double getPhaseError(double position);

/// The same of a phase that is the f32 product of position and frequency: the
/// three are rounded, but a position of up to 2^24 is not.
double getRoundedPhaseError(double position, double frequency);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_FACTS_H
