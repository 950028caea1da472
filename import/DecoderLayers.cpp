// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with rotary positions: which layers have a window, which keep a
// state, and which do not turn.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/DecoderReader.h"

using namespace torsor;

/// What a layer is, by its name in a config.
static std::optional<LayerKind> parseKind(const std::string &word) {
  static const std::pair<std::string_view, LayerKind> names[] = {
      {"full_attention", LayerKind::Full},
      {"attention", LayerKind::Full},
      {"global", LayerKind::Full},
      {"global_attention", LayerKind::Full},
      {"sliding_attention", LayerKind::Windowed},
      {"sliding", LayerKind::Windowed},
      {"local", LayerKind::Windowed},
      {"local_attention", LayerKind::Windowed},
      {"chunked_attention", LayerKind::Chunked},
      {"linear_attention", LayerKind::Linear},
      {"mamba", LayerKind::None},
      {"conv", LayerKind::None},
      {"moe", LayerKind::None},
      {"mlp", LayerKind::None},
  };
  for (auto [name, kind] : names)
    if (word == name)
      return kind;
  return std::nullopt;
}

const char *torsor::nameOf(LayerKind kind) {
  switch (kind) {
  case LayerKind::Windowed:
    return "sliding_attention";
  case LayerKind::Chunked:
    return "chunked_attention";
  case LayerKind::Linear:
    return "linear_attention";
  default:
    return "full_attention";
  }
}

bool DecoderReader::hasKind(LayerKind kind) const {
  switch (kind) {
  case LayerKind::Full:
    return true;
  case LayerKind::Windowed:
    return family.windows != WindowRule::None && !family.states;
  case LayerKind::Chunked:
    return is("llama4_text");
  case LayerKind::Linear:
    return family.states;
  case LayerKind::None:
    return family.gaps;
  }
  return false;
}

LayerKind DecoderReader::readKind(int64_t layer) {
  std::optional<LayerKind> named = parseKind(types[layer]);
  // A state-space layer, which is no attention, under its newer name.
  if (named == LayerKind::Linear && family.gaps)
    named = LayerKind::None;
  if (!named || !hasKind(*named)) {
    std::vector<std::string> known;
    for (LayerKind kind : {LayerKind::Full, LayerKind::Windowed,
                           LayerKind::Chunked, LayerKind::Linear})
      if (hasKind(kind))
        known.push_back(nameOf(kind));
    messages.error(fmt::format(
        "'{}' names {} for layer {}, but layers of the family '{}' are {}",
        typesKey, quoteJson(types[layer]), layer, family.type,
        fmt::join(known, ", ")));
    return LayerKind::Full;
  }
  // A window of all layers lies over those that the list calls full, too.
  if (named == LayerKind::Full && family.windows == WindowRule::All &&
      family.states && window > 0)
    return LayerKind::Windowed;
  return *named;
}

void DecoderReader::readKinds() {
  readWindows();
  openLayers = layers == 0;
  if (openLayers)
    layers = 1;
  if (family.plain != PlainRule::Full)
    readPlain();
  for (int64_t n = 0; n < layers; ++n)
    kinds.push_back(types.empty() ? kindOfLayer(n) : readKind(n));
  if (is("gemma4_text") && !openLayers && kinds.back() == LayerKind::Windowed) {
    messages.warning("the last layer is named sliding; it sees all keys, as "
                     "the library makes the last layer of this family do");
    kinds.back() = LayerKind::Full;
  }
  if (std::count(kinds.begin(), kinds.end(), LayerKind::Windowed))
    checkWindow();
  if (family.plain == PlainRule::Full) {
    plain.assign(kinds.size(), false);
    // Where nothing has a window, everything turns.
    for (size_t n = 0; window > 0 && n < kinds.size(); ++n)
      plain[n] = kinds[n] == LayerKind::Full;
  }
}

/// Some layers have a window: how wide is it, and who says so?
void DecoderReader::checkWindow() {
  if (window > 0) {
    if (!config.mentions("sliding_window") &&
        !config.mentions("sliding_window_size"))
      builder.takeDefault("sliding_window", window);
    return;
  }
  if (family.flagged && !config.has("use_sliding_window"))
    config.reportMissing("use_sliding_window",
                         fmt::format("'{}' names sliding layers, but without "
                                     "it no layer of this family has a window",
                                     typesKey));
  else if (family.flagged)
    messages.error(fmt::format("{} contradicts '{}', which names sliding "
                               "layers; change one",
                               config.quote("use_sliding_window"), typesKey));
  else if (!config.has("sliding_window"))
    config.reportMissing("sliding_window",
                         "some layers have a window, but how wide is it?");
}

/// The kind of a layer that no list names.
LayerKind DecoderReader::kindOfLayer(int64_t n) const {
  if (window == 0)
    return LayerKind::Full;
  bool windowed = false;
  switch (family.windows) {
  case WindowRule::None:
  case WindowRule::Types:
    break;
  case WindowRule::All:
    windowed = true;
    break;
  case WindowRule::From:
    windowed = n >= bound;
    break;
  case WindowRule::EvenBelow:
    windowed = n % 2 == 0 && n < bound;
    break;
  case WindowRule::Plain:
    windowed = plain[n];
    break;
  case WindowRule::Period:
    windowed = (n + 1) % period != 0 && !(family.firstFull && n == 0);
    break;
  }
  return windowed ? LayerKind::Windowed : LayerKind::Full;
}

void DecoderReader::readWindows() {
  if (family.windows == WindowRule::None)
    return;
  if (family.flagged && !readFlag()) {
    auto given = config.readReal({"sliding_window"}, 0);
    config.skip({"max_window_layers"});
    if (given && *given > 0)
      messages.note(fmt::format("{} is not used: 'use_sliding_window' is not "
                                "true",
                                config.quote("sliding_window")));
    return;
  }
  std::optional<int64_t> given;
  if (is("mimo_v2_flash"))
    given = readMimoWindow();
  else if (config.has("sliding_window")) // the other name only repeats it
    given = config.readInt({"sliding_window", "sliding_window_size"});
  else
    config.skip({"sliding_window"});
  window = given                               ? *given
           : config.mentions("sliding_window") ? 0
                                               : family.window;
  if (family.flagged && !given && window == 0 &&
      !config.wasReported("sliding_window"))
    config.reportMissing("sliding_window", "'use_sliding_window' is true, but "
                                           "nothing says how wide it is");
  if (family.windows == WindowRule::From ||
      family.windows == WindowRule::EvenBelow)
    bound = config.readInt({"max_window_layers"}, 0, 1 << 20)
                .value_or(family.bound);
  period = family.period;
  if (family.windows == WindowRule::Period)
    readPeriod();
  if (family.flagged && types.empty())
    noteWindows();
}

/// Is the window of a family with `use_sliding_window` on?
bool DecoderReader::readFlag() {
  auto flag = config.readFlag({"use_sliding_window"});
  // SmolLM3 asks for it only where no list names the layers.
  return flag.value_or(family.windows == WindowRule::Plain && !types.empty() &&
                       config.has("sliding_window"));
}

/// Which layers the flag is for differs between families.
void DecoderReader::noteWindows() {
  std::string which =
      family.windows == WindowRule::From
          ? fmt::format("layers from {} on have the window (max_window_layers)",
                        bound)
      : family.windows == WindowRule::EvenBelow
          ? fmt::format("of the layers below {} (max_window_layers), those of "
                        "even number have the window",
                        bound)
      : family.windows == WindowRule::Plain
          ? std::string("layers that do not turn have the window")
          : std::string("all layers have the window");
  messages.note(which + ", as the library reads it");
}

void DecoderReader::readPeriod() {
  // A list counts before the pattern it was made from; and some families have
  // a pattern of their own, which the key may only repeat.
  for (std::string_view key :
       {"sliding_window_pattern", "_sliding_window_pattern"}) {
    bool read = family.patterned && key[0] != '_';
    if (!read && config.has(key) &&
        (config.getObject()[std::string(key)] == family.period ||
         (family.patterned && !types.empty())))
      config.passOver({key});
  }
  if (!family.patterned)
    return;
  const char *const key = "sliding_window_pattern";
  const Json *pattern = config.find(key);
  if (!pattern)
    return;
  // Either a number, or letters such as LLLG.
  std::optional<int64_t> number = asInteger(*pattern);
  if (pattern->is_string()) {
    std::string letters = pattern->get<std::string>();
    size_t last = letters.find('G');
    if (last + 1 == letters.size() && letters.size() > 1)
      number = static_cast<int64_t>(letters.size());
  }
  if (!number || *number < 1 || *number > 4096)
    messages.error(fmt::format("{} must be the number of layers of which one "
                               "is full, from 1 to 4096, or letters as LLLG",
                               config.quote(key)));
  else
    period = *number;
}

/// Which layers do not turn, where windows have no part in it.
void DecoderReader::readPlain() {
  auto count = static_cast<size_t>(layers);
  plain.assign(count, family.plain == PlainRule::All);
  if (family.plain != PlainRule::List)
    return;
  auto list = config.readInts({"no_rope_layers"});
  int64_t interval =
      config.readInt({"no_rope_layer_interval"}, 1, 4096).value_or(4);
  if (list && !list->empty() && list->size() != count)
    messages.error(fmt::format("'no_rope_layers' has {} entries, but there are "
                               "{} layers; it needs one for each",
                               list->size(), count));
  bool given = list && list->size() == count;
  for (size_t n = 0; n < count; ++n)
    plain[n] =
        given ? (*list)[n] == 0 : (static_cast<int64_t>(n) + 1) % interval == 0;
  messages.note(given ? "in 'no_rope_layers', 1 means that the layer turns and "
                        "0 that it does not, whatever its name says"
                      : fmt::format("every layer but each {}th turns "
                                    "(no_rope_layer_interval)",
                                    interval));
}
