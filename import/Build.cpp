// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the families share while they read a config.
#include "import/Build.h"

#include <cmath>
#include <fmt/format.h>

#include "import/Defaults.h"
#include "import/Text.h"

using namespace torsor;

static constexpr int64_t maxHead = 1024, maxLayers = 4096;

int64_t ModelBuilder::readHeads() {
  return config
      .readInt({"num_attention_heads", "n_head", "n_heads", "num_heads",
                "encoder_attention_heads", "attention_heads"},
               1, 1 << 16)
      .value_or(0);
}

int64_t ModelBuilder::readWidth() {
  return config
      .readInt({"hidden_size", "n_embd", "d_model", "n_embed", "dim"}, 1,
               1 << 24)
      .value_or(0);
}

int64_t ModelBuilder::readLayers() {
  return config
      .readInt({"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                "encoder_layers"},
               1, maxLayers)
      .value_or(0);
}

int64_t ModelBuilder::defaultLayers() {
  const FamilyDefaults *family = findDefaults(model.type);
  return family && family->layers && !messages.hasErrors()
             ? takeDefault("num_hidden_layers", family->layers)
             : 0;
}

int64_t ModelBuilder::takeDefault(std::string_view key, int64_t value) {
  if (!config.has(key))
    messages.warning(fmt::format("the config has no '{}'; this family's own "
                                 "default, {}, is taken",
                                 config.getPath(key), value));
  return value;
}

int64_t ModelBuilder::readHead(int64_t heads) {
  int64_t width = readWidth();
  auto given = config.readInt(
      {"head_dim", "kv_channels", "attention_head_size", "d_head"}, 1, maxHead);
  if (given)
    return *given;
  if (messages.hasErrors())
    return 2; // the width may follow from what is wrong
  if (const FamilyDefaults *family = findDefaults(model.type)) {
    if (family->head && !config.mentions("head_dim"))
      return takeDefault("head_dim", family->head);
    if (!width)
      width = takeDefault("hidden_size", family->width);
    if (!heads)
      heads = takeDefault("num_attention_heads", family->heads);
  }
  if (!width || !heads) {
    config.reportMissing("head_dim",
                         "the width of a head follows neither from "
                         "it nor from 'hidden_size' and "
                         "'num_attention_heads'; give one of these");
    return 2;
  }
  if (width % heads || width / heads > maxHead) {
    messages.error(fmt::format(
        "'hidden_size' = {} over 'num_attention_heads' = {} is no width of a "
        "head from 1 to {}; give 'head_dim'",
        width, heads, maxHead));
    return 2;
  }
  return width / heads;
}

std::vector<std::string> ModelBuilder::readLayerTypes(std::string_view key,
                                                      int64_t &layers,
                                                      int64_t further) {
  auto types = config.readWords({key});
  if (!types || types->empty())
    return {};
  if (layers && types->size() == static_cast<size_t>(layers + further))
    types->resize(static_cast<size_t>(layers));
  if (layers && types->size() != static_cast<size_t>(layers)) {
    messages.error(fmt::format("'{}' has {} entries, but there are {} layers; "
                               "it needs one for each",
                               config.getPath(key), types->size(), layers));
    return {};
  }
  if (types->size() > static_cast<size_t>(maxLayers)) {
    messages.error(fmt::format("'{}' has {} entries; the limit is {}",
                               config.getPath(key), types->size(), maxLayers));
    return {};
  }
  layers = static_cast<int64_t>(types->size());
  return *types;
}

ImportedScheme ModelBuilder::makeScheme(int64_t head) const {
  ImportedScheme scheme;
  scheme.head = scheme.value = head;
  scheme.scale = 1 / std::sqrt(static_cast<double>(head));
  scheme.documents = options.documents;
  scheme.images = options.images;
  return scheme;
}

void ModelBuilder::setScale(ImportedScheme &scheme, double value,
                            std::string text, std::string origin) const {
  scheme.scale = value;
  scheme.scaleText = std::move(text);
  scheme.scaleOrigin = std::move(origin);
}

void ModelBuilder::setSinks(ImportedScheme &scheme) const {
  scheme.sinks = true;
  scheme.declarations.push_back({"param", "sinks: f32[H]", ""});
}

void ModelBuilder::setWindow(ImportedScheme &scheme, int64_t keys,
                             std::string_view key) const {
  scheme.mask = MaskKind::Window;
  scheme.window = keys;
  scheme.left = keys - 1;
  scheme.maskOrigin =
      fmt::format("{} {}: so many keys, the query's own among them", key, keys);
}

void ModelBuilder::setAlibi(ImportedScheme &scheme, const std::string &slope,
                            bool scaled) const {
  scheme.bias = "alibi";
  scheme.terms.push_back(
      {"bias", fmt::format("-{} * age{}", slope, scaled ? " / sqrt(D)" : ""),
       scaled ? "added before the logit is scaled, so it is divided, too"
              : ""});
}

size_t ModelBuilder::add(ImportedScheme scheme) {
  std::string text = writeClauses(scheme);
  for (size_t n = 0; n < model.schemes.size(); ++n)
    if (model.schemes[n].kind == scheme.kind &&
        writeClauses(model.schemes[n]) == text)
      return n;
  std::string wanted = scheme.name, name = wanted;
  auto taken = [&] {
    for (const ImportedScheme &known : model.schemes)
      if (known.name == name)
        return true;
    return false;
  };
  for (int n = 2; taken(); ++n)
    name = fmt::format("{}_{}", wanted, n);
  scheme.name = name;
  model.schemes.push_back(std::move(scheme));
  return model.schemes.size() - 1;
}

std::string ModelBuilder::stackName() const {
  return makeName(options.name.empty() ? model.type : options.name);
}

void ModelBuilder::addStack(const std::string &name,
                            std::vector<std::vector<size_t>> layers,
                            bool open) {
  ImportedStack stack;
  stack.name = name;
  for (const ImportedScheme &scheme : model.schemes)
    if (scheme.name == stack.name)
      stack.name += "_stack";
  stack.layers = std::move(layers);
  stack.open = open;
  model.stacks.push_back(std::move(stack));
}

void ModelBuilder::addUniform(ImportedScheme scheme, int64_t layers) {
  size_t index = add(std::move(scheme));
  addStack(stackName(),
           std::vector<std::vector<size_t>>(
               static_cast<size_t>(std::max<int64_t>(layers, 1)), {index}),
           layers == 0);
}

void ModelBuilder::addLearned(const std::string &name, int64_t rows,
                              int64_t width, int64_t offset,
                              std::string origin) {
  ImportedEmbedding embedding;
  embedding.name = name;
  embedding.kind = "learned";
  embedding.rows = rows;
  embedding.width = width;
  embedding.offset = offset;
  embedding.docs = {"Added to the token embeddings once, before the layers."};
  embedding.clauses = {
      {"clock", fmt::format("pos in 0 .. {}", writeInt(rows - 1)), origin},
      {"param",
       fmt::format("table: f32[{}, {}]", writeInt(rows + offset),
                   writeInt(width)),
       ""},
      {"embed", offset ? fmt::format("table[t + {}]", offset) : "table[t]",
       offset ? fmt::format("the first {} rows are not positions", offset)
              : ""}};
  model.embeddings.push_back(std::move(embedding));
}
