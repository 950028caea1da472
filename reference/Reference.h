// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of a scheme: direct evaluation of scheme-level IR in f64.
#ifndef TORSOR_REFERENCE_REFERENCE_H
#define TORSOR_REFERENCE_REFERENCE_H

#include "reference/HostArray.h"

#include "llvm/Support/Error.h"

#include <string>

namespace torsor {

class SchemeOp;

/// One sequence of a batch, as torsor_sequence of the C interface says it: a
/// run of query tokens and the run of keys they may see.
struct SequenceRun {
  int64_t queryRow = 0, queryStart = 0, queryLength = 0;
  int64_t keyRow = 0, keyStart = 0, keyLength = 0;
  /// With `placed`, the first index of either run and N; without, keys count
  /// from 0, the queries are the last of them and N is the number of keys.
  bool placed = false;
  int64_t queryIndex = 0, keyIndex = 0, total = 0;
  /// The sink, and a division by the total, are left out.
  bool partial = false;
};

/// A clock, an input or a param under its name in the scheme.
struct NamedArray {
  std::string name;
  /// Loaded, per call: [axes…]; per sequence: [sequences, axes…].
  HostArray value;
  /// Per token: [rows, tokens, axes…], addressed as q and as k.
  HostArray query, key;
};

/// One call. Elements are what a kernel would read: round them to the storage
/// type first where that matters.
struct Problem {
  int64_t heads = 1, groups = 1;
  HostArray q; ///< [rows, H, tokens, D]
  HostArray k; ///< [rows, G, tokens, D]
  HostArray v; ///< [rows, G, tokens, V]; absent if the value is the key's
  std::vector<SequenceRun> sequences;
  /// [rows, tokens]: every index, instead of counting from the first;
  /// negative: padding. Absent: as the sequences say.
  HostArray queryIndices, keyIndices;
  std::vector<NamedArray> arguments;
  /// Also give what every pair came to (Output::pairs).
  bool trace = false;
  /// Apply blocks through Eigen's matrix exponential instead of their closed
  /// forms: slow, and the definition itself.
  bool exponential = false;
  /// Phases of turns as other libraries round them: f32(time) * f32(frequency)
  /// in f32, of query and key apart. All else stays f64.
  bool f32Phases = false;
};

/// What one pair of query and key came to.
struct PairTrace {
  bool visible = false;
  double score = 0; ///< The bilinear form, before the scale.
  double logit = 0; ///< What enters the readout.
};

struct Output {
  std::vector<int64_t> shape; ///< [rows, H, tokens, V] of o.
  std::vector<double> o;      ///< Compact; NaN in rows of no sequence.
  std::vector<double> lse;    ///< [rows, H, tokens]; delta has none.
  /// Of a linear readout with a divisor, [rows, H, tokens]: how many times
  /// larger a relative error of all the weights z is in o, sum |z| / |divisor|,
  /// and as many times more as the divisor changes faster than the total.
  /// Large where the total nearly cancels; 0 in rows without a pair.
  std::vector<double> condition;
  /// With `trace`: one block [H, queryLength, keyLength] for each sequence.
  std::vector<std::vector<PairTrace>> pairs;
};

/// Evaluates `scheme` on a call.
///
/// A rotation by x freq radians is exact for the doubles x and freq (the
/// product is kept in two doubles and cos, sin reduce it exactly), so the law
/// of displacements holds to rounding at every position. Hidden pairs are not
/// evaluated; a row without a visible key gives 0 and -inf; a logit of -inf
/// has weight 0; a logit that is NaN or +inf makes its own row NaN. The delta
/// readout needs the queries to be keys of their own sequence.
///
/// Fails, with a text for the user, where the call lacks a tensor, a shape
/// does not fit or the IR holds an operation without a meaning here.
llvm::Expected<Output> evaluate(SchemeOp scheme, const Problem &problem);

/// Evaluates the clause `embed` at every key of the sequences: one block
/// [keyLength, width] for each of them.
llvm::Expected<std::vector<std::vector<double>>>
evaluateEmbedding(SchemeOp scheme, const Problem &problem);

} // namespace torsor

#endif
