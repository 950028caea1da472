// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a config says about positions, resolved: rotations, schemes, layers.
#ifndef TORSOR_IMPORT_MODEL_H
#define TORSOR_IMPORT_MODEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torsor {

/// Where the two lanes of a pair lie.
enum class PairLayout { Split, Adjacent };

/// How the frequencies base ^ (-2 p / width) are rescaled.
enum class RopeRule {
  Default,
  Linear,
  Ntk,     ///< a larger base, fixed
  Dynamic, ///< a base that grows with the sequence
  Yarn,
  Llama3,
  LongRope,     ///< lists of divisors, up to the trained length and beyond it
  Proportional, ///< the highest frequencies of the whole head
};

/// A rotation of some lanes of a head.
struct Rotation {
  RopeRule rule = RopeRule::Default;
  PairLayout layout = PairLayout::Split;
  double base = 0;
  /// Lanes that turn; even. Of Proportional: the lanes of the whole head.
  int64_t width = 0;
  /// Of Proportional: pairs that turn.
  int64_t pairs = 0;
  double factor = 1, alpha = 1;
  /// Tokens of the original training; 0: the rule has none.
  int64_t trained = 0;
  double fast = 32, slow = 1, low = 1, high = 4;
  bool truncate = true;
  std::vector<double> shortFactor, longFactor;
  /// Factor on the rotated lanes of q and of k, and that of longer sequences
  /// under LongRope.
  double gain = 1, longGain = 1;
  /// The gain as an expression of the language.
  std::string gainText, longGainText;
  /// YaRN's mscale_all_dim, whose gain MLA puts into the scale; 0: absent.
  double allLanes = 0;
  /// Pairs of the time, row and column clocks; empty: one clock.
  std::vector<int64_t> sections;
  bool interleaved = false;
  /// Where the numbers come from.
  std::string origin;

  /// Llama 3's rule with equal bounds: a step in place of the ramp.
  bool stepped() const { return rule == RopeRule::Llama3 && low == high; }
  int64_t turningLanes() const {
    return rule == RopeRule::Proportional ? 2 * pairs : width;
  }
};

/// Frequencies of the pairs, radians per position, in lane order; where they
/// change with the length of the sequence, `beyond` asks for those of
/// sequences of `length` tokens.
std::vector<double> computeFrequencies(const Rotation &rotation,
                                       int64_t length = 0);
/// "time", "row" or "col".
const char *getAxis(const Rotation &rotation, int64_t pair);

/// A factor that grows with the query's position p:
/// 1 + rate ln(1 + floor((p + offset) / period)).
struct QueryGain {
  double rate = 0;
  int64_t period = 1, offset = 0;
};

enum class MaskKind { Causal, All, Window, Chunk };

/// One clause of a scheme with the comments that stand above it.
struct ClauseText {
  std::string word, text, comment;
};

/// One attention: its numbers, and its clauses besides head, value, action,
/// scale and mask, which follow from the numbers.
struct ImportedScheme {
  std::string name;
  /// Of a scheme with an argument: its formals, and what a stack passes.
  std::string formals, arguments;
  /// "full_attention", …, as configs call it.
  std::string kind = "full_attention";
  /// Lines of its documentation.
  std::vector<std::string> docs;

  int64_t head = 0, value = 0;
  /// The value is the first lanes of the key.
  bool valueInKey = false;
  std::optional<Rotation> rotation;
  /// Lanes at rest before and behind the rotated ones.
  int64_t before = 0, after = 0;
  /// Params of a norm's weights that stand behind the rotation.
  bool weightsBehind = false;

  double scale = 0;
  /// As an expression; "": 1 / sqrt(head), which needs no clause.
  std::string scaleText, scaleOrigin;
  std::optional<QueryGain> queryGain;
  std::optional<double> softcap;
  bool sinks = false;

  MaskKind mask = MaskKind::Causal;
  bool causal = true;
  int64_t window = 0;          ///< Keys with the query's own, of one side.
  int64_t left = 0, right = 0; ///< Of a window that looks both ways.
  int64_t chunk = 0;
  std::string maskOrigin;
  bool documents = false, images = false;

  /// Declarations and terms; in the order of clauses, before the action.
  std::vector<ClauseText> declarations, terms;
  /// In place of an action from the numbers.
  std::string actionText;
  /// "linear" or "delta"; "": softmax.
  std::string readout;
  /// What the bias is: "alibi", "t5", "relative"; "": none.
  std::string bias;
  std::string norm; ///< The clause's text.
};

/// What is added to the embeddings, once.
struct ImportedEmbedding {
  std::string name, kind; ///< "learned" or "sinusoidal"
  int64_t rows = 0, width = 0, offset = 0;
  std::vector<ClauseText> clauses;
  std::vector<std::string> docs;
};

struct ImportedStack {
  std::string name;
  /// Per layer, indices into the model's schemes; one for each attention.
  std::vector<std::vector<size_t>> layers;
  /// The number of layers is not in the config.
  bool open = false;
};

/// A whole config.
struct ImportedModel {
  std::string type, name;
  std::vector<ImportedScheme> schemes;
  std::vector<ImportedEmbedding> embeddings;
  std::vector<ImportedStack> stacks;
  /// Definitions that stand before the schemes.
  std::vector<std::string> definitions;
  /// Keys that are not positional, and were not read.
  std::vector<std::string> ignored;
  /// The config's largest position count; 0: it has none.
  int64_t longest = 0;
};

} // namespace torsor

#endif // TORSOR_IMPORT_MODEL_H
