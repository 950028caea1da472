// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Families whose position is a bias on the logit: ALiBi and T5's buckets.
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "import/Build.h"
#include "import/Text.h"
#include "import/Unread.h"

using namespace torsor;

static void readBloom(ModelBuilder &builder) {
  int64_t heads = builder.readHeads();
  ImportedScheme scheme = builder.makeScheme(builder.readHead(heads));
  scheme.name = "self_attention";
  builder.setAlibi(scheme, "alibi_slope(h, heads = H)", false);
  builder.addUniform(std::move(scheme), builder.readLayers());
}

static void readMpt(ModelBuilder &builder) {
  int64_t heads = builder.readHeads();
  ImportedScheme scheme = builder.makeScheme(builder.readHead(heads));
  scheme.name = "self_attention";
  bool alibi = false;
  const Json *entry = builder.config.find("attn_config");
  int64_t rows = builder.config.readInt({"max_seq_len"}).value_or(2048);
  if (entry && entry->is_object()) {
    Reader inner(*entry, "attn_config", builder.messages);
    alibi = inner.readFlag({"alibi"}).value_or(false);
    int64_t steepest = inner.readInt({"alibi_bias_max"}).value_or(8);
    if (inner.readFlag({"rope"}).value_or(false))
      builder.messages.error("'attn_config.rope' = true is not read for this "
                             "family; describe it in a scheme of your own");
    if (auto scale = inner.readReal({"softmax_scale"}, 0, true))
      builder.setScale(scheme, *scale, writeReal(*scale), "softmax_scale");
    if (auto window = inner.readInt({"sliding_window_size"}, -1);
        window && *window > 0)
      builder.setWindow(scheme, *window, "sliding_window_size");
    // Saved with defaults, but nothing turns.
    inner.skip({"attn_type", "rope_theta", "rope_impl", "rope_dail_config",
                "rope_hf_config"});
    if (!builder.messages.hasErrors())
      checkUnread(inner, builder.options, builder.model);
    if (alibi && steepest != 8)
      builder.messages.note(fmt::format(
          "{}: the most used library ignores it and always takes 8; the scheme "
          "takes what the config says",
          inner.quote("alibi_bias_max")));
    if (alibi)
      builder.setAlibi(
          scheme,
          steepest == 8
              ? "alibi_slope(h, heads = H)"
              : fmt::format("alibi_slope(h, heads = H, steepest = {})",
                            steepest),
          false);
  }
  if (!alibi)
    builder.addLearned("positions", rows,
                       std::max<int64_t>(builder.readWidth(), 1), 0,
                       "max_seq_len");
  builder.addUniform(std::move(scheme), builder.readLayers());
}

static void readRotaryOrAlibi(ModelBuilder &builder, bool alibi, bool scaled) {
  int64_t heads = builder.readHeads();
  int64_t head = builder.readHead(heads);
  ImportedScheme scheme = builder.makeScheme(head);
  scheme.name = "self_attention";
  builder.model.longest =
      builder.config.readInt({"max_position_embeddings", "model_max_length"})
          .value_or(0);
  if (alibi) {
    builder.setAlibi(scheme, "alibi_slope(h, heads = H)", scaled);
    // Saved with defaults, but nothing turns.
    builder.config.passOver({"rope_parameters", "rope_scaling", "rope_theta"});
  } else {
    RopeRequest request;
    request.lanes = head;
    builder.rope.begin({}, builder.model.type);
    scheme.rotation = builder.rope.resolve(request);
    if (scheme.rotation)
      scheme.after = head - scheme.rotation->width;
  }
  builder.addUniform(std::move(scheme), builder.readLayers());
}

static void readFalcon(ModelBuilder &builder) {
  bool alibi = builder.config.readFlag({"alibi"}).value_or(false);
  if (alibi)
    builder.messages.note(
        "the bias is added once, as the library's sdpa attention has it; its "
        "eager attention adds it twice, to the scores and in the mask. Both "
        "round it to bf16");
  readRotaryOrAlibi(builder, alibi, /*scaled=*/true);
}

/// One type, two models: the larger one has ALiBi.
static void readBaichuan(ModelBuilder &builder) {
  bool large = builder.readWidth() >= 5120;
  builder.messages.note(fmt::format(
      "this type names two models; by its width ({}), this is the one with {}",
      builder.readWidth(), large ? "ALiBi" : "rotary positions"));
  readRotaryOrAlibi(builder, large, /*scaled=*/false);
}

/// Buckets of T5, and the distance from which all share the last one.
static std::pair<int64_t, int64_t> readBuckets(ModelBuilder &builder) {
  Reader &config = builder.config;
  int64_t buckets =
      config.readInt({"relative_attention_num_buckets"}, 2, 4096).value_or(32);
  int64_t far = config.readInt({"relative_attention_max_distance"}, 2, 65'535)
                    .value_or(128);
  if (buckets % 2)
    builder.messages.error(
        fmt::format("{} must be even: half of the buckets look forward",
                    config.quote("relative_attention_num_buckets")));
  if (far <= buckets / 2)
    builder.messages.error(fmt::format(
        "{} must lie above the exact range, {}",
        config.quote("relative_attention_max_distance"), buckets / 2));
  return {buckets, far};
}

/// T5: a table of buckets, no factor on the logit.
static void readT5(ModelBuilder &builder) {
  Reader &config = builder.config;
  int64_t head = config.readInt({"d_kv"}, 1, 1024).value_or(64);
  builder.readHeads();
  config.skip({"d_model"});
  auto [buckets, far] = readBuckets(builder);
  auto encoders = config.readInt({"num_layers"}, 1, 4096);
  auto decoders = config.readInt({"num_decoder_layers"}, 1, 4096);
  bool both = config.readFlag({"is_encoder_decoder"}).value_or(true);
  int64_t layers = encoders.value_or(6);
  auto make = [&](const char *name, const std::string &bias) {
    ImportedScheme scheme = builder.makeScheme(head);
    scheme.name = name;
    builder.setScale(scheme, 1, "1", "this family does not scale");
    if (bias.empty()) {
      scheme.mask = MaskKind::All;
      scheme.documents = false;
      scheme.docs = {"Keys of the encoder: no position enters."};
      return scheme;
    }
    scheme.bias = "t5";
    scheme.declarations.push_back({"param",
                                   fmt::format("table: f32[H, {}]", buckets),
                                   "relative_attention_num_buckets"});
    scheme.terms.push_back({"bias", fmt::format("table[h, {}]", bias),
                            "relative_attention_max_distance"});
    return scheme;
  };
  ImportedScheme encoder = make(
      "encoder", fmt::format("t5_bucket_both(delta, buckets = {}, far = {})",
                             buckets, far));
  encoder.mask = MaskKind::All;
  encoder.causal = false;
  size_t first = builder.add(std::move(encoder));
  std::string name = builder.stackName();
  builder.addStack(
      name + "_encoder",
      std::vector<std::vector<size_t>>(static_cast<size_t>(layers), {first}));
  builder.messages.note(
      builder.model.type == "umt5"
          ? "each layer has a table of its own"
          : "the table lies in layer 0 and all layers of a stack share it");
  if (!both)
    return;
  size_t self = builder.add(
      make("decoder", fmt::format("t5_bucket(age, buckets = {}, far = {})",
                                  buckets, far)));
  size_t cross = builder.add(make("cross_attention", ""));
  builder.addStack(
      name + "_decoder",
      std::vector<std::vector<size_t>>(
          static_cast<size_t>(decoders.value_or(layers)), {self, cross}));
}

namespace {
struct AdditiveFamily {
  std::string_view type;
  void (*read)(ModelBuilder &builder);
};
} // namespace

static constexpr std::array<AdditiveFamily, 8> additiveFamilies = {{
    {"bloom", readBloom},
    {"mpt", readMpt},
    {"falcon", readFalcon},
    {"baichuan", readBaichuan},
    {"t5", readT5},
    {"mt5", readT5},
    {"umt5", readT5},
    {"switch_transformers", readT5},
}};

bool torsor::readAdditive(const std::string &type, ModelBuilder &builder) {
  for (const AdditiveFamily &family : additiveFamilies)
    if (family.type == type) {
      family.read(builder);
      return true;
    }
  return false;
}

std::vector<std::string> torsor::listAdditive() {
  std::vector<std::string> names;
  for (const AdditiveFamily &family : additiveFamilies)
    names.emplace_back(family.type);
  return names;
}
