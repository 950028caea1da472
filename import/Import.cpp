// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the config of a checkpoint to schemes.
#include "import/Import.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/Build.h"
#include "import/Text.h"

using namespace torsor;

bool ImportResult::hasErrors() const {
  return std::any_of(messages.begin(), messages.end(),
                     [](const ImportMessage &message) {
                       return message.level == ImportMessage::Error;
                     });
}

/// A key with one of these in its name speaks of positions, unless it is one
/// of the names below.
static constexpr std::array<std::string_view, 28> positionalWords = {
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
    "local_attention"};
static constexpr std::array<std::string_view, 18> harmless = {
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
    "use_bidirectional_attention",
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

std::vector<std::string> torsor::listFamilies() {
  std::vector<std::string> all;
  for (auto list : {listRotaryDecoders, listLatent, listAdditive, listAbsolute,
                    listEncoders})
    for (std::string &name : list())
      all.push_back(std::move(name));
  std::sort(all.begin(), all.end());
  return all;
}

/// The spelling of a type that a table has; "" if none does.
static std::string findFamily(const std::string &type) {
  const std::vector<std::string> known = listFamilies();
  for (const std::string &name : {type, type + "_text"})
    if (std::binary_search(known.begin(), known.end(), name))
      return name;
  return "";
}

static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t n = 0; n < row.size(); ++n)
    row[n] = n;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t next =
          std::min({row[j] + 1, row[j + 1] + 1, corner + (a[i] != b[j])});
      corner = row[j + 1];
      row[j + 1] = next;
    }
  }
  return row.back();
}

static void reportUnknown(Reader &config, const std::string &type,
                          ImportMessages &messages) {
  std::string nearest;
  size_t least = 3;
  if (type.size() < 64)
    for (const std::string &name : listFamilies())
      if (size_t d = distance(type, name); d < least) {
        least = d;
        nearest = name;
      }
  messages.error(fmt::format(
      "{}: this family is not known, and its layout and windows cannot be "
      "guessed{}; if it reads its keys as a known one does, say --family NAME. "
      "Known are: {}",
      config.has("model_type") ? config.quote("model_type")
                               : fmt::format("--family {}", type),
      nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest),
      fmt::join(listFamilies(), " ")));
}

/// Every key that nothing has read: an error if it speaks of positions.
static void checkRest(Reader &config, const ImportOptions &options,
                      ImportedModel &model, ImportMessages &messages) {
  for (const auto &entry : config.getObject().items()) {
    const std::string &key = entry.key();
    if (config.wasRead(key))
      continue;
    bool asked = std::find(options.ignore.begin(), options.ignore.end(), key) !=
                 options.ignore.end();
    bool off = entry.value().is_null() || entry.value() == false;
    if (!asked && !off && isPositional(key))
      messages.error(fmt::format(
          "{}: this key speaks of positions, but the family '{}' does not read "
          "it; remove it, or pass over it with --ignore {}",
          config.quote(key), model.type, key));
    else
      model.ignored.push_back(config.getPath(key));
  }
}

static void checkGroups(Reader &config, ImportMessages &messages) {
  auto heads = config.readInt({"num_attention_heads"}, 1, 1 << 16);
  auto groups = config.readInt({"num_key_value_heads"}, 1, 1 << 16);
  if (heads && groups && *heads % *groups)
    messages.error(fmt::format("{} query heads cannot share {} key heads "
                               "evenly: change 'num_attention_heads' or "
                               "'num_key_value_heads'",
                               *heads, *groups));
}

/// The text model inside a config of several parts.
static const Json *findText(const Json &root, std::string &path) {
  const Json *at = &root;
  for (int depth = 0; depth < 3; ++depth) {
    const Json *inner = nullptr;
    for (const char *name : {"text_config", "thinker_config", "llm_config",
                             "language_config", "text_model_config"})
      if (!inner && at->contains(name) && (*at)[name].is_object()) {
        inner = &(*at)[name];
        path += (path.empty() ? "" : ".") + std::string(name);
      }
    if (!inner)
      break;
    at = inner;
  }
  return at;
}

static void readModel(Reader &config, const Json &root,
                      const ImportOptions &options, ImportedModel &model,
                      ImportMessages &messages) {
  auto word = config.readWord({"model_type"});
  std::string type = word.value_or("");
  if (type.empty() && root.contains("model_type") &&
      root["model_type"].is_string())
    type = root["model_type"].get<std::string>();
  if (!options.family.empty())
    type = options.family;
  if (type.empty()) {
    if (config.has("model_type"))
      return; // reported
    type = "llama";
    messages.warning(
        "the config has no 'model_type'; it is read as 'llama' "
        "(pairs in halves, causal); say --family NAME for another");
  }
  std::string family = findFamily(type);
  if (family.empty())
    return reportUnknown(config, type, messages);
  model.type = family;
  ModelBuilder builder(config, options, model);
  for (auto read :
       {readRotaryDecoder, readLatent, readAdditive, readAbsolute, readEncoder})
    if (read(family, builder))
      break;
  const std::vector<std::string> latent = listLatent();
  if (options.absorbed &&
      std::find(latent.begin(), latent.end(), family) == latent.end())
    messages.error(fmt::format("--absorbed: the family '{}' has no latent "
                               "keys; those that have are {}",
                               family, fmt::join(latent, " ")));
  if (config.wasRead("rope_parameters"))
    builder.rope.finish();
  checkGroups(config, messages);
  checkRest(config, options, model, messages);
}

ImportResult torsor::importConfig(std::string_view json,
                                  const ImportOptions &options) {
  ImportResult result;
  ImportMessages messages;
  Json root;
  std::string error;
  if (!readJson(json, root, error)) {
    messages.error(error);
  } else if (!root.is_object()) {
    messages.error("a config is a JSON object, but this is " + quoteJson(root));
  } else {
    std::string path;
    const Json *text = findText(root, path);
    Reader config(*text, path, messages);
    readModel(config, root, options, result.model, messages);
    if (text != &root)
      messages.note(fmt::format("the text model is read from '{}'; positions "
                                "of the other parts are not imported",
                                path));
  }
  if (options.documents)
    messages.note("'doc' tells packed documents apart; for what looks at "
                  "absolute positions, restart 'pos' with each of them");
  result.messages = messages.get();
  return result;
}
