// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys of a config that nothing has read, and what they may have meant.
#include "import/Unread.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "import/RopeRules.h"

using namespace torsor;

/// A key with one of these in its name speaks of positions, unless it is one
/// of the names below.
static constexpr std::array<std::string_view, 30> positionalWords = {
    "rope",
    "rotary",
    "position",
    "alibi",
    "sliding",
    "window",
    "layer_types",
    "softcap",
    "sink",
    "mscale",
    "yarn",
    "ntk",
    "xpos",
    "relative_att",
    "attn_scale",
    "attention_scale",
    "attention_multiplier",
    "query_pre_attn",
    "temperature_tuning",
    "floor_scale",
    "attention_chunk",
    "head_dim",
    "swa_",
    "attention_type",
    "attn_type",
    "clamp_len",
    "scale_attn",
    "local_attention",
    "bidirectional",
    "use_nope"};
static constexpr std::array<std::string_view, 17> harmless = {
    "max_position_embeddings",
    "final_logit_softcapping",
    "mlp_layer_types",
    "position_embedding_size",
    "max_window_layers",
    "mamba_head_dim",
    "mamba_d_head",
    "sliding_window_size_mlp",
    "pooler_hidden_size",
    "sink_token_id",
    "ssm_head_dim",
    "position_ids",
    "original_max_position_embeddings",
    "vision_head_dim",
    "linear_attention_head_dim",
    "image_position_id",
    "num_position_embeddings_vision"};

static bool isPositional(std::string_view key) {
  if (std::find(harmless.begin(), harmless.end(), key) != harmless.end())
    return false;
  return std::any_of(positionalWords.begin(), positionalWords.end(),
                     [key](std::string_view word) {
                       return key.find(word) != std::string_view::npos;
                     });
}

/// Blocks of other parts of a model, whose positions are their own.
static constexpr std::array<std::string_view, 9> otherParts = {
    "vision", "visual", "audio",     "image", "video",
    "speech", "talker", "projector", "quant"};

static bool isOtherPart(std::string_view key) {
  return std::any_of(otherParts.begin(), otherParts.end(),
                     [key](std::string_view word) {
                       return key.find(word) != std::string_view::npos;
                     });
}

static bool isOff(const Json &value) {
  return value.is_null() || value == false;
}

static bool isIgnored(const ImportOptions &options, const std::string &key) {
  return std::find(options.ignore.begin(), options.ignore.end(), key) !=
         options.ignore.end();
}

static void reportUnread(const Reader &reader, const std::string &key,
                         const ImportedModel &model) {
  reader.getMessages().error(fmt::format(
      "{}: this key speaks of positions, but the family '{}' does not read "
      "it{}; remove it, or pass over it with --ignore {}",
      reader.quote(key), model.type, reader.suggest(key), key));
}

/// The positional keys inside a block that no one reads.
static void checkBlock(const Json &block, const std::string &path,
                       const ImportOptions &options, const Reader &config,
                       const ImportedModel &model) {
  Reader reader(block, path, config.getMessages());
  for (const auto &[key, value] : block.items()) {
    if (isIgnored(options, key) || isOff(value))
      continue;
    if (isPositional(key))
      reportUnread(reader, key, model);
    else if (value.is_object() && !isOtherPart(key))
      checkBlock(value, reader.getPath(key), options, config, model);
  }
}

void torsor::checkUnread(const Reader &config, const ImportOptions &options,
                         ImportedModel &model) {
  for (const auto &[key, value] : config.getObject().items()) {
    if (config.wasPassedOver(key))
      model.ignored.push_back(config.getPath(key));
    if (config.wasRead(key))
      continue;
    bool ignored = isIgnored(options, key);
    if (!ignored && !isOff(value) && isPositional(key)) {
      reportUnread(config, key, model);
      continue;
    }
    model.ignored.push_back(config.getPath(key));
    if (!ignored && value.is_object() && !isOtherPart(key))
      checkBlock(value, config.getPath(key), options, config, model);
  }
}

void torsor::checkCausal(Reader &config, const ImportOptions &options,
                         const ImportedModel &model) {
  bool causal =
      std::any_of(model.schemes.begin(), model.schemes.end(),
                  [](const ImportedScheme &scheme) { return scheme.causal; });
  if (!causal || isIgnored(options, "is_causal") || !config.has("is_causal") ||
      config.readFlag({"is_causal"}).value_or(true))
    return;
  config.getMessages().error(fmt::format(
      "{}: attention that sees both ways is not imported for the family '{}'; "
      "remove it, or pass over it with --ignore is_causal and change the masks",
      config.quote("is_causal"), model.type));
}

/// A rope block with its rule under one name and one spelling.
static Json normalize(Json value) {
  if (!value.is_object())
    return value;
  std::string rule =
      value.value("rope_type", value.value("type", Json())).dump();
  std::erase(rule, '"');
  if (const RopeRuleInfo *known = findRopeRule(rule))
    rule = known->name;
  value.erase("type");
  value["rope_type"] = rule;
  return value;
}

void torsor::checkOuter(const std::vector<OuterBlock> &outer,
                        const Reader &text, const ImportOptions &options,
                        ImportedModel &model) {
  for (const OuterBlock &block : outer) {
    Reader reader(*block.object, block.path, text.getMessages());
    for (const auto &[key, value] : block.object->items()) {
      std::string path = reader.getPath(key);
      if (key == "model_type" || (text.getPath() + ".").starts_with(path + "."))
        continue;
      if (isOff(value) || !isPositional(key) || isIgnored(options, key) ||
          isOtherPart(key)) {
        model.ignored.push_back(path);
        continue;
      }
      if (!text.has(key))
        text.getMessages().warning(fmt::format(
            "{} changes nothing: the text model is read from '{}', which does "
            "not have it",
            reader.quote(key), text.getPath()));
      else if (normalize(value) != normalize(text.getObject()[key]))
        text.getMessages().error(
            fmt::format("{} and {} disagree; remove the wrong one",
                        reader.quote(key), text.quote(key)));
    }
  }
}

static bool hasKey(const Json &value, const std::string &key) {
  if (!value.is_structured())
    return false;
  if (value.is_object() && value.contains(key))
    return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json &part) { return hasKey(part, key); });
}

void torsor::checkIgnored(const Reader &config, const Json &root,
                          const ImportOptions &options,
                          const ImportedModel &model) {
  for (const std::string &key : options.ignore)
    if (!hasKey(root, key))
      config.getMessages().warning(fmt::format(
          "--ignore {} passes over nothing: the config has no such key", key));
    else if (config.has(key) && config.wasRead(key))
      config.getMessages().warning(fmt::format(
          "--ignore {}: the family '{}' reads {}, so that it is not passed "
          "over; take it out of the config if it must not count",
          key, model.type, config.quote(key)));
}
