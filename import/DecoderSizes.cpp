// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with rotary positions: widths of heads, number of layers, and keys
// that only repeat what the family does.
#include <charconv>
#include <fmt/format.h>

#include "import/DecoderReader.h"
#include "import/Unread.h"

using namespace torsor;

void DecoderReader::readSizes() {
  heads = builder.readHeads();
  head = globalHead = windowedHead = builder.readHead(heads);
  if (is("gemma4_text") && !config.has("per_layer_config"))
    globalHead = config.readInt({"global_head_dim"}, 1, 1024).value_or(512);
  if (is("mimo_v2_flash"))
    windowedHead = config.readInt({"swa_head_dim"}, 1, 1024).value_or(head);
  layers = builder.readLayers();
  if (family.typed) {
    if (family.gaps && !config.has(typesKey))
      typesKey = "layers_block_type";
    // Step 3.5 lists the layers that predict further tokens, too.
    if (is("step3p5"))
      further = config.readInt({"num_nextn_predict_layers"}, 0, 64).value_or(0);
    types = builder.readLayerTypes(typesKey, layers, further);
  }
  if (!layers)
    layers = builder.defaultLayers();
  builder.model.longest =
      config.readInt({"max_position_embeddings", "n_positions", "seq_length"})
          .value_or(0);
  if (is("gemma4_text") || is("step3p5"))
    readLayerConfigs();
  if (is("step3p5"))
    readOtherSetting();
  passRepeats();
}

/// `per_layer_config`: what single layers have in place of the keys outside.
void DecoderReader::readLayerConfigs() {
  const Json *entries = config.find("per_layer_config");
  if (!entries)
    return;
  if (!entries->is_object())
    return messages.error(
        fmt::format("{} must be an object with one for each layer that differs",
                    config.quote("per_layer_config")));
  for (const auto &[key, value] : entries->items()) {
    int64_t layer = -1;
    auto end = key.data() + key.size();
    bool number = std::from_chars(key.data(), end, layer).ptr == end;
    std::string path = config.getPath("per_layer_config." + key);
    if (!number || layer < 0 || (layers && layer >= layers) ||
        !value.is_object()) {
      messages.error(fmt::format(
          "'{}' = {}: it must be an object, and its key one of the {} layers",
          path, quoteJson(value), layers));
      continue;
    }
    Reader inner(value, path, messages);
    if (auto width = inner.readInt({"head_dim"}, 1, 1024))
      headOfLayer[layer] = *width;
    inner.skip({"num_attention_heads", "num_key_value_heads"});
    checkUnread(inner, builder.options, builder.model);
  }
}

/// The older form of Step 3.5: numbers of heads of windowed layers.
void DecoderReader::readOtherSetting() {
  config.skip({"num_sliding_attention_heads"});
  const Json *entry = config.find("attention_other_setting");
  if (!entry || !entry->is_object())
    return;
  Reader inner(*entry, config.getPath("attention_other_setting"), messages);
  for (const char *key : {"head_dim", "true_head_dim"})
    if (auto width = inner.readInt({key}, 1, 1024); width && *width != head)
      messages.error(fmt::format(
          "{} and the head width outside, {}, disagree: the family has one "
          "width for all layers",
          inner.quote(key), head));
  inner.passOver({"attention_type"});
  checkUnread(inner, builder.options, builder.model);
}

int64_t DecoderReader::headOf(size_t layer) {
  if (auto at = headOfLayer.find(static_cast<int64_t>(layer));
      at != headOfLayer.end())
    return at->second;
  if (kinds[layer] == LayerKind::Windowed)
    return windowedHead;
  if (kinds[layer] != LayerKind::Full)
    return head;
  if (is("gemma4_text") && !config.has("per_layer_config"))
    builder.takeDefault("global_head_dim", globalHead);
  return globalHead;
}

/// Keys that published configs have, and that say what is so anyway: they are
/// passed over. Where they say otherwise, they stay unread, an error.
void DecoderReader::passRepeats() {
  auto is = [&](std::string_view key, const auto &value) {
    return config.has(key) && config.getObject()[std::string(key)] == value;
  };
  if (is("attention_head_dim", head))
    config.passOver({"attention_head_dim"});
  if (family.type == "minimax_m2") {
    auto list = config.has("attn_type_list")
                    ? config.getObject()["attn_type_list"]
                    : Json();
    bool all = list.is_array();
    for (const Json &entry : list)
      all &= entry == 1;
    if (all)
      config.passOver({"attn_type_list"});
  }
  // Attention of this family does not turn, whatever is left from others.
  if (family.type == "nemotron_h")
    config.passOver({"rope_theta", "partial_rotary_factor"});
  if (family.type == "mimo_v2_flash")
    for (const char *key : {"sliding_window", "sliding_window_size"})
      if (config.has(key) &&
          is("attention_chunk_size", config.getObject()[key]))
        config.passOver({"attention_chunk_size"});
}
