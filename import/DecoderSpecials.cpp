// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with rotary positions: what single families add.
#include <cmath>
#include <fmt/format.h>

#include "import/DecoderReader.h"
#include "import/Text.h"

using namespace torsor;

void DecoderReader::prepare() {
  if (auto kind = config.readWord({"position_embedding_type"});
      kind && *kind != "rope" && *kind != "rope_gptj" && *kind != "rotary")
    messages.error(fmt::format("{}: this family is read with rotary positions "
                               "alone; change it to \"rope\"",
                               config.quote("position_embedding_type")));
  if (is("llama4_text")) {
    auto given = config.readInt({"attention_chunk_size"});
    chunk = given ? *given : config.mentions("attention_chunk_size") ? 0 : 8192;
  }
  if (is("minimax") || is("minimax_m1") || is("minimax_text_01"))
    prepareMinimax();
  if (is("mimo_v2_flash"))
    prepareMimo();
  if (is("qwen3_next") || is("qwen3_5_text") || is("qwen3_5_moe_text")) {
    int64_t interval =
        config.readInt({"full_attention_interval"}, 1, 4096).value_or(4);
    for (int64_t n = 0; types.empty() && n < layers; ++n)
      types.resize(layers, "linear_attention");
    if (!config.has("layer_types"))
      for (int64_t n = 0; n < layers; ++n)
        types[n] = (n + 1) % interval ? "linear_attention" : "full_attention";
  }
  if (is("jamba")) {
    int64_t period = config.readInt({"attn_layer_period"}, 1, 4096).value_or(8);
    int64_t offset = config.readInt({"attn_layer_offset"}, 0, 4096).value_or(4);
    for (int64_t n = 0; types.empty() && n < layers; ++n)
      for (n = 0; n < layers; ++n)
        types.push_back(n % period == offset % period ? "attention" : "mamba");
  }
  if (is("nemotron_h"))
    if (auto pattern = config.readWord({"hybrid_override_pattern"})) {
      types.clear();
      for (char c : *pattern)
        types.push_back(c == '*' ? "attention" : "mamba");
      layers = static_cast<int64_t>(types.size());
    }
}

void DecoderReader::prepareMinimax() {
  auto list = config.readInts({"attn_type_list"});
  config.skip({"full_attention_interval"});
  if (!list || !types.empty()) {
    if (types.empty() && layers)
      for (int64_t n = 0; n < layers; ++n)
        types.push_back(is("minimax")
                            ? n % 2 ? "linear_attention" : "full_attention"
                        : (n + 1) % 8 ? "linear_attention"
                                      : "full_attention");
    return;
  }
  if (layers && list->size() != static_cast<size_t>(layers))
    messages.error(fmt::format("'attn_type_list' has {} entries, but there are "
                               "{} layers",
                               list->size(), layers));
  layers = static_cast<int64_t>(std::min<size_t>(list->size(), 4096));
  for (int64_t n = 0; n < layers; ++n)
    types.push_back((*list)[n] ? "full_attention" : "linear_attention");
}

void DecoderReader::prepareMimo() {
  auto list = config.readInts({"hybrid_layer_pattern"});
  if (!list || !types.empty())
    return;
  if (layers && list->size() != static_cast<size_t>(layers))
    messages.error(fmt::format("'hybrid_layer_pattern' has {} entries, but "
                               "there are {} layers",
                               list->size(), layers));
  layers = static_cast<int64_t>(std::min<size_t>(list->size(), 4096));
  for (int64_t n = 0; n < layers; ++n)
    types.push_back((*list)[n] ? "sliding_attention" : "full_attention");
}

/// The first of the two names counts keys with the query's own, the other
/// without it, and is the stronger.
std::optional<int64_t> DecoderReader::readMimoWindow() {
  auto whole = config.readInt({"sliding_window"});
  auto before = config.readInt({"sliding_window_size"}, 0);
  if (!before)
    return whole;
  if (whole && *whole != *before && *whole != *before + 1)
    messages.error(fmt::format(
        "{} and {} disagree: the second counts the keys before the query's "
        "own; remove the wrong one",
        config.quote("sliding_window"), config.quote("sliding_window_size")));
  messages.note(fmt::format("{} counts the keys before the query's own, as the "
                            "library reads it, so a window is of {}",
                            config.quote("sliding_window_size"), *before + 1));
  return *before + 1;
}

/// Does every query see keys on both sides? Sets whether pictures do, too.
bool DecoderReader::seesBothWays(ImportedScheme &scheme, LayerKind kind) {
  const char *const key = "use_bidirectional_attention";
  if (family.twoSided) {
    bool sees = config.readFlag({key}).value_or(false);
    if (sees && !is("gemma3_text"))
      messages.note(fmt::format(
          "{}: the library sees both ways only where it makes no mask (sdpa "
          "and "
          "flash attention without padding); its eager attention stays causal. "
          "For that, remove the key",
          config.quote(key)));
    return sees;
  }
  if (!is("gemma4_text") ||
      (config.has(key) && config.getObject()[key] == false))
    return false;
  auto word = config.readWord({key});
  if (word && *word != "all" && *word != "vision")
    messages.error(fmt::format("{} must be \"all\", \"vision\" or null",
                               config.quote(key)));
  // Pictures see themselves in windowed layers alone, and only if asked for.
  if (scheme.images && word != "vision")
    messages.error(fmt::format("--images: {}, so this model's pictures are "
                               "causal; leave it out",
                               config.quote(key)));
  scheme.images = scheme.images && kind == LayerKind::Windowed;
  if (word == "all" && kind == LayerKind::Windowed)
    messages.note("windows that see both ways have half of 'sliding_window' to "
                  "each side; eager and sdpa masks of the library have one "
                  "key more");
  return word == "all";
}

bool DecoderReader::hasSinks(LayerKind kind) {
  bool windowed =
      config.readFlag({"add_swa_attention_sink_bias"}).value_or(true);
  bool full = config.readFlag({"add_full_attention_sink_bias"}).value_or(false);
  return kind == LayerKind::Windowed ? windowed : full;
}

/// Step 3.5 lists bases and fractions, one entry a layer.
void DecoderReader::readLists(RopeRequest &request, size_t layer) {
  auto fits = [&](size_t entries) {
    return entries == kinds.size() ||
           entries == kinds.size() + static_cast<size_t>(further);
  };
  if (config.has("rope_theta") && config.getObject()["rope_theta"].is_array()) {
    auto list = config.readReals({"rope_theta"});
    if (list && fits(list->size()) && (*list)[layer] > 1) {
      request.fixedBase = (*list)[layer];
      request.fixedOrigin =
          fmt::format("rope_theta {} of a list", writeReal(*request.fixedBase));
    } else {
      request.fixedBase = 10'000; // what is wrong is said here
      if (list)
        messages.error(fmt::format("'rope_theta' is a list, so it needs {} "
                                   "entries above 1, one for each layer",
                                   kinds.size()));
    }
  }
  if (auto list = config.readReals({"partial_rotary_factors"})) {
    if (fits(list->size()))
      request.fixedFraction = (*list)[layer];
    else
      messages.error(fmt::format("'partial_rotary_factors' has {} entries, but "
                                 "there are {} layers",
                                 list->size(), kinds.size()));
  }
  if (auto only = config.readWords({"yarn_only_types"}))
    request.rescaled &=
        std::find(only->begin(), only->end(), request.layerType) != only->end();
}

/// MiMo's own code reads keys beside the blocks; the library does not.
void DecoderReader::warnOfDefaults(const RopeRequest &request) {
  auto differs = [&](std::string_view key, double usual) {
    if (!config.has(key) || config.getObject()[std::string(key)] == usual)
      return;
    messages.warning(fmt::format(
        "{} is taken, as the model's own code does; the library takes {}, "
        "unless a block of 'rope_parameters' says otherwise",
        config.quote(key), writeReal(usual)));
  };
  differs(request.baseKey.empty() ? "rope_theta" : request.baseKey,
          request.base);
  differs("partial_rotary_factor", family.fraction);
}

void DecoderReader::adjustRequest(RopeRequest &request, size_t layer) {
  if (is("minimax")) {
    // The library saves a fraction for this family and turns the whole head.
    request.fixedFraction = 1;
    messages.note("all lanes of full layers turn: the library does not read "
                  "'partial_rotary_factor' for this family; for the original "
                  "checkpoints, half of whose lanes turn, say --family "
                  "minimax_text_01");
  }
  if (is("chatglm")) {
    double ratio = config.readReal({"rope_ratio"}, 0, true).value_or(1);
    if (!config.readFlag({"original_rope"}).value_or(true))
      messages.error(fmt::format("{}: only the original form is known, which "
                                 "turns half of each head in pairs of "
                                 "neighbours",
                                 config.quote("original_rope")));
    request.fixedBase = 10'000 * ratio;
    request.fixedOrigin =
        fmt::format("10000 times rope_ratio {}", writeReal(ratio));
  }
  if (is("mimo_v2_flash") && !builder.rope.isNested())
    warnOfDefaults(request);
  // The library gives the key to full layers and forgets it for the others.
  if (is("olmo3") && !builder.rope.isNested() &&
      kinds[layer] == LayerKind::Windowed)
    if (auto base = config.readReal({"rope_theta"}, 1, true);
        base && *base != family.base)
      messages.error(fmt::format(
          "{}: for this family, the library gives it to full layers alone, and "
          "{} to windowed ones; write 'rope_parameters' with a block for each",
          config.quote("rope_theta"), writeReal(family.base)));
  if (is("step3p5"))
    readLists(request, layer);
}

void DecoderReader::setQueryGain(ImportedScheme &scheme, QueryGain gain,
                                 const std::string &origin) {
  scheme.queryGain = gain;
  scheme.scaleText =
      fmt::format("stepped({}, period = {}, offset = {}) / sqrt(D)",
                  writeReal(gain.rate), writeInt(gain.period), gain.offset);
  scheme.scaleOrigin = origin;
}

void DecoderReader::adjustLlama4(ImportedScheme &scheme, size_t layer) {
  bool normed = config.readFlag({"use_qk_norm"}).value_or(true);
  bool tuned = config.readFlag({"attn_temperature_tuning"}).value_or(true);
  double rate = config.readReal({"attn_scale"}, 0).value_or(0.1);
  int64_t period = config.readInt({"floor_scale"}).value_or(8192);
  double eps = config.readReal({"rms_norm_eps"}, 0).value_or(1e-5);
  scheme.name = plain[layer] ? "full" : "local";
  bool chunked =
      types.empty() ? !plain[layer] : kinds[layer] == LayerKind::Chunked;
  if (chunked) {
    scheme.kind = "chunked_attention";
    if (chunk > 0) {
      scheme.mask = MaskKind::Chunk;
      scheme.chunk = chunk;
      scheme.maskOrigin = fmt::format("attention_chunk_size {}", chunk);
    }
  }
  if (!plain[layer]) {
    if (normed) {
      scheme.norm = fmt::format("rms(eps = {})", writeReal(eps));
      scheme.docs.push_back("The norm (use_qk_norm) has no weight, so it may "
                            "stand before the rotation.");
    }
    return;
  }
  if (!tuned)
    return;
  setQueryGain(scheme, {rate, period, 1},
               "attn_temperature_tuning: attn_scale, floor_scale");
  messages.note("the query temperature of layers without rotation counts "
                "slots, pads included: where rows are padded on the left, give "
                "the slot numbers as 'pos' in those layers");
}

void DecoderReader::adjustScheme(ImportedScheme &scheme, size_t layer) {
  if (is("llama4_text"))
    adjustLlama4(scheme, layer);
  if (is("ministral3"))
    if (auto beta =
            builder.rope.readExtra("full_attention", "llama_4_scaling_beta");
        beta && *beta > 0) {
      auto trained = builder.rope.readTrained("full_attention");
      if (trained)
        setQueryGain(scheme, {*beta, *trained, 0},
                     "llama_4_scaling_beta; steps at the trained length");
      else if (!messages.hasErrors())
        config.reportMissing("original_max_position_embeddings",
                             "'llama_4_scaling_beta' steps at this length");
    }
  if (is("mimo_v2_flash")) {
    auto value = config.readInt({"v_head_dim"}, 1, 1024);
    auto local = config.readInt({"swa_v_head_dim"}, 1, 1024);
    if (local && kinds[layer] == LayerKind::Windowed)
      value = local;
    scheme.value = value.value_or(128);
    if (!value)
      builder.takeDefault("v_head_dim", 128);
  }
  if (family.normedBehind &&
      config.readFlag({"use_qk_norm", "qk_norm"}).value_or(true)) {
    double eps = config.readReal({"rms_norm_eps"}, 0).value_or(1e-5);
    scheme.declarations.push_back({"param",
                                   fmt::format("wq, wk: f32[{}]", scheme.head),
                                   "weights of the norm behind the rotation"});
    scheme.norm = fmt::format("rms(eps = {})", writeReal(eps));
    scheme.weightsBehind = true;
    scheme.docs.push_back("The norm stands behind the rotation: its weights "
                          "then break the relative law.");
  }
}

ImportedScheme DecoderReader::makeLightning() {
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.kind = "linear_attention";
  scheme.name = "lightning";
  scheme.formals = "layer_index: int";
  scheme.arguments = "layer";
  scheme.docs = {
      "Lightning attention: a decay of each head and layer, read out "
      "without softmax."};
  scheme.actionText = fmt::format(
      "decay({}, rate = 2 ^ (-8 * (h + 1) / H) * (1 - layer_index / ({} + "
      "1e-5) + 1e-5))",
      head, kinds.size() - 1);
  builder.setScale(scheme, 1, "1", "");
  scheme.readout = "linear";
  return scheme;
}

ImportedScheme DecoderReader::makeGatedDelta() {
  int64_t key = config.readInt({"linear_key_head_dim"}, 1, 1024).value_or(128);
  int64_t value =
      config.readInt({"linear_value_head_dim"}, 1, 1024).value_or(128);
  config.skip({"linear_num_key_heads", "linear_num_value_heads",
               "linear_conv_kernel_dim"});
  ImportedScheme scheme = builder.makeScheme(key);
  scheme.value = value;
  scheme.kind = "linear_attention";
  scheme.name = "gated_delta";
  scheme.docs = {
      "Gated delta rule: each token's gate fades the state, then the "
      "token corrects it. The short convolution stands before."};
  scheme.declarations = {{"param", "a_log, step_bias: f32[H]", ""},
                         {"input", "step: f32[H] per token", ""},
                         {"input", "beta: f32[H] per token in 0 .. 1", ""},
                         {"clock",
                          "tau = sum l <= j: exp(a_log[h]) * softplus(step[l, "
                          "h] + step_bias[h])",
                          ""}};
  scheme.norm = "l2";
  scheme.actionText = fmt::format("decay({}, rate = 1) at tau", key);
  scheme.readout = "delta(beta = beta[j, h])";
  return scheme;
}

ImportedScheme DecoderReader::makeLinear() {
  return family.type.substr(0, 7) == "minimax" ? makeLightning()
                                               : makeGatedDelta();
}

void DecoderReader::finish() {
  if (auto factor = config.readReal({"attention_value_scale"}, 0, true);
      factor && *factor != 1)
    messages.note(fmt::format(
        "{}: values are multiplied by a constant, which no scheme writes; "
        "multiply v (or the output) by {} in the caller",
        config.quote("attention_value_scale"), writeReal(*factor)));
  if (config.readFlag({"attention_k_eq_v"}).value_or(false))
    messages.note("'attention_k_eq_v': in full layers the value is the key's "
                  "projection before its norm; give it as v");
  if (family.normed)
    messages.note("q and k are normed, with weights, before they turn: give "
                  "them normed, or write 'norm rms(q = …, k = …)'");
  else if (config.readFlag({"qk_layernorm"}).value_or(false) ||
           (is("cohere") && config.readFlag({"use_qk_norm"}).value_or(false)))
    messages.note("q and k pass a layer norm with weights before they turn: "
                  "give them normed");
  if (is("phimoe") && builder.model.schemes.front().rotation &&
      builder.model.schemes.front().rotation->rule == RopeRule::LongRope)
    messages.note("beyond the trained length the long list turns, as it was "
                  "published; transformers 5 switches the gain alone here");
  if (auto clip = config.readReal({"clip_qkv"}, 0, true))
    messages.note(fmt::format("{}: q, k and v are clipped before they turn: "
                              "give them clipped",
                              config.quote("clip_qkv")));
  if (builder.options.images || !config.has("vision_config"))
    return;
  messages.note("'vision_config' is not read: the tower has positions of its "
                "own; where picture tokens see each other, import with "
                "--images");
}
