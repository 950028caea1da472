// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with rotary positions: one row a family.
#ifndef TORSOR_IMPORT_DECODERTABLE_H
#define TORSOR_IMPORT_DECODERTABLE_H

#include <string_view>
#include <vector>

#include "import/Rope.h"

namespace torsor {

/// Which layers have a window where no list of layers says so.
enum class WindowRule {
  None,
  All,       ///< where `sliding_window` is given
  From,      ///< from layer max_window_layers on
  EvenBelow, ///< those of even number below max_window_layers
  Plain,     ///< those that do not turn
  Period,    ///< all but every n-th layer
  Types,     ///< none
};

/// Which layers do not turn.
enum class PlainRule {
  None,
  All,
  List, ///< no_rope_layers, where 1 means that the layer turns
  Full, ///< those without a window
};

enum class ScaleRule {
  Head,       ///< 1 / sqrt(head)
  QueryPre,   ///< query_pre_attn_scalar ^ -1/2
  Multiplier, ///< attention_multiplier
  One,
};

enum class SinkRule { None, All, Windowed };

struct DecoderFamily {
  std::string_view type;
  PairLayout layout = PairLayout::Split;
  /// Taken, with a warning, where the config has none.
  double base = 10'000;
  /// The part of a head that turns.
  double fraction = 1;
  /// What is read of the rotary part.
  RopeFamily rope = {};
  WindowRule windows = WindowRule::None;
  int64_t window = 0;
  /// Of Period: every so many layers one is full.
  int64_t period = 0;
  /// Of Period: `sliding_window_pattern` is read.
  bool patterned = false;
  /// Of Period: so is the first.
  bool firstFull = false;
  /// Of From and EvenBelow: `max_window_layers`.
  int64_t bound = 28;
  /// No window without `use_sliding_window`.
  bool flagged = false;
  /// `layer_types` is read.
  bool typed = false;
  /// Some layers keep a state, without softmax.
  bool states = false;
  /// Some layers have no attention.
  bool gaps = false;
  PlainRule plain = PlainRule::None;
  ScaleRule scale = ScaleRule::Head;
  /// `attn_logit_softcapping` is read; the cap where it is absent.
  bool capped = false;
  double softcap = 0;
  /// `use_bidirectional_attention` is read, true or false.
  bool twoSided = false;
  SinkRule sinks = SinkRule::None;
  /// Base of windowed layers and its key beside the blocks; 0: as the others.
  double localBase = 0;
  std::string_view localKey = {};
  /// A norm of q and k with weights stands before the rotation.
  bool normed = false;
  /// It stands behind the rotation.
  bool normedBehind = false;
};

const std::vector<DecoderFamily> &getDecoderFamilies();

} // namespace torsor

#endif // TORSOR_IMPORT_DECODERTABLE_H
