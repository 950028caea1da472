// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with rotary positions: from a row of the table and a config to a
// scheme for each layer.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/DecoderReader.h"
#include "import/Text.h"

using namespace torsor;

DecoderReader::DecoderReader(const DecoderFamily &family, ModelBuilder &builder)
    : family(family), builder(builder), config(builder.config),
      messages(builder.messages) {}

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
  };
  for (auto [name, kind] : names)
    if (word == name)
      return kind;
  return std::nullopt;
}

void DecoderReader::readSizes() {
  heads = builder.readHeads();
  head = builder.readHead(heads);
  globalHead = config.readInt({"global_head_dim"}, 1, 1024).value_or(head);
  layers = builder.readLayers();
  types = builder.readLayerTypes(layers);
  if (!layers)
    layers = builder.defaultLayers();
  builder.model.longest =
      config.readInt({"max_position_embeddings", "n_positions", "seq_length"})
          .value_or(0);
}

void DecoderReader::readKinds() {
  readWindows();
  openLayers = layers == 0;
  if (openLayers)
    layers = 1;
  for (int64_t n = 0; n < layers; ++n) {
    LayerKind kind = kindOfLayer(n);
    if (!types.empty()) {
      std::optional<LayerKind> named = parseKind(types[n]);
      if (!named)
        messages.error(fmt::format(
            "'layer_types' names '{}' for layer {}; known are full_attention, "
            "sliding_attention, chunked_attention, linear_attention",
            quoteJson(types[n]), n));
      else
        kind = *named;
    }
    kinds.push_back(kind);
  }
  if (window == 0 &&
      std::count(kinds.begin(), kinds.end(), LayerKind::Windowed)) {
    if (config.has("use_sliding_window"))
      messages.error(fmt::format("{} contradicts 'layer_types', which names "
                                 "sliding layers; change one",
                                 config.quote("use_sliding_window")));
    else if (!config.has("sliding_window"))
      config.reportMissing("sliding_window",
                           "some layers have a window, but how wide is it?");
  }
  readPlain();
}

/// The kind of a layer that no list names.
LayerKind DecoderReader::kindOfLayer(int64_t n) const {
  if (window == 0)
    return LayerKind::Full;
  switch (family.windows) {
  case WindowRule::None:
  case WindowRule::Types:
    return LayerKind::Full;
  case WindowRule::All:
    return LayerKind::Windowed;
  case WindowRule::Qwen:
    return n >= firstWindowed ? LayerKind::Windowed : LayerKind::Full;
  case WindowRule::Period:
    return (n + 1) % period == 0 ? LayerKind::Full : LayerKind::Windowed;
  }
  return LayerKind::Full;
}

void DecoderReader::readWindows() {
  if (family.windows == WindowRule::None)
    return;
  auto given = config.readInt({"sliding_window", "sliding_window_size"});
  bool mentioned = config.mentions("sliding_window") ||
                   config.mentions("sliding_window_size");
  window = given ? *given : mentioned ? 0 : family.window;
  if (!mentioned && family.window)
    builder.takeDefault("sliding_window", family.window);
  period = family.period;
  if (family.windows == WindowRule::Qwen) {
    bool used = config.readFlag({"use_sliding_window"}).value_or(false);
    firstWindowed =
        config.readInt({"max_window_layers"}, 0, 1 << 20).value_or(28);
    if (!used)
      window = 0;
    else if (!given)
      messages.error("'use_sliding_window' = true, but 'sliding_window' does "
                     "not say how wide it is; give it");
    if (given && !used)
      messages.note(fmt::format("{} is not used: 'use_sliding_window' is not "
                                "true",
                                config.quote("sliding_window")));
    else if (used && types.empty())
      messages.note(fmt::format("layers from {} on have the window "
                                "(max_window_layers), as the library reads it",
                                firstWindowed));
  }
  if (family.windows == WindowRule::Period)
    readPeriod();
}

void DecoderReader::readPeriod() {
  // Either a number, or letters such as LLLG.
  for (std::string_view key :
       {"sliding_window_pattern", "_sliding_window_pattern"}) {
    const Json *pattern = config.find(key);
    if (!pattern)
      continue;
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
}

void DecoderReader::readPlain() {
  plain.assign(kinds.size(), family.plain == PlainRule::All);
  if (family.plain == PlainRule::Full) {
    // Where nothing has a window, everything turns.
    for (size_t n = 0; window > 0 && n < kinds.size(); ++n)
      plain[n] = kinds[n] == LayerKind::Full;
    return;
  }
  if (family.plain != PlainRule::List)
    return;
  auto list = config.readInts({"no_rope_layers"});
  int64_t interval =
      config.readInt({"no_rope_layer_interval"}, 1, 4096).value_or(4);
  if (list && !list->empty() && list->size() != kinds.size())
    messages.error(fmt::format("'no_rope_layers' has {} entries, but there are "
                               "{} layers; it needs one for each",
                               list->size(), kinds.size()));
  bool given = list && list->size() == kinds.size();
  for (size_t n = 0; n < kinds.size(); ++n)
    plain[n] =
        given ? (*list)[n] == 0 : (static_cast<int64_t>(n) + 1) % interval == 0;
  messages.note(given ? "in 'no_rope_layers', 1 means that the layer turns and "
                        "0 that it does not, whatever its name says"
                      : fmt::format("every layer but each {}th turns "
                                    "(no_rope_layer_interval)",
                                    interval));
}

/// The names by which the config knows this kind of layer.
static const char *nameOf(LayerKind kind) {
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

void DecoderReader::setRotation(ImportedScheme &scheme, size_t layer) {
  LayerKind kind = kinds[layer];
  bool windowed = kind == LayerKind::Windowed;
  RopeRequest request;
  request.layerType = nameOf(kind);
  request.lanes = scheme.head;
  request.layout = family.layout;
  request.base = family.base;
  request.fraction = family.fraction;
  request.gain = builder.options.gain;
  if (family.rescaleFull && windowed && !nestedBlocks())
    request.rescaled = false;
  if (windowed && family.localBase > 0 && !nestedBlocks()) {
    request.fixedBase = config.readReal(
        {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"}, 1,
        true);
    request.fixedOrigin =
        fmt::format("base of windowed layers {}",
                    writeReal(request.fixedBase.value_or(family.localBase)));
    if (!request.fixedBase)
      request.fixedBase = family.localBase;
  }
  adjustRequest(request, layer);
  scheme.rotation = builder.rope.resolve(request);
  if (!scheme.rotation)
    return;
  int64_t lanes = scheme.rotation->rule == RopeRule::Proportional
                      ? scheme.head
                      : scheme.rotation->width;
  scheme.after = scheme.head - lanes;
}

bool DecoderReader::nestedBlocks() const {
  for (const char *name : {"rope_parameters", "rope_scaling"})
    if (config.has(name) && config.getObject()[name].is_object())
      for (const Json &entry : config.getObject()[name])
        if (entry.is_object())
          return true;
  return false;
}

void DecoderReader::setScale(ImportedScheme &scheme) {
  switch (family.scale) {
  case ScaleRule::Head:
    return;
  case ScaleRule::One:
    builder.setScale(scheme, 1, "1", "this family does not scale");
    return;
  case ScaleRule::QueryPre: {
    double scalar =
        config.readReal({"query_pre_attn_scalar"}, 0, true).value_or(256);
    if (scalar != static_cast<double>(scheme.head))
      builder.setScale(
          scheme, 1 / std::sqrt(scalar),
          fmt::format("1 / sqrt({})", writeReal(scalar)),
          fmt::format("query_pre_attn_scalar {}", writeReal(scalar)));
    return;
  }
  case ScaleRule::Multiplier: {
    auto factor = config.readReal({"attention_multiplier"}, 0, true);
    if (!factor && !config.has("attention_multiplier"))
      config.reportMissing("attention_multiplier",
                           "it is this family's scale of logits");
    builder.setScale(scheme, factor.value_or(1), writeReal(factor.value_or(1)),
                     "attention_multiplier");
    return;
  }
  }
}

void DecoderReader::setMask(ImportedScheme &scheme, LayerKind kind) {
  if (kind == LayerKind::Windowed && window > 0)
    builder.setWindow(scheme, window, "sliding_window");
  if (kind == LayerKind::Chunked && !is("llama4_text")) {
    auto size = config.readInt({"attention_chunk_size"});
    if (!size && !config.has("attention_chunk_size"))
      config.reportMissing("attention_chunk_size",
                           "some layers are chunked, but how wide is a chunk?");
    scheme.mask = MaskKind::Chunk;
    scheme.chunk = size.value_or(1);
  }
  bool both = config.readFlag({"use_bidirectional_attention"}).value_or(false);
  if (!both)
    return;
  scheme.causal = false;
  if (scheme.mask == MaskKind::Window) {
    scheme.left = scheme.right = window / 2;
    scheme.maskOrigin = fmt::format("sliding_window {} both ways: half of it "
                                    "to each side",
                                    window);
  } else {
    scheme.mask = MaskKind::All;
  }
}

ImportedScheme DecoderReader::makeScheme(size_t layer) {
  LayerKind kind = kinds[layer];
  ImportedScheme scheme =
      builder.makeScheme(kind == LayerKind::Full ? globalHead : head);
  scheme.kind = nameOf(kind);
  bool several = std::count(kinds.begin(), kinds.end(), kind) <
                 static_cast<int64_t>(kinds.size());
  bool mixed = false;
  for (size_t n = 0; n < kinds.size(); ++n)
    mixed |= kinds[n] == kind && plain[n] != plain[layer];
  scheme.name = mixed     ? plain[layer] ? "plain" : "turned"
                : several ? kind == LayerKind::Full ? "full" : "local"
                          : "self_attention";
  if (plain[layer])
    scheme.docs.push_back("No position in q and k: the mask gives the order.");
  else
    setRotation(scheme, layer);
  setScale(scheme);
  double cap = config.mentions("attn_logit_softcapping") ? 0 : family.softcap;
  if (auto given = config.readReal({"attn_logit_softcapping"}, 0, true))
    cap = *given;
  if (cap > 0)
    scheme.softcap = cap;
  setMask(scheme, kind);
  if (family.sinks == SinkRule::All ||
      (family.sinks == SinkRule::Windowed && hasSinks(kind)))
    builder.setSinks(scheme);
  adjustScheme(scheme, layer);
  return scheme;
}

void DecoderReader::run() {
  readSizes();
  prepare();
  readKinds();
  if (messages.hasErrors()) {
    builder.stopped = true;
    return;
  }
  std::vector<std::vector<size_t>> stack;
  for (size_t n = 0; n < kinds.size(); ++n) {
    if (kinds[n] == LayerKind::None)
      continue; // no attention
    size_t index = builder.add(kinds[n] == LayerKind::Linear ? makeLinear()
                                                             : makeScheme(n));
    stack.push_back({index});
  }
  if (stack.size() != kinds.size())
    messages.note("layers without attention are not in the stack: its layers "
                  "are the attention layers, counted by themselves");
  if (stack.empty()) {
    messages.error("no layer of this config has attention");
    return;
  }
  builder.addStack(builder.stackName(), std::move(stack), openLayers);
  finish();
}

bool torsor::readRotaryDecoder(const std::string &type, ModelBuilder &builder) {
  for (const DecoderFamily &family : getDecoderFamilies())
    if (family.type == type) {
      DecoderReader(family, builder).run();
      return true;
    }
  return false;
}

std::vector<std::string> torsor::listRotaryDecoders() {
  std::vector<std::string> names;
  for (const DecoderFamily &family : getDecoderFamilies())
    names.emplace_back(family.type);
  return names;
}
