// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the config of a checkpoint to schemes.
#include "import/Import.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/Build.h"
#include "import/Defaults.h"
#include "import/Text.h"
#include "import/Unread.h"

using namespace torsor;

bool ImportResult::hasErrors() const {
  return std::any_of(messages.begin(), messages.end(),
                     [](const ImportMessage &message) {
                       return message.level == ImportMessage::Error;
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

static void reportUnknown(Reader &config, const std::string &type,
                          bool isOption, ImportMessages &messages) {
  messages.error(fmt::format(
      "{}: this family is not known, and its layout and windows cannot be "
      "guessed{}; if it reads its keys as a known one does, say --family NAME. "
      "Known are: {}",
      isOption ? fmt::format("--family {}", type) : config.quote("model_type"),
      suggestName(type, listFamilies()), fmt::join(listFamilies(), " ")));
}

/// Key heads share query heads evenly, in layers of either kind.
static void checkGroups(Reader &config, const std::string &type,
                        ImportMessages &messages) {
  const FamilyDefaults *family = findDefaults(type);
  const std::string prefixes[] = {"", "swa_"};
  for (const std::string &prefix : prefixes) {
    std::string query = prefix + "num_attention_heads",
                key = prefix + "num_key_value_heads";
    auto heads = config.readInt({query}, 1, 1 << 16);
    auto groups = config.readInt({key}, 1, 1 << 16);
    if (prefix.empty() && family && groups && !config.has(query))
      heads = family->heads;
    if (heads && groups && *heads % *groups)
      messages.error(fmt::format("{} query heads cannot share {} key heads "
                                 "evenly: change '{}' or '{}'",
                                 *heads, *groups, query, key));
  }
}

/// The text model inside a config of several parts, and what lies around it.
static const Json *findText(const Json &root, std::string &path,
                            std::vector<OuterBlock> &outer) {
  const Json *at = &root;
  for (int depth = 0; depth < 3; ++depth) {
    const Json *inner = nullptr;
    std::string before = path;
    for (const char *name : {"text_config", "thinker_config", "llm_config",
                             "language_config", "text_model_config"})
      if (!inner && at->contains(name) && (*at)[name].is_object()) {
        inner = &(*at)[name];
        path += (path.empty() ? "" : ".") + std::string(name);
      }
    if (!inner)
      break;
    outer.push_back({at, before});
    at = inner;
  }
  return at;
}

/// PaliGemma's text model is known, but the mask around it is not.
static bool refusePrompts(const Json &root, ImportMessages &messages) {
  if (!root.contains("model_type") || root["model_type"] != "paligemma")
    return false;
  messages.error(
      "'model_type' = \"paligemma\": the prompt sees itself both ways and the "
      "answer is causal (token_type_ids), which no mask of an import says; "
      "import its 'text_config' by itself, without "
      "'use_bidirectional_attention', and add 'input prefix: i32 per sequence' "
      "and 'or j < prefix' to the masks");
  return true;
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
    if (word) // else what is wrong with it has been said
      return messages.error(
          fmt::format("{} names no family; write it, or say --family NAME",
                      config.quote("model_type")));
    if (config.has("model_type"))
      return;
    type = "llama";
    messages.warning(
        "the config has no 'model_type'; it is read as 'llama' "
        "(pairs in halves, causal); say --family NAME for another");
  }
  if (refusePrompts(root, messages))
    return;
  std::string family = findFamily(type);
  if (family.empty())
    return reportUnknown(config, type, !options.family.empty(), messages);
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
  bool turns = std::any_of(
      model.schemes.begin(), model.schemes.end(),
      [](const ImportedScheme &scheme) { return scheme.rotation.has_value(); });
  if (options.gain && !turns && !messages.hasErrors())
    messages.error(fmt::format(
        "--gain {}: no layer of this config has rotated lanes; leave it out",
        writeReal(*options.gain)));
  checkGroups(config, family, messages);
  if (builder.stopped)
    return; // what is unread may be so for this reason alone
  builder.rope.finish(options.ignore);
  checkCausal(config, options, model);
  checkUnread(config, options, model);
  checkIgnored(config, root, options, model);
}

/// Where picture tokens may see each other, the option that says it.
static const char *imageHint(const ImportedModel &model,
                             const ImportOptions &options) {
  bool has =
      model.type.starts_with("gemma3") || model.type.starts_with("gemma4");
  return has && !options.images
             ? "; where picture tokens see each other, import with --images"
             : "";
}

/// What the caller of packed documents restarts.
static void noteDocuments(const ImportedModel &model,
                          ImportMessages &messages) {
  bool byIndex =
      std::any_of(model.schemes.begin(), model.schemes.end(),
                  [](const ImportedScheme &scheme) {
                    const std::optional<Rotation> &rotation = scheme.rotation;
                    return scheme.mask == MaskKind::Chunk ||
                           (rotation && (rotation->rule == RopeRule::Dynamic ||
                                         rotation->rule == RopeRule::LongRope));
                  });
  messages.note(
      byIndex
          ? "'doc' tells packed documents apart, but chunks and the length of "
            "a sequence are counted by index: give each document as a sequence "
            "of its own, or the indices of its tokens in it (query_indices and "
            "key_indices; --q-index and --k-index)"
          : "'doc' tells packed documents apart; for what looks at absolute "
            "positions, restart 'pos' with each of them");
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
    std::vector<OuterBlock> outer;
    const Json *text = findText(root, path, outer);
    Reader config(*text, path, messages);
    readModel(config, root, options, result.model, messages);
    checkOuter(outer, config, options, result.model);
    if (text != &root)
      messages.note(fmt::format("the text model is read from '{}'; positions "
                                "of the other parts are not imported{}",
                                path, imageHint(result.model, options)));
  }
  if (options.documents)
    noteDocuments(result.model, messages);
  result.messages = messages.get();
  return result;
}
