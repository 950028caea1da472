// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Families whose positions are added to the embeddings, by a table or by
// sines; attention itself sees none.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/Build.h"
#include "import/Text.h"

using namespace torsor;

namespace {

enum class Embedding { Learned, Halves, HalvesClosed, None };
enum class Parts { Decoder, Encoder, Both };

struct AbsoluteFamily {
  std::string_view type;
  Parts parts = Parts::Decoder;
  Embedding encoder = Embedding::Learned, decoder = Embedding::Learned;
  /// Rows of the table that are not positions.
  int64_t offset = 0;
  /// They are those up to the row of `pad_token_id`; `offset` is for its
  /// default.
  bool padded = false;
  int64_t rows = 512;
  /// Every other layer sees a window; logits are not scaled.
  bool neo = false;
  /// `scale_attn_weights` is read, and `scale_attn_by_inverse_layer_idx`.
  bool scaleKey = false, layerKey = false;
};

} // namespace

static const AbsoluteFamily absoluteFamilies[] = {
    {.type = "gpt2", .rows = 1024, .scaleKey = true, .layerKey = true},
    {.type = "gpt_bigcode", .rows = 1024, .scaleKey = true},
    {.type = "openai-gpt"},
    {.type = "gpt_neo", .rows = 2048, .neo = true},
    {.type = "opt", .offset = 2, .rows = 2048},
    {.type = "biogpt", .offset = 2, .rows = 1024},
    {.type = "xglm",
     .decoder = Embedding::HalvesClosed,
     .offset = 2,
     .rows = 2048},
    {.type = "bert", .parts = Parts::Encoder},
    {.type = "albert", .parts = Parts::Encoder},
    {.type = "distilbert", .parts = Parts::Encoder},
    {.type = "electra", .parts = Parts::Encoder},
    {.type = "roberta", .parts = Parts::Encoder, .offset = 2, .padded = true},
    {.type = "xlm-roberta",
     .parts = Parts::Encoder,
     .offset = 2,
     .padded = true},
    {.type = "camembert", .parts = Parts::Encoder, .offset = 2, .padded = true},
    {.type = "bart", .parts = Parts::Both, .offset = 2, .rows = 1024},
    {.type = "mbart", .parts = Parts::Both, .offset = 2, .rows = 1024},
    {.type = "whisper",
     .parts = Parts::Both,
     .encoder = Embedding::HalvesClosed,
     .rows = 448},
    {.type = "marian",
     .parts = Parts::Both,
     .encoder = Embedding::Halves,
     .decoder = Embedding::Halves,
     .rows = 1024},
    {.type = "pegasus",
     .parts = Parts::Both,
     .encoder = Embedding::Halves,
     .decoder = Embedding::Halves,
     .rows = 1024},
    {.type = "m2m_100",
     .parts = Parts::Both,
     .encoder = Embedding::HalvesClosed,
     .decoder = Embedding::HalvesClosed,
     .offset = 2,
     .padded = true,
     .rows = 1024},
};

namespace {

class AbsoluteReader {
public:
  AbsoluteReader(const AbsoluteFamily &family, ModelBuilder &builder)
      : family(family), builder(builder), config(builder.config) {}
  void run();

private:
  AbsoluteFamily family; // its offset may be the config's
  ModelBuilder &builder;
  Reader &config;

  void addEmbedding(const std::string &name, Embedding kind, int64_t rows,
                    int64_t width);
  ImportedScheme makeScheme(const char *name, int64_t head, bool causal);
  void setRelativeKeys(ImportedScheme &scheme, int64_t rows);
  void addNeo(int64_t head, int64_t layers);
  void addDecoder(int64_t head, int64_t layers);
};

} // namespace

void AbsoluteReader::addEmbedding(const std::string &name, Embedding kind,
                                  int64_t rows, int64_t width) {
  if (kind == Embedding::None)
    return;
  if (width < 4 || width % 2 || width > 65'536) {
    builder.messages.error(fmt::format("'hidden_size' = {} is no width of an "
                                       "embedding with positions; it must be "
                                       "even, from 4 to 65536",
                                       width));
    return;
  }
  if (kind == Embedding::Learned)
    return builder.addLearned(name, rows, width, family.offset,
                              "max_position_embeddings");
  ImportedEmbedding embedding;
  embedding.name = name;
  embedding.kind = "sinusoidal";
  embedding.rows = rows;
  embedding.width = width;
  embedding.offset = family.offset;
  std::string spectrum = fmt::format(
      "{}({}, base = 10_000)",
      kind == Embedding::HalvesClosed ? "spectrum_closed" : "spectrum", width);
  embedding.docs = {"Added to the token embeddings once, before the layers: "
                    "all sines, then all cosines."};
  if (kind == Embedding::HalvesClosed)
    embedding.docs.push_back("The last frequency is exactly 1 / 10000.");
  if (!family.offset) {
    embedding.clauses = {
        {"embed", fmt::format("sinusoidal_halves({})", spectrum), ""}};
  } else {
    int64_t half = width / 2;
    embedding.clauses = {
        {"let", "f = " + spectrum, ""},
        {"embed",
         fmt::format("[for c < {}: if c < {} then sin((t + {}) * f[c]) else "
                     "cos((t + {}) * f[c - {}])]",
                     width, half, family.offset, family.offset, half),
         fmt::format("positions begin at {}", family.offset)}};
  }
  builder.model.embeddings.push_back(std::move(embedding));
}

ImportedScheme AbsoluteReader::makeScheme(const char *name, int64_t head,
                                          bool causal) {
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = name;
  scheme.causal = causal;
  scheme.mask = causal ? MaskKind::Causal : MaskKind::All;
  return scheme;
}

/// BERT's position_embedding_type: relative vectors besides the table.
void AbsoluteReader::setRelativeKeys(ImportedScheme &scheme, int64_t rows) {
  auto type = config.readWord({"position_embedding_type"});
  if (!type || *type == "absolute")
    return;
  if (*type != "relative_key" && *type != "relative_key_query") {
    builder.messages.error(
        fmt::format("{}: there is no such kind for this family; there are "
                    "absolute, relative_key, relative_key_query",
                    config.quote("position_embedding_type")));
    return;
  }
  builder.messages.note(
      fmt::format("{}: transformers 5 no longer reads it (its positions are "
                  "absolute); this is what the releases before did",
                  config.quote("position_embedding_type")));
  scheme.bias = "relative";
  scheme.declarations.push_back(
      {"param", fmt::format("distance: f32[{}, D]", writeInt(2 * rows - 1)),
       "max_position_embeddings, both ways"});
  scheme.declarations.push_back(
      {"let",
       fmt::format("row = clamp(age + {}, 0, {})", writeInt(rows - 1),
                   writeInt(2 * rows - 2)),
       ""});
  scheme.terms.push_back(
      {"bias",
       *type == "relative_key"
           ? "dot(q[i], distance[row]) / sqrt(D)"
           : "(dot(q[i], distance[row]) + dot(k[j], distance[row])) / sqrt(D)",
       "position_embedding_type " + *type});
}

/// GPT-Neo: local and global layers in turn, and no factor on the logit.
void AbsoluteReader::addNeo(int64_t head, int64_t layers) {
  int64_t window = config.readInt({"window_size"}).value_or(256);
  std::vector<std::string> kinds;
  const Json *types = config.find("attention_types");
  for (size_t n = 0; types && types->is_array() && n < types->size(); ++n) {
    const Json &entry = (*types)[n];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_array() ||
        !asInteger(entry[1]) || *asInteger(entry[1]) < 1 ||
        *asInteger(entry[1]) > 4096)
      break;
    for (int64_t r = 0; r < *asInteger(entry[1]) && kinds.size() < 8192; ++r)
      for (const Json &kind : entry[0])
        kinds.push_back(kind.is_string() ? kind.get<std::string>() : "");
  }
  if (types && kinds.size() != static_cast<size_t>(layers))
    builder.messages.error(fmt::format(
        "{} must list the kinds of {} layers, as [[[\"global\", \"local\"], "
        "12]], but lists {}",
        config.quote("attention_types"), layers, kinds.size()));
  std::vector<std::vector<size_t>> stack;
  for (int64_t n = 0; n < std::max<int64_t>(layers, 1); ++n) {
    bool local = kinds.empty() ? n % 2 == 1
                               : static_cast<size_t>(n) < kinds.size() &&
                                     kinds[n] == "local";
    ImportedScheme scheme = makeScheme(local ? "local" : "full", head, true);
    builder.setScale(scheme, 1, "1", "this family does not scale");
    if (local) {
      scheme.kind = "sliding_attention";
      builder.setWindow(scheme, window, "window_size");
    }
    stack.push_back({builder.add(std::move(scheme))});
  }
  builder.addStack(builder.stackName(), std::move(stack));
}

void AbsoluteReader::addDecoder(int64_t head, int64_t layers) {
  bool scaled = !family.scaleKey ||
                config.readFlag({"scale_attn_weights"}).value_or(true);
  bool byLayer =
      family.layerKey &&
      config.readFlag({"scale_attn_by_inverse_layer_idx"}).value_or(false);
  std::vector<std::vector<size_t>> stack;
  for (int64_t n = 0; n < std::max<int64_t>(layers, 1); ++n) {
    ImportedScheme scheme = makeScheme("self_attention", head, true);
    double factor = scaled ? scheme.scale : 1;
    if (byLayer)
      builder.setScale(
          scheme, factor / static_cast<double>(n + 1),
          fmt::format("1 / {}{}", n + 1, scaled ? " / sqrt(D)" : ""),
          "scale_attn_by_inverse_layer_idx");
    else if (!scaled)
      builder.setScale(scheme, 1, "1", "scale_attn_weights false");
    stack.push_back({builder.add(std::move(scheme))});
  }
  builder.addStack(builder.stackName(), std::move(stack), layers == 0);
}

void AbsoluteReader::run() {
  if (family.padded)
    if (auto pad = config.readInt({"pad_token_id"}, 0, 1 << 26))
      family.offset = *pad + 1;
  int64_t heads = builder.readHeads();
  int64_t width = builder.readWidth();
  int64_t head = builder.readHead(heads);
  int64_t layers = builder.readLayers();
  int64_t rows = config
                     .readInt({"max_position_embeddings", "n_positions",
                               "max_target_positions", "n_ctx"},
                              1, 1 << 26)
                     .value_or(family.rows);
  config.skip({"decoder_attention_heads"});
  config.passOver({"static_position_embeddings"});
  builder.model.longest = rows;
  if (family.type == "roberta" || family.type == "xlm-roberta" ||
      family.type == "camembert")
    rows -= family.offset; // their count has the first rows in it
  if (rows < 1)
    builder.messages.error(
        fmt::format("{} leaves no position: {} rows are not positions",
                    config.quote("max_position_embeddings"), family.offset));
  rows = std::max<int64_t>(rows, 1);
  if (family.parts == Parts::Decoder) {
    addEmbedding("positions", family.decoder, rows, width);
    return family.neo ? addNeo(head, layers) : addDecoder(head, layers);
  }
  if (family.parts == Parts::Encoder) {
    addEmbedding("positions", family.encoder, rows, width);
    bool causal = config.readFlag({"is_decoder"}).value_or(false);
    ImportedScheme scheme = makeScheme("self_attention", head, causal);
    setRelativeKeys(scheme, rows);
    return builder.addUniform(std::move(scheme), layers);
  }
  int64_t source =
      config.readInt({"max_source_positions"}, 1, 1 << 26).value_or(rows);
  addEmbedding("encoder_positions", family.encoder, source, width);
  addEmbedding("decoder_positions", family.decoder, rows, width);
  size_t encoder = builder.add(makeScheme("encoder", head, false));
  size_t decoder = builder.add(makeScheme("decoder", head, true));
  ImportedScheme cross = makeScheme("cross_attention", head, false);
  cross.kind = "cross_attention";
  size_t other = builder.add(std::move(cross));
  auto count = [&](int64_t n) {
    return static_cast<size_t>(std::max<int64_t>(n, 1));
  };
  builder.addStack(builder.stackName() + "_encoder",
                   std::vector<std::vector<size_t>>(count(layers), {encoder}));
  builder.addStack(
      builder.stackName() + "_decoder",
      std::vector<std::vector<size_t>>(
          count(config.readInt({"decoder_layers"}, 1, 4096).value_or(layers)),
          {decoder, other}));
}

bool torsor::readAbsolute(const std::string &type, ModelBuilder &builder) {
  for (const AbsoluteFamily &family : absoluteFamilies)
    if (family.type == type) {
      AbsoluteReader(family, builder).run();
      return true;
    }
  return false;
}

std::vector<std::string> torsor::listAbsolute() {
  std::vector<std::string> names;
  for (const AbsoluteFamily &family : absoluteFamilies)
    names.emplace_back(family.type);
  return names;
}
