// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with latent keys: layers that keep a state, and scorers that pick
// the keys of each query.
#include <algorithm>
#include <fmt/format.h>

#include "import/LatentReader.h"
#include "import/Text.h"
#include "import/Unread.h"

using namespace torsor;

/// Kimi Delta Attention: channel decays, then a delta correction.
ImportedScheme LatentReader::makeKimiDelta(int64_t head,
                                           std::optional<double> bound) {
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "kda";
  scheme.kind = "linear_attention";
  scheme.docs = {"Kimi Delta Attention: each channel fades by its own gate, "
                 "then a delta correction. The short convolutions stand "
                 "before."};
  std::string gate =
      bound && *bound < 0
          ? fmt::format("{} * sigmoid(exp(a_log[h]) * (raw[l, h, c] + "
                        "raw_bias[h, c]))",
                        writeReal(-*bound))
          : "exp(a_log[h]) * softplus(raw[l, h, c] + raw_bias[h, c])";
  scheme.declarations = {
      {"input", fmt::format("raw: f32[H, {}] per token", head), ""},
      {"input", "beta: f32[H] per token in 0 .. 1", ""},
      {"param", "a_log: f32[H]", ""},
      {"param", fmt::format("raw_bias: f32[H, {}]", head), ""},
      {"clock", fmt::format("tau[c < {}] = sum l <= j: {}", head, gate), ""}};
  scheme.norm = "l2";
  scheme.actionText =
      fmt::format("sum c < {}: decay(1, rate = 1) at tau[c]", head);
  scheme.readout = "delta(beta = beta[j, h])";
  return scheme;
}

std::vector<bool> LatentReader::readKimiLists(Reader &linear) {
  ImportMessages &messages = builder.messages;
  auto full = linear.readInts({"full_attn_layers"}, 1);
  auto kda = linear.readInts({"kda_layers"}, 1);
  if (!layers || !full) {
    if (!messages.hasErrors())
      messages.error("a config of this family needs 'num_hidden_layers' and "
                     "'linear_attn_config.full_attn_layers'");
    return {};
  }
  std::vector<bool> isFull(static_cast<size_t>(layers), false);
  for (int64_t n : *full)
    if (n <= layers)
      isFull[n - 1] = true;
    else
      messages.error(fmt::format("{} names layer {}, counted from 1, but there "
                                 "are {} layers",
                                 linear.quote("full_attn_layers"), n, layers));
  if (kda && full->size() + kda->size() != static_cast<size_t>(layers))
    messages.error(fmt::format(
        "{} and {} together name {} layers, but there are {}",
        linear.quote("full_attn_layers"), linear.quote("kda_layers"),
        full->size() + kda->size(), layers));
  messages.note("the lists of layers count from 1; the stack counts from 0");
  return isFull;
}

std::vector<bool> LatentReader::readKimiTypes() {
  std::vector<std::string> types =
      builder.readLayerTypes("layer_types", layers);
  if (!layers) {
    config.reportMissing("num_hidden_layers",
                         "full and linear layers differ, so they are counted");
    return {};
  }
  std::vector<bool> isFull(static_cast<size_t>(layers), false);
  for (int64_t n = 0; n < layers; ++n) {
    isFull[n] = types.empty() ? n && n % 4 == 0 : types[n] == "full_attention";
    if (!types.empty() && !isFull[n] && types[n] != "linear_attention")
      builder.messages.error(fmt::format(
          "'layer_types' names {} for layer {}, but layers of the family '{}' "
          "are full_attention, linear_attention",
          quoteJson(types[n]), n, family.type));
  }
  if (types.empty() && !builder.messages.hasErrors())
    builder.messages.warning("the config has no 'layer_types'; every fourth "
                             "layer but the first is full, this family's own "
                             "default");
  return isFull;
}

void LatentReader::readKimi() {
  builder.stopped = true; // until the lists are read
  const Json *entry = config.find("linear_attn_config");
  ImportMessages &messages = builder.messages;
  if (entry && !entry->is_object())
    return messages.error(
        fmt::format("{} must be an object that lists the full and the linear "
                    "layers",
                    config.quote("linear_attn_config")));
  std::vector<bool> isFull;
  int64_t head = 128;
  std::optional<double> bound;
  if (entry) {
    Reader linear(*entry, config.getPath("linear_attn_config"), messages);
    isFull = readKimiLists(linear);
    head = linear.readInt({"head_dim"}, 1, 1024).value_or(128);
    bound = linear.readReal({"gate_lower_bound"}, -100);
    if (!messages.hasErrors())
      checkUnread(linear, builder.options, builder.model);
  } else {
    isFull = readKimiTypes();
    head = config.readInt({"linear_head_dim"}, 1, 1024).value_or(128);
  }
  if (isFull.empty() || messages.hasErrors())
    return;
  builder.stopped = false;
  size_t latent = builder.add(makeScheme());
  size_t delta = builder.add(makeKimiDelta(head, bound));
  std::vector<std::vector<size_t>> stack;
  for (bool full : isFull)
    stack.push_back({full ? latent : delta});
  builder.addStack(builder.stackName(), std::move(stack));
}

/// The second scorer that picks keys: its rotary lanes come first, in the
/// other layout than the main path's.
ImportedScheme LatentReader::makeIndexer(const ImportedScheme &main) {
  int64_t head = config.readInt({"index_head_dim"}, 1, 1024).value_or(128);
  int64_t keys = config.readInt({"index_topk"}, 1).value_or(2048);
  config.skip({"index_n_heads"});
  bool adjacent = family.type != "deepseek_v32";
  if (config.has("indexer_rope_interleave") &&
      config.getObject()["indexer_rope_interleave"] == adjacent)
    config.passOver({"indexer_rope_interleave"});
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "indexer";
  scheme.kind = "indexer";
  scheme.docs = {"The scorer that picks keys: only its action is used, to turn "
                 "its queries and to append its keys."};
  scheme.rotation = main.rotation;
  if (scheme.rotation) {
    if (scheme.rotation->width > head)
      builder.messages.error(
          fmt::format("{} is smaller than the {} rotary lanes",
                      config.quote("index_head_dim"), scheme.rotation->width));
    scheme.rotation->layout =
        adjacent ? PairLayout::Adjacent : PairLayout::Split;
    scheme.after = std::max<int64_t>(head - scheme.rotation->width, 0);
  }
  builder.messages.note(fmt::format(
      "each query sees the {} keys that 'indexer' picks; give its choice as a "
      "mask of your own: 'latent_attention' sees every key before the query",
      keys));
  return scheme;
}

std::vector<bool> LatentReader::readIndexers() {
  ImportMessages &messages = builder.messages;
  auto count = static_cast<size_t>(std::max<int64_t>(layers, 1));
  std::vector<bool> own(count, true);
  std::vector<std::string> types =
      builder.readLayerTypes("layer_types", layers);
  for (const std::string &type : types)
    if (type != "indexed_attention")
      messages.error(fmt::format("'layer_types' names {}, but layers of the "
                                 "family '{}' are indexed_attention",
                                 quoteJson(type), family.type));
  if (family.type != "glm_moe_dsa")
    return own;
  auto words = config.readWords({"indexer_types"});
  const Json *pattern = config.find("index_topk_pattern");
  int64_t every = config.readInt({"index_topk_freq"}, 0, 4096).value_or(1);
  int64_t offset =
      config.readInt({"index_skip_topk_offset"}, -4096, 4096).value_or(2);
  std::vector<std::string> list = words.value_or(std::vector<std::string>());
  if (!words && pattern && pattern->is_string())
    for (char c : pattern->get<std::string>())
      list.push_back(c == 'F' ? "full" : c == 'S' ? "shared" : "?");
  else if (!words && pattern)
    list = config.readWords({"index_topk_pattern"}).value_or(list);
  const char *key = words ? "indexer_types" : "index_topk_pattern";
  if ((words || pattern) && list.size() != count) {
    if (!config.wasReported(key))
      messages.error(fmt::format("{} has {} entries, but there are {} layers",
                                 config.quote(key), list.size(), count));
    return own;
  }
  every = std::max<int64_t>(every, 1);
  for (size_t n = 0; n < count; ++n) {
    auto behind = static_cast<int64_t>(n) - offset + 1;
    own[n] = list.empty() ? std::max<int64_t>(behind, 0) % every == 0
                          : list[n] == "full";
    if (!list.empty() && !own[n] && list[n] != "shared")
      messages.error(fmt::format("{} must hold \"full\" or \"shared\" (F, S) "
                                 "for each layer",
                                 config.quote(key)));
  }
  return own;
}

void LatentReader::addLayers() {
  auto count = static_cast<size_t>(std::max<int64_t>(layers, 1));
  ImportedScheme scheme = makeScheme();
  std::vector<size_t> uses = {builder.add(scheme)};
  if (family.type == "longcat_flash")
    uses.push_back(uses.front());
  std::string name = builder.stackName();
  std::vector<bool> own(count, false);
  if (family.indexer)
    own = readIndexers();
  auto scorers = std::count(own.begin(), own.end(), true);
  if (scorers == 0)
    return builder.addStack(name, std::vector(count, uses), layers == 0);
  size_t scorer = builder.add(makeIndexer(scheme));
  if (scorers == static_cast<int64_t>(own.size())) {
    uses.push_back(scorer);
    return builder.addStack(name, std::vector(count, uses), layers == 0);
  }
  // A stack has the same attentions in every layer, so scorers have their own.
  std::vector<int64_t> where;
  for (size_t n = 0; n < own.size(); ++n)
    if (own[n])
      where.push_back(static_cast<int64_t>(n));
  builder.addStack(name, std::vector(count, uses), layers == 0);
  builder.addStack(name + "_indexer",
                   std::vector(where.size(), std::vector<size_t>{scorer}));
  builder.messages.note(fmt::format(
      "layers {} of '{}' have a scorer each, in this order the layers of "
      "'{}_indexer'; the others take the keys that the last scorer before them "
      "has picked",
      writeInts(where), name, name));
}
