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

void DecoderReader::setRotation(ImportedScheme &scheme, size_t layer) {
  LayerKind kind = kinds[layer];
  bool windowed = kind == LayerKind::Windowed, nested = builder.rope.isNested();
  RopeRequest request;
  request.layerType = nameOf(kind);
  request.lanes = scheme.head;
  request.layout = family.layout;
  request.base = family.base;
  request.fraction = family.fraction;
  // The older spelling rescales full layers alone.
  request.rescaled = !family.rope.nested || !windowed || nested;
  if (windowed && family.localBase > 0) {
    request.baseKey = family.localKey;
    request.base = family.localBase;
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

void DecoderReader::setScale(ImportedScheme &scheme) {
  switch (family.scale) {
  case ScaleRule::Head:
    return;
  case ScaleRule::One:
    builder.setScale(scheme, 1, "1", "this family does not scale");
    return;
  case ScaleRule::QueryPre: {
    double scalar = config.readReal({"query_pre_attn_scalar"}, 0, true)
                        .value_or(is("step3p5") ? scheme.head : 256);
    if (scalar != static_cast<double>(scheme.head))
      builder.setScale(
          scheme, 1 / std::sqrt(scalar),
          fmt::format("1 / sqrt({})", writeReal(scalar)),
          fmt::format("query_pre_attn_scalar {}", writeReal(scalar)));
    return;
  }
  case ScaleRule::Multiplier: {
    auto factor = config.readReal({"attention_multiplier"}, 0, true);
    builder.takeDefault("attention_multiplier", 1);
    builder.setScale(scheme, factor.value_or(1), writeReal(factor.value_or(1)),
                     "attention_multiplier");
    return;
  }
  }
}

void DecoderReader::setMask(ImportedScheme &scheme, LayerKind kind) {
  if (kind == LayerKind::Windowed && window > 0)
    builder.setWindow(scheme, window, "sliding_window");
  if (!seesBothWays(scheme, kind))
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
  ImportedScheme scheme = builder.makeScheme(headOf(layer));
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
  if (family.capped) {
    double cap = config.mentions("attn_logit_softcapping") ? 0 : family.softcap;
    if (auto given = config.readReal({"attn_logit_softcapping"}, 0, true))
      cap = *given;
    if (cap > 0)
      scheme.softcap = cap;
  }
  setMask(scheme, kind);
  if (family.sinks == SinkRule::All ||
      (family.sinks == SinkRule::Windowed && hasSinks(kind)))
    builder.setSinks(scheme);
  adjustScheme(scheme, layer);
  return scheme;
}

void DecoderReader::run() {
  builder.rope.begin(family.rope, family.type);
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
      continue; // it has no attention
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
