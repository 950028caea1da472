// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with latent keys (MLA): lanes without position beside rotary ones.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/Build.h"
#include "import/Text.h"
#include "import/Unread.h"

using namespace torsor;

namespace {

struct LatentFamily {
  std::string_view type;
  double base = 10'000;
  PairLayout layout = PairLayout::Adjacent;
  int64_t plain = 128, turning = 64, value = 128, rank = 512;
  /// A second scorer picks the keys of each query.
  bool indexer = false;
  RopeFamily rope = {.allLanes = true};
  /// `rope_interleave` is read.
  bool interleave = false;
};

class LatentReader {
public:
  LatentReader(const LatentFamily &family, ModelBuilder &builder)
      : family(family), builder(builder), config(builder.config) {}
  void run();

private:
  const LatentFamily &family;
  ModelBuilder &builder;
  Reader &config;
  int64_t layers = 0, heads = 0, width = 0;
  /// Of the latent that keys and values are projected up from.
  int64_t rank = 0;

  int64_t readWidth(std::string_view key, int64_t low, int64_t usual);
  int64_t readTurningLanes(int64_t plain);
  PairLayout readLayout();
  ImportedScheme makeScheme();
  void setLatentScale(ImportedScheme &scheme, int64_t head);
  ImportedScheme makeKimiDelta(Reader &linear);
  void readKimi();
  ImportedScheme makeIndexer(const ImportedScheme &main);
};

} // namespace

static const LatentFamily latentFamilies[] = {
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3", .interleave = true},
    {.type = "deepseek_v32", .indexer = true},
    {.type = "kimi_k2", .base = 50'000, .interleave = true},
    {.type = "kimi_linear", .rope = {}},
    {.type = "longcat_flash", .base = 1e7},
    {.type = "glm4_moe_lite",
     .plain = 192,
     .value = 256,
     .rope = {.width = WidthKeys::Factor, .allLanes = true},
     .interleave = true},
    {.type = "glm_moe_dsa", .plain = 192, .value = 256, .indexer = true},
    {.type = "minicpm3",
     .layout = PairLayout::Split,
     .plain = 64,
     .turning = 32,
     .value = 64,
     .rank = 256},
};

/// A width of the two parts of a head, or of the value.
int64_t LatentReader::readWidth(std::string_view key, int64_t low,
                                int64_t usual) {
  if (auto given = config.readInt({key}, low, 1024))
    return *given;
  return config.wasReported(key) ? usual : builder.takeDefault(key, usual);
}

PairLayout LatentReader::readLayout() {
  // Where the family does not look at the key, it may still say what is so.
  if (!family.interleave) {
    if (config.has("rope_interleave") &&
        config.getObject()["rope_interleave"] ==
            (family.layout == PairLayout::Adjacent))
      config.passOver({"rope_interleave"});
    return family.layout;
  }
  auto flag = config.readFlag({"rope_interleave"});
  return flag.value_or(true) ? PairLayout::Adjacent : PairLayout::Split;
}

/// Checks the widths that a config states beside those of the two parts.
int64_t LatentReader::readTurningLanes(int64_t plain) {
  int64_t turning = readWidth("qk_rope_head_dim", 0, family.turning);
  auto whole = config.readInt({"qk_head_dim"}, 1, 1024);
  auto head = config.readInt({"head_dim"}, 1, 1024);
  int64_t sum = plain + turning;
  ImportMessages &messages = builder.messages;
  if ((whole && *whole != sum) || sum > 1024)
    messages.error(fmt::format(
        "{} contradicts 'qk_nope_head_dim' = {} and 'qk_rope_head_dim' = {}, "
        "whose sum it must be, at most 1024",
        config.quote("qk_head_dim"), plain, turning));
  // Some configs also keep hidden_size over heads there, which nothing reads.
  bool leftover = head && heads && width && *head == width / heads;
  if (head && *head != turning && *head != sum && !leftover)
    messages.error(fmt::format("{} is neither 'qk_rope_head_dim' = {} nor the "
                               "width of q and k, {}; remove it",
                               config.quote("head_dim"), turning, sum));
  if (builder.options.absorbed && rank + turning > 1024)
    messages.error(fmt::format(
        "{} and {} rotary lanes are a head of {}, but a head has at most 1024 "
        "lanes; leave --absorbed out",
        config.quote("kv_lora_rank"), turning, rank + turning));
  return turning;
}

/// The scale counts the lanes of a head after up-projection, whatever is
/// compiled, with YaRN's gain on all of them.
void LatentReader::setLatentScale(ImportedScheme &scheme, int64_t head) {
  bool absorbed = builder.options.absorbed;
  std::string root = absorbed ? fmt::format("sqrt({})", head) : "sqrt(D)";
  double plain = 1 / std::sqrt(static_cast<double>(head));
  if (absorbed)
    builder.setScale(scheme, plain, "1 / " + root,
                     "of a head's lanes after up-projection");
  if (!scheme.rotation || scheme.rotation->allLanes <= 0)
    return;
  const Rotation &rotation = *scheme.rotation;
  double gain = rotation.factor <= 1
                    ? 1
                    : 0.1 * rotation.allLanes * std::log(rotation.factor) + 1;
  std::string weight =
      rotation.allLanes == 1
          ? ""
          : fmt::format(", weight = {}", writeReal(rotation.allLanes));
  builder.setScale(scheme, gain * gain * plain,
                   fmt::format("yarn_gain({}{}) ^ 2 / {}",
                               writeReal(rotation.factor), weight, root),
                   "mscale_all_dim: its gain, squared, on every lane");
}

ImportedScheme LatentReader::makeScheme() {
  int64_t plain = readWidth("qk_nope_head_dim", 0, family.plain);
  auto given = config.readInt({"kv_lora_rank"}, 1, 1 << 16);
  rank = given.value_or(family.rank);
  if (builder.options.absorbed && !given)
    builder.takeDefault("kv_lora_rank", rank);
  int64_t turning = readTurningLanes(plain);
  // MiniCPM3 derives it; the others have a number of their own.
  bool derived = family.type == "minicpm3" && width && heads && width >= heads;
  int64_t value = readWidth("v_head_dim", 1,
                            derived ? std::min<int64_t>(width / heads, 1024)
                                    : family.value);
  bool absorbed = builder.options.absorbed;
  int64_t still = absorbed ? rank : plain;
  ImportedScheme scheme =
      builder.makeScheme(std::clamp<int64_t>(still + turning, 1, 1024));
  scheme.name = "latent_attention";
  scheme.value = absorbed ? std::min<int64_t>(rank, 1024) : value;
  scheme.valueInKey = absorbed;
  scheme.docs = {
      absorbed
          ? fmt::format("Absorbed: the key is the latent of {} lanes, then {} "
                        "rotary lanes, one for all heads; the value is the "
                        "latent.",
                        rank, turning)
          : fmt::format("After up-projection: {} lanes without position, then "
                        "{} that turn, one rotary key for all heads.",
                        plain, turning)};
  if (config.readFlag({"mla_use_nope"}).value_or(false)) {
    scheme.docs.emplace_back(
        "No position: the rotary lanes exist, but never turn.");
    config.passOver({"rope_theta", "rope_parameters", "rope_scaling"});
  } else {
    RopeRequest request;
    request.lanes = turning;
    request.layout = readLayout();
    request.base = family.base;
    scheme.rotation = builder.rope.resolve(request);
  }
  if (scheme.rotation) {
    scheme.before = still;
    scheme.after = turning - scheme.rotation->width;
  }
  setLatentScale(scheme, std::max<int64_t>(plain + turning, 1));
  return scheme;
}

/// Kimi Delta Attention: channel decays, then a delta correction.
ImportedScheme LatentReader::makeKimiDelta(Reader &linear) {
  int64_t head = linear.readInt({"head_dim"}, 1, 1024).value_or(128);
  auto bound = linear.readReal({"gate_lower_bound"}, -100);
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

void LatentReader::readKimi() {
  builder.stopped = true; // until the lists are read
  const Json *entry = config.find("linear_attn_config");
  ImportMessages &messages = builder.messages;
  if (!entry)
    return config.reportMissing("linear_attn_config",
                                "it lists the full and the linear layers");
  if (!entry->is_object())
    return messages.error(
        fmt::format("{} must be an object that lists the full and the linear "
                    "layers",
                    config.quote("linear_attn_config")));
  Reader linear(*entry, "linear_attn_config", messages);
  auto full = linear.readInts({"full_attn_layers"}, 1);
  auto kda = linear.readInts({"kda_layers"}, 1);
  if (!layers || !full) {
    if (messages.hasErrors())
      return;
    messages.error("a config of this family needs 'num_hidden_layers' and "
                   "'linear_attn_config.full_attn_layers'");
    return;
  }
  builder.stopped = false;
  size_t latent = builder.add(makeScheme());
  size_t delta = builder.add(makeKimiDelta(linear));
  std::vector<std::vector<size_t>> stack(static_cast<size_t>(layers), {delta});
  for (int64_t n : *full) // counted from 1
    if (n <= layers)
      stack[n - 1] = {latent};
    else
      messages.error(fmt::format("{} names layer {}, counted from 1, but there "
                                 "are {} layers",
                                 linear.quote("full_attn_layers"), n, layers));
  if (kda && full->size() + kda->size() != static_cast<size_t>(layers))
    messages.error(fmt::format(
        "{} and {} together name {} layers, but there are {}",
        linear.quote("full_attn_layers"), linear.quote("kda_layers"),
        full->size() + kda->size(), layers));
  linear.skip({"head_dim", "gate_lower_bound"});
  if (!messages.hasErrors())
    checkUnread(linear, builder.options, builder.model);
  messages.note("the lists of layers count from 1; the stack counts from 0");
  builder.addStack(builder.stackName(), std::move(stack));
}

/// The second scorer that picks keys: its rotary lanes come first, in the
/// other layout than the main path's.
ImportedScheme LatentReader::makeIndexer(const ImportedScheme &main) {
  int64_t head = config.readInt({"index_head_dim"}, 1, 1024).value_or(128);
  int64_t keys = config.readInt({"index_topk"}, 1).value_or(2048);
  config.skip({"index_n_heads"});
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
        family.layout == PairLayout::Adjacent && family.type == "deepseek_v32"
            ? PairLayout::Split
            : PairLayout::Adjacent;
    scheme.after = std::max<int64_t>(head - scheme.rotation->width, 0);
  }
  builder.messages.note(fmt::format(
      "each query sees the {} keys that 'indexer' picks; give its choice as a "
      "mask of your own: 'latent_attention' sees every key before the query",
      keys));
  return scheme;
}

void LatentReader::run() {
  builder.rope.begin(family.rope, family.type);
  heads = builder.readHeads();
  width = builder.readWidth();
  layers = builder.readLayers();
  builder.model.longest =
      config.readInt({"max_position_embeddings"}).value_or(0);
  if (family.type == "kimi_linear") {
    readKimi();
  } else {
    ImportedScheme scheme = makeScheme();
    std::vector<size_t> uses = {builder.add(scheme)};
    if (family.indexer)
      uses.push_back(builder.add(makeIndexer(scheme)));
    builder.addStack(
        builder.stackName(),
        std::vector<std::vector<size_t>>(
            static_cast<size_t>(std::max<int64_t>(layers, 1)), uses),
        layers == 0);
  }
  if (builder.options.absorbed)
    builder.messages.note(fmt::format(
        "absorbed: of each head, q is W_UK^T q_nope, then q_rope; there is one "
        "key head, the latent (behind its norm), then the rotary key; the "
        "output of a head is a latent, which W_UV takes to the values. "
        "'kv_b_proj' [heads, qk_nope_head_dim + v_head_dim, {}] holds W_UK, "
        "then W_UV, of each head",
        rank));
  else
    builder.messages.note(
        "keys and values are those after up-projection; for decoding over a "
        "cache of latents, import once more with --absorbed");
}

bool torsor::readLatent(const std::string &type, ModelBuilder &builder) {
  for (const LatentFamily &family : latentFamilies)
    if (family.type == type) {
      LatentReader(family, builder).run();
      return true;
    }
  return false;
}

std::vector<std::string> torsor::listLatent() {
  std::vector<std::string> names;
  for (const LatentFamily &family : latentFamilies)
    names.emplace_back(family.type);
  return names;
}
