// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encoders with positions of their own: rotary ones, DeBERTa, XLNet.
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "import/Build.h"
#include "import/Text.h"

using namespace torsor;

/// ModernBERT: full layers every third, local ones with half the width to each
/// side, each with its own base.
static void readModernBert(ModelBuilder &builder) {
  Reader &config = builder.config;
  int64_t heads = builder.readHeads();
  int64_t head = builder.readHead(heads);
  int64_t layers = builder.readLayers();
  auto types = builder.readLayerTypes("layer_types", layers);
  builder.model.longest =
      config.readInt({"max_position_embeddings"}).value_or(0);
  builder.rope.begin({.base = BaseKeys::Block, .nested = true},
                     builder.model.type);
  auto whole = config.readInt({"local_attention"}, 1);
  // The library's other name for it counts one side.
  auto side = config.readInt({"sliding_window"}, 0);
  if (whole && side && *side != *whole / 2)
    builder.messages.error(fmt::format(
        "{} and {} disagree: the second counts one side; remove one",
        config.quote("local_attention"), config.quote("sliding_window")));
  int64_t width = whole ? *whole : side ? 2 * *side : 128;
  int64_t period =
      config.readInt({"global_attn_every_n_layers"}, 1, 4096).value_or(3);
  config.passOver({"position_embedding_type"});
  std::vector<std::vector<size_t>> stack;
  for (int64_t n = 0; n < std::max<int64_t>(layers, 1); ++n) {
    bool full = types.empty() ? n % period == 0 : types[n] == "full_attention";
    ImportedScheme scheme = builder.makeScheme(head);
    scheme.name = full ? "full" : "local";
    scheme.kind = full ? "full_attention" : "sliding_attention";
    scheme.causal = false;
    scheme.mask = full ? MaskKind::All : MaskKind::Window;
    if (!full) {
      scheme.left = scheme.right = width / 2;
      scheme.maskOrigin =
          fmt::format("local_attention {}: half of it to each side", width);
    }
    RopeRequest request;
    request.lanes = head;
    request.layerType = scheme.kind;
    request.base = full ? 160'000 : 10'000;
    request.baseKey = full ? "global_rope_theta" : "local_rope_theta";
    scheme.rotation = builder.rope.resolve(request);
    if (!scheme.rotation)
      return;
    stack.push_back({builder.add(std::move(scheme))});
  }
  builder.addStack(builder.stackName(), std::move(stack), layers == 0);
}

/// One rotation, every key seen.
static void readRotaryEncoder(ModelBuilder &builder) {
  Reader &config = builder.config;
  const std::string &type = builder.model.type;
  bool former = type == "roformer", nomic = type == "nomic_bert";
  RopeFamily rules;
  if (former)
    rules.base = BaseKeys::None;
  rules.blocks = type != "esm";
  if (nomic)
    rules = {.base = BaseKeys::ThetaOrEmb, .width = WidthKeys::Fraction};
  builder.rope.begin(rules, type);
  int64_t head = builder.readHead(builder.readHeads());
  builder.model.longest =
      config.readInt({"max_position_embeddings", "n_positions"}).value_or(0);
  if (auto kind = config.readWord({"position_embedding_type"});
      kind && *kind != "rotary" && *kind != "rope")
    builder.messages.error(
        fmt::format("{}: this family is read with rotary positions alone",
                    config.quote("position_embedding_type")));
  else if (!kind && type == "esm")
    config.reportMissing("position_embedding_type",
                         "without it, this family has a learned table; it is "
                         "read with \"rotary\" alone");
  if (config.readFlag({"rotary_value"}).value_or(false))
    builder.messages.error("'rotary_value' = true turns the values by their "
                           "own positions and does not turn the output back; "
                           "no scheme says that; do it in the caller and "
                           "import without the key");
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "self_attention";
  scheme.causal = config.readFlag({"is_decoder"}).value_or(false);
  scheme.mask = scheme.causal ? MaskKind::Causal : MaskKind::All;
  RopeRequest request;
  request.lanes = head;
  if (nomic)
    request.base = 1000;
  bool adjacent =
      former ||
      (nomic && config.readFlag({"rotary_emb_interleaved"}).value_or(false));
  request.layout = adjacent ? PairLayout::Adjacent : PairLayout::Split;
  scheme.rotation = builder.rope.resolve(request);
  if (!scheme.rotation) {
    if (!builder.messages.hasErrors())
      builder.messages.error("no lane turns, but this family is read with "
                             "rotary positions alone");
    return;
  }
  scheme.after = head - scheme.rotation->width;
  builder.addUniform(std::move(scheme), builder.readLayers());
}

/// The kinds of terms: content to position, position to content.
static std::pair<bool, bool> readTerms(Reader &config) {
  bool c2p = false, p2c = false;
  const Json *types = config.find("pos_att_type");
  auto take = [&](const std::string &text) {
    c2p |= text.find("c2p") != std::string::npos;
    p2c |= text.find("p2c") != std::string::npos;
  };
  if (!types)
    return {true, true};
  if (types->is_string())
    take(types->get<std::string>());
  for (const Json &item : *types)
    if (item.is_string())
      take(item.get<std::string>());
  return {c2p, p2c};
}

/// Defines the bucket of each distance up to `reach`; gives the row of a pair.
static std::string addBuckets(ModelBuilder &builder, int64_t buckets,
                              int64_t reach) {
  int64_t half = buckets / 2;
  builder.model.definitions.push_back(fmt::format(
      "/// Bucket of each distance (position_buckets {0}, "
      "max_relative_positions {1}): itself up to {2},\n/// then by "
      "logarithm. Exact: logarithms are compared as powers of integers.\n"
      "let bucket_of = [for d < {3}: if d <= {2} then d else {2} + (sum c "
      "< {2} + 1: if {4} ^ c * {2} ^ {5} < d ^ {5} * {2} ^ c then 1 else "
      "0)]\n",
      buckets, reach, half, reach + 1, reach - 1, half - 1));
  return fmt::format(
      "(if age < 0 then -1 else 1) * bucket_of[min(abs(age), {})]", reach);
}

/// DeBERTa: terms of content and relative position share one scale.
static void readDeberta(ModelBuilder &builder) {
  Reader &config = builder.config;
  int64_t head = builder.readHead(builder.readHeads());
  int64_t rows =
      config.readInt({"max_position_embeddings"}, 1, 65'536).value_or(512);
  bool relative = config.readFlag({"relative_attention"}).value_or(false);
  auto [c2p, p2c] = readTerms(config);
  int64_t buckets = config.readInt({"position_buckets"}, -1, 1024).value_or(-1);
  int64_t reach =
      config.readInt({"max_relative_positions"}, -1, 65'000).value_or(-1);
  if (reach < 1)
    reach = rows;
  if (config.readFlag({"position_biased_input"}).value_or(true))
    builder.addLearned("positions", rows,
                       std::max<int64_t>(builder.readWidth(), 1), 0,
                       "position_biased_input, max_position_embeddings");
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "disentangled";
  scheme.causal = false;
  scheme.mask = MaskKind::All;
  int terms = 1 + c2p + p2c;
  if (relative && terms > 1) {
    scheme.bias = "relative";
    int64_t span = buckets > 0 ? buckets : reach;
    std::string row = "age";
    if (buckets > 0) {
      int64_t half = buckets / 2;
      if (half < 2 || reach <= half + 1) {
        builder.messages.error(fmt::format(
            "{} and 'max_relative_positions' = {} leave no distance for the "
            "buckets beyond the first {}",
            config.quote("position_buckets"), reach, half));
        return;
      }
      row = addBuckets(builder, buckets, reach);
    }
    std::string names = c2p && p2c ? "to_k, to_q" : c2p ? "to_k" : "to_q";
    scheme.declarations = {
        {"param", fmt::format("{}: f32[H, {}, D]", names, 2 * span),
         "the projected relative embeddings of each head"},
        {"let",
         fmt::format("row = clamp({} + {}, 0, {})", row, span, 2 * span - 1),
         "both tables are read at query minus key, as the library does"}};
    std::string sum =
        c2p && p2c ? "(dot(q[i], to_k[h, row]) + dot(k[j], to_q[h, row]))"
        : c2p      ? "dot(q[i], to_k[h, row])"
                   : "dot(k[j], to_q[h, row])";
    scheme.terms = {{"bias", fmt::format("{} / sqrt({} * D)", sum, terms), ""}};
    builder.setScale(scheme, 1 / std::sqrt(static_cast<double>(terms * head)),
                     fmt::format("1 / sqrt({} * D)", terms),
                     "pos_att_type: all terms share one scale");
  }
  builder.model.longest = rows;
  builder.addUniform(std::move(scheme), builder.readLayers());
}

/// XLNet: content and position, each with a bias of its own on the query.
static void readXlnet(ModelBuilder &builder) {
  Reader &config = builder.config;
  int64_t head = builder.readHead(builder.readHeads());
  int64_t reach = builder.options.reach;
  auto clamp = config.readInt({"clamp_len"}, -1);
  bool clamped = clamp && *clamp > 0;
  if (clamped)
    reach = *clamp;
  // The clamp keeps both ends; without it, no key is `reach` tokens ahead.
  int64_t rows = 2 * reach + (clamped ? 1 : 0);
  auto kind = config.readWord({"attn_type"});
  if (kind && *kind != "bi" && *kind != "uni")
    builder.messages.error(
        fmt::format("{} must be \"bi\" or \"uni\"", config.quote("attn_type")));
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "relative_attention";
  scheme.causal = kind && *kind == "uni";
  scheme.mask = scheme.causal ? MaskKind::Causal : MaskKind::All;
  scheme.bias = "relative";
  scheme.declarations = {
      {"param", "u, w: f32[H, D]", "biases of the query: r_w_bias, r_r_bias"},
      {"param", fmt::format("r: f32[H, {}, D]", rows),
       fmt::format("projected positions, {} tokens each way ({})", reach,
                   clamped ? "clamp_len" : "--reach")},
      {"let", fmt::format("row = clamp({} - age, 0, {})", reach, rows - 1),
       ""}};
  scheme.terms = {{"bias",
                   "(dot(u[h], k[j]) + dot(q[i], r[h, row]) + dot(w[h], r[h, "
                   "row])) / sqrt(D)",
                   ""}};
  builder.messages.note(fmt::format(
      "row n of 'r' is the projection of the sinusoid of position {} - n; make "
      "the rows in the caller{}",
      reach,
      clamped ? ""
              : fmt::format(", for sequences of at most {} tokens", reach)));
  builder.messages.note("the term of segments (r_s_bias, seg_embed) is not "
                        "imported: with token_type_ids of two segments, add it "
                        "to the bias");
  if (config.readFlag({"bi_data"}).value_or(false))
    builder.messages.error(
        fmt::format("{}: half of a batch would count positions backwards, "
                    "which no scheme says of a row",
                    config.quote("bi_data")));
  builder.addUniform(std::move(scheme), builder.readLayers());
}

namespace {
struct EncoderFamily {
  std::string_view type;
  void (*read)(ModelBuilder &builder);
};
} // namespace

static constexpr std::array<EncoderFamily, 8> encoderFamilies = {{
    {"modernbert", readModernBert},
    {"roformer", readRotaryEncoder},
    {"esm", readRotaryEncoder},
    {"eurobert", readRotaryEncoder},
    {"nomic_bert", readRotaryEncoder},
    {"deberta", readDeberta},
    {"deberta-v2", readDeberta},
    {"xlnet", readXlnet},
}};

bool torsor::readEncoder(const std::string &type, ModelBuilder &builder) {
  for (const EncoderFamily &family : encoderFamilies)
    if (family.type == type) {
      family.read(builder);
      return true;
    }
  return false;
}

std::vector<std::string> torsor::listEncoders() {
  std::vector<std::string> names;
  for (const EncoderFamily &family : encoderFamilies)
    names.emplace_back(family.type);
  return names;
}
