// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoders with latent keys (MLA): lanes without position beside rotary ones.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/LatentReader.h"
#include "import/Text.h"

using namespace torsor;

static const LatentFamily latentFamilies[] = {
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3", .interleave = true},
    {.type = "deepseek_v32", .indexer = true},
    {.type = "kimi_k2", .base = 50'000, .interleave = true},
    {.type = "kimi_linear", .rope = {}},
    {.type = "longcat_flash", .base = 1e7},
    {.type = "glm4_moe_lite", .plain = 192, .value = 256, .interleave = true},
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
  bool usual = !config.mentions("rope_interleave"); // null is off
  return flag.value_or(usual) ? PairLayout::Adjacent : PairLayout::Split;
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

/// Kimi Linear's latent attention has no position; its checkpoints say so, and
/// the library does not ask.
bool LatentReader::isPlain() {
  if (family.type != "kimi_linear")
    return false;
  if (!config.readFlag({"mla_use_nope"}).value_or(true))
    builder.messages.error(
        fmt::format("{}: this family is known without positions alone",
                    config.quote("mla_use_nope")));
  return true;
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
  if (isPlain()) {
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

/// Layers of two attentions each; the other key counts attentions.
int64_t LatentReader::readPairs() {
  auto pairs = config.readInt({"num_layers"}, 1, 4096);
  auto attentions = config.readInt({"num_hidden_layers"}, 1, 8192);
  if (pairs && attentions && *attentions != *pairs && *attentions != 2 * *pairs)
    builder.messages.error(fmt::format(
        "{} and {} disagree: a layer has two attentions; remove one",
        config.quote("num_layers"), config.quote("num_hidden_layers")));
  builder.messages.note("each layer has two attentions, each with a cache of "
                        "its own, so the stack lists two for each layer");
  return pairs ? *pairs : (attentions.value_or(0) + 1) / 2;
}

void LatentReader::run() {
  builder.rope.begin(family.rope, family.type);
  heads = builder.readHeads();
  width = builder.readWidth();
  if (family.type == "longcat_flash")
    layers = readPairs();
  else
    layers = builder.readLayers();
  builder.model.longest =
      config.readInt({"max_position_embeddings"}).value_or(0);
  if (family.type == "kimi_linear")
    readKimi();
  else
    addLayers();
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
