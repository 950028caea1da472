// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a config's rotary part: which there are, and which of their
// keys nothing has read.
#include <algorithm>
#include <fmt/format.h>

#include "import/Rope.h"
#include "import/RopeRules.h"
#include "import/Text.h"

using namespace torsor;

void RopeReader::begin(const RopeFamily &rules, std::string_view name) {
  family = rules;
  type = name;
  if (family.base == BaseKeys::None || !family.blocks)
    return;
  const Json &object = config.getObject();
  bool fresh = config.has("rope_parameters"),
       old = family.old && config.has("rope_scaling");
  if (fresh && old && object["rope_parameters"] != object["rope_scaling"]) {
    config.getMessages().error(fmt::format(
        "{} and {} disagree: they are the new and the old spelling of one "
        "block; remove one",
        config.quote("rope_parameters"), config.quote("rope_scaling")));
    broken = true;
  }
  if (fresh)
    return open("rope_parameters", object["rope_parameters"]);
  if (old)
    return open("rope_scaling", object["rope_scaling"]);
  if (family.block.empty())
    return;
  ownBlock = Json::parse(family.block, nullptr, false);
  config.getMessages().warning(
      fmt::format("the config has no 'rope_parameters'; this family's own "
                  "default, {}, is taken",
                  family.block));
  open("rope_parameters", ownBlock);
}

/// A family has one block for all layers, or one for each layer type.
void RopeReader::checkNesting(std::string_view name, const Json &block) {
  std::string text;
  if (nested && !family.nested)
    text = "reads one block for all layers; write the values themselves";
  else if (nested && name == "rope_scaling")
    text = "reads blocks of layer types from 'rope_parameters'; in the older "
           "'rope_scaling', it looks for one block, of full layers";
  else if (!nested && family.nested && name == "rope_parameters" &&
           !block.empty())
    text = "has a block for each layer type, and reads nothing beside them; "
           "write {\"full_attention\": {…}, \"sliding_attention\": {…}}";
  else
    return;
  config.getMessages().error(fmt::format("'{}' = {}: the family '{}' {}",
                                         config.getPath(name), quoteJson(block),
                                         type, text));
  broken = true;
}

void RopeReader::open(std::string_view name, const Json &block) {
  ImportMessages &messages = config.getMessages();
  if (!block.is_object()) {
    messages.error(fmt::format("{} must be an object, as {{\"rope_type\": "
                               "\"default\", \"rope_theta\": 10000.0}}",
                               config.quote(name)));
    broken = true;
    return;
  }
  size_t objects = 0, values = 0;
  for (const Json &entry : block) {
    objects += entry.is_object();
    values += !entry.is_null();
  }
  nested = objects > 0;
  checkNesting(name, block);
  if (!nested) {
    blocks.try_emplace("", block, config.getPath(name), messages);
    return;
  }
  if (objects != values) {
    messages.error(fmt::format(
        "{} mixes blocks of layer types with plain values; write one or the "
        "other",
        config.quote(name)));
    broken = true;
  }
  for (const auto &entry : block.items())
    if (entry.value().is_object())
      blocks.try_emplace(entry.key(), entry.value(),
                         config.getPath(std::string(name) + "." + entry.key()),
                         messages);
}

/// A block for layers that there are not: a slip, or left from elsewhere.
void RopeReader::reportUnused(const std::string &layerType,
                              const Reader &block) {
  ImportMessages &messages = config.getMessages();
  std::string text =
      fmt::format("'{}' = {}: no layer is of the type '{}'", block.getPath(),
                  quoteJson(block.getObject()), layerType);
  bool known =
      layerType == "full_attention" || layerType == "sliding_attention" ||
      layerType == "chunked_attention" || layerType == "linear_attention";
  if (known)
    messages.warning(text + "; the block changes nothing");
  else
    messages.error(text + "; remove the block, or name a type of layer");
}

/// Keys of blocks that single families read, whatever the rule is.
static bool isFamilyKey(std::string_view key) {
  for (std::string_view name :
       {"partial_rotary_factor", "rotary_pct", "rotary_dim", "mrope_section",
        "mrope_interleaved", "llama_4_scaling_beta", "alpha"})
    if (key == name)
      return true;
  return false;
}

void RopeReader::reportUnread(const Reader &block, const std::string &key,
                              const RopeRuleInfo *rule) {
  ImportMessages &messages = config.getMessages();
  std::string near = rule ? suggestName(key, listKeys(*rule)) : "";
  if (isFamilyKey(key))
    messages.error(fmt::format("{}: the family '{}' does not read this key; "
                               "remove it, or name it with --ignore",
                               block.quote(key), type));
  else if (!isRopeKey(key) && looksLikeRopeKey(key))
    messages.error(fmt::format(
        "{}: no rule reads this key{}, and it looks as if it mattered; remove "
        "it, or name it with --ignore",
        block.quote(key), near));
  else
    messages.warning(
        fmt::format("{} is not read by the rule '{}'{}: it changes nothing",
                    block.quote(key), rule ? rule->name : "default", near));
}

void RopeReader::finish(const std::vector<std::string> &ignore) {
  if (broken)
    return;
  for (auto &[layerType, block] : blocks) {
    if (nested && !chosen.count(layerType)) {
      if (&block.getObject() != &ownBlock[layerType] &&
          std::find(ignore.begin(), ignore.end(), layerType) == ignore.end())
        reportUnused(layerType, block);
      continue;
    }
    auto at = ruleOf.find(block.getPath());
    const RopeRuleInfo *rule =
        findRopeRule(at == ruleOf.end() || at->second.empty() ? readRule(&block)
                                                              : at->second);
    for (const auto &[key, value] : block.getObject().items()) {
      bool off = value.is_null() || (isFamilyKey(key) && value == false);
      if (off || block.wasRead(key) ||
          (rule && readsKey(*rule, key) && !isFamilyKey(key)) ||
          std::find(ignore.begin(), ignore.end(), key) != ignore.end())
        continue;
      // Ministral 3 is saved with it; it only repeats the key outside.
      if (key == "max_position_embeddings" && config.has(key) &&
          value == config.getObject()[key])
        continue;
      reportUnread(block, key, rule);
    }
  }
}
