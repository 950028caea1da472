// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys as the library saves them, or as published configs have them, where the
// family reads them in a way of its own, or does not at all.
#include "test/import/Support.h"

using namespace torsor;
using namespace torsor::test;

namespace {

std::string config(const std::string &type, const std::string &keys) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "num_attention_heads": 4, )" + keys + "}";
}

std::vector<int> headsOf(const Imported &out) {
  std::vector<int> heads;
  for (const Json &layer : out.json["layers"])
    heads.push_back(layer["head"]);
  return heads;
}

std::vector<std::string> schemesOf(const Imported &out) {
  std::vector<std::string> names;
  for (const Json &layer : out.json["layers"])
    names.push_back(layer["scheme"]);
  return names;
}

const std::string gemma4 = R"("head_dim": 16, "num_hidden_layers": 3,
  "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention",
  "sliding_attention"], )";

TEST(SavedConfigs, HeadsOfSingleLayers) {
  Imported out = readConfig(config("gemma4_text", gemma4 + R"(
    "per_layer_config": {"01": {"head_dim": 32}, "02": {"head_dim": 32,
    "num_key_value_heads": 2}})"));
  ASSERT_EQ(out.errors, "");
  EXPECT_EQ(headsOf(out), (std::vector<int>{16, 32, 32}));
  EXPECT_EQ(checkProgram(out.result.model), "");
  // The last layer of this family sees all keys, whatever it is named.
  EXPECT_TRUE(out.layer(2)["window"].is_null());
  EXPECT_HAS(out.warnings, "the last layer is named sliding");
  EXPECT_HAS(readConfig(config("gemma4_text", gemma4 + R"("global_head_dim": 32,
    "per_layer_config": {"3": {"head_dim": 32}})"))
                 .errors,
             "'per_layer_config.3' = {\"head_dim\":32}: it must be an object, "
             "and its key one of the 3 layers");
  EXPECT_HAS(readConfig(config("gemma4_text", gemma4 + R"(
    "per_layer_config": {"1": {"sliding_window": 4}})"))
                 .errors,
             "'per_layer_config.1.sliding_window' = 4: this key speaks of");
}

TEST(SavedConfigs, PicturesAndBothWaysOfGemma4) {
  Imported all = readConfig(config(
      "gemma4_text", gemma4 + R"("use_bidirectional_attention": "all")"));
  ASSERT_EQ(all.errors, "");
  EXPECT_EQ(all.layer(0)["window_left"], 4);
  EXPECT_EQ(all.layer(0)["window_right"], 4);
  EXPECT_EQ(all.layer(1)["causal"], false);
  ImportOptions pictures;
  pictures.images = true;
  std::string vision = gemma4 + R"("use_bidirectional_attention": "vision")";
  Imported seen = readConfig(config("gemma4_text", vision), pictures);
  ASSERT_EQ(seen.errors, "");
  EXPECT_EQ(seen.layer(0)["causal"], true);
  for (const ImportedScheme &scheme : seen.result.model.schemes)
    EXPECT_EQ(scheme.images, scheme.mask == MaskKind::Window) << scheme.name;
  EXPECT_HAS(
      readConfig(config("gemma4_text", gemma4 + R"("n": 1)"), pictures).errors,
      "--images: 'use_bidirectional_attention' = null");
  EXPECT_HAS(
      readConfig(config("gemma4_text",
                        gemma4 + R"("use_bidirectional_attention": "x")"))
          .errors,
      "must be \"all\", \"vision\" or null");
  // Families that are causal whatever the key says refuse it.
  EXPECT_HAS(readConfig(config("llama", R"("rope_theta": 1e4,
    "use_bidirectional_attention": true)"))
                 .errors,
             "'use_bidirectional_attention' = true: this key speaks of");
}

// Where the library's kinds of attention differ, a note says which is imported.
TEST(SavedConfigs, KindsOfAttentionThatDiffer) {
  const std::string both = R"("num_hidden_layers": 2, "head_dim": 16,
    "use_bidirectional_attention": )";
  for (const char *type : {"gemma", "gemma2"}) {
    Imported out = readConfig(config(type, both + "true"));
    ASSERT_EQ(out.errors, "") << type;
    EXPECT_EQ(out.layer(1)["causal"], false) << type;
    EXPECT_HAS(out.notes, "its eager attention stays causal");
  }
  for (const auto &[type, value] :
       {std::pair("gemma", "false"), std::pair("gemma3_text", "true")})
    EXPECT_EQ(readConfig(config(type, both + value)).notes.find("eager"),
              std::string::npos)
        << type;
  const std::string falcon = R"("num_hidden_layers": 2, "alibi": )";
  EXPECT_HAS(readConfig(config("falcon", falcon + "true")).notes,
             "its eager attention adds it twice");
  EXPECT_EQ(readConfig(config("falcon", falcon + "false")).notes.find("eager"),
            std::string::npos);
}

const std::string latent = R"("rope_theta": 1e4, "kv_lora_rank": 32,
  "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, )";

TEST(SavedConfigs, NullLayoutIsOff) {
  std::string sizes = latent + R"("num_hidden_layers": 1)";
  for (const auto &[keys, layout] :
       {std::pair("", "adjacent"),
        std::pair(R"(, "rope_interleave": null)", "split"),
        std::pair(R"(, "rope_interleave": true)", "adjacent"),
        std::pair(R"(, "rope_interleave": false)", "split")})
    EXPECT_EQ(
        readConfig(config("deepseek_v3", sizes + keys)).layer(0)["layout"],
        layout)
        << keys;
}

TEST(SavedConfigs, ScorersOfSingleLayers) {
  std::string sizes = latent + R"("num_hidden_layers": 4, "index_head_dim": 16,
    "layer_types": ["indexed_attention", "indexed_attention",
    "indexed_attention", "indexed_attention"], "rope_interleave": true, )";
  using Names = std::vector<std::string>;
  const std::string a = "latent_attention", b = "indexer";
  Imported every = readConfig(config("deepseek_v32", sizes + R"("n": 1)"));
  ASSERT_EQ(every.errors, "");
  EXPECT_EQ(schemesOf(every), (Names{a, b, a, b, a, b, a, b}));
  for (const char *keys :
       {R"("indexer_types": ["full", "shared", "shared", "full"])",
        R"("index_topk_pattern": "FSSF")",
        R"("index_topk_pattern": ["full", "shared", "shared", "full"])",
        R"("index_topk_freq": 3, "index_skip_topk_offset": 1)"}) {
    Imported some = readConfig(config("glm_moe_dsa", sizes + keys));
    ASSERT_EQ(some.errors, "") << keys;
    EXPECT_EQ(schemesOf(some), (Names{a, a, a, a, b, b})) << keys;
    EXPECT_HAS(some.notes, "layers [0, 3] of 'glm_moe_dsa' have a scorer each");
    EXPECT_EQ(checkProgram(some.result.model), "") << keys;
  }
  EXPECT_HAS(readConfig(config("glm_moe_dsa",
                               sizes + R"("index_topk_pattern": "FSXF")"))
                 .errors,
             "must hold \"full\" or \"shared\"");
}

TEST(SavedConfigs, KimiLinearWithoutItsLists) {
  std::string sizes = latent + R"("linear_head_dim": 16, )";
  Imported own =
      readConfig(config("kimi_linear", sizes + R"("num_hidden_layers": 6)"));
  ASSERT_EQ(own.errors, "");
  using Names = std::vector<std::string>;
  EXPECT_EQ(schemesOf(own),
            (Names{"kda", "kda", "kda", "kda", "latent_attention", "kda"}));
  EXPECT_EQ(own.layer(4)["rotary_width"], 0); // it has no position
  Imported list = readConfig(config("kimi_linear", sizes + R"("layer_types":
    ["full_attention", "linear_attention"])"));
  ASSERT_EQ(list.errors, "");
  EXPECT_EQ(schemesOf(list), (Names{"latent_attention", "kda"}));
  EXPECT_HAS(readConfig(config("deepseek_v3", latent + R"("mla_use_nope":
    true)"))
                 .errors,
             "'mla_use_nope' = true: this key speaks of positions");
}

TEST(SavedConfigs, TwoAttentionsInALayerOfLongcat) {
  for (const char *keys : {R"("num_layers": 2)", R"("num_hidden_layers": 4)",
                           R"("num_layers": 2, "num_hidden_layers": 4)"}) {
    Imported out = readConfig(config("longcat_flash", latent + keys));
    ASSERT_EQ(out.errors, "");
    ASSERT_EQ(out.json["layers"].size(), 4u) << keys;
    EXPECT_EQ(out.layer(1)["layer"], 0);
    EXPECT_HAS(out.notes, "each layer has two attentions");
    EXPECT_EQ(checkProgram(out.result.model), "");
  }
}

TEST(SavedConfigs, ScaleOfLatentLanesUnderAnyRescaling) {
  double plain = 1 / std::sqrt(24.0), gain = 0.1 * std::log(4.0) + 1;
  for (const char *rule :
       {R"("linear")", R"("yarn")", R"("dynamic")",
        R"("llama3", "low_freq_factor": 1, "high_freq_factor": 4)"}) {
    Imported out =
        readConfig(config(
            "deepseek_v3", latent + R"("num_hidden_layers": 1, "rope_scaling":
      {"original_max_position_embeddings": 64, "factor": 4, "mscale_all_dim": 1,
       "rope_type": )" + rule + "}"));
    ASSERT_EQ(out.errors, "") << rule;
    EXPECT_NEAR(out.layer(0)["scale"], plain * gain * gain, 1e-15) << rule;
  }
}

TEST(SavedConfigs, HeadsAndListsOfStep) {
  Imported out = readConfig(config("step3p5", R"("head_dim": 16,
    "num_hidden_layers": 2, "num_nextn_predict_layers": 1, "sliding_window": 8,
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    "rope_theta": [5e6, 1e4, 5e6], "partial_rotary_factors": [0.5, 1.0, 0.5],
    "query_pre_attn_scalar": 25, "num_sliding_attention_heads": 8,
    "attention_other_setting": {"attention_type": "sliding_attention",
    "num_attention_heads": 8, "head_dim": 16, "true_head_dim": 16})"));
  ASSERT_EQ(out.errors, "");
  ASSERT_EQ(out.json["layers"].size(), 2u);
  EXPECT_EQ(out.layer(0)["rotary_width"], 8);
  EXPECT_EQ(out.layer(0)["base"], 5e6);
  EXPECT_EQ(out.layer(1)["window"], 8);
  EXPECT_DOUBLE_EQ(out.layer(1)["scale"], 0.2);
}

struct Row {
  const char *type;
  std::string keys, ignored;
};

// What only repeats what the family does is passed over, and listed.
TEST(SavedConfigs, KeysThatRepeatWhatIsSo) {
  std::string sizes = R"("num_hidden_layers": 2, "head_dim": 16, )";
  const Row rows[] = {
      {"minimax_m2", R"("rope_theta": 1e4, "attn_type_list": [1, 1])",
       "attn_type_list"},
      {"hunyuan_v1_dense", R"("rope_theta": 1e4, "attention_head_dim": 16)",
       "attention_head_dim"},
      {"nemotron_h", R"("layers_block_type": ["moe", "attention"],
        "rope_theta": 1e4, "attention_head_dim": 16)",
       "rope_theta"},
      {"mimo_v2_flash", R"("partial_rotary_factor": 0.5, "sliding_window": 8,
        "attention_chunk_size": 8)",
       "attention_chunk_size"},
  };
  for (const Row &row : rows) {
    Imported out = readConfig(config(row.type, sizes + row.keys));
    ASSERT_EQ(out.errors, "") << row.type;
    const Json &list = out.json["ignored"];
    EXPECT_NE(std::find(list.begin(), list.end(), row.ignored), list.end())
        << list;
  }
  for (const Row &row :
       {Row{"minimax_m2", R"("attn_type_list": [1, 0])", "attn_type_list"},
        Row{"hunyuan_v1_dense", R"("attention_head_dim": 8)",
            "attention_head_dim"},
        Row{"mimo_v2_flash", R"("partial_rotary_factor": 0.5,
          "sliding_window": 8, "attention_chunk_size": 4)",
            "attention_chunk_size"},
        Row{"llama", R"("swa_head_dim": 24)", "swa_head_dim"},
        Row{"llama", R"("v_head_dim": 8)", "v_head_dim"},
        Row{"opt", R"("scale_attn_weights": true)", "scale_attn_weights"},
        Row{"gpt_bigcode", R"("scale_attn_by_inverse_layer_idx": true)",
            "scale_attn_by_inverse_layer_idx"},
        Row{"llama", R"("attn_logit_softcapping": 50)",
            "attn_logit_softcapping"}})
    EXPECT_HAS(readConfig(config(row.type, sizes + row.keys)).errors,
               "'" + row.ignored + "' = ")
        << row.type;
}

TEST(SavedConfigs, SizesAndScalesInOtherWords) {
  Imported xglm = readConfig(R"({"model_type": "xglm", "d_model": 64,
    "num_layers": 1, "attention_heads": 4})");
  ASSERT_EQ(xglm.errors, "");
  EXPECT_EQ(xglm.layer(0)["head"], 16);
  Imported granite = readConfig(config("granite", R"("num_hidden_layers": 1,
    "rope_theta": 1e4)"));
  ASSERT_EQ(granite.errors, "");
  EXPECT_EQ(granite.layer(0)["scale"], 1.0);
  EXPECT_HAS(granite.warnings, "the config has no 'attention_multiplier'");
  Imported bert = readConfig(config("modernbert", R"("num_hidden_layers": 2,
    "sliding_window": 8)"));
  ASSERT_EQ(bert.errors, "");
  EXPECT_EQ(bert.layer(1)["window_left"], 8); // it counts one side
  EXPECT_HAS(readConfig(config("esm", R"("num_hidden_layers": 2)")).errors,
             "'position_embedding_type' is missing");
  Imported yarn = readConfig(
      llama(R"("head_dim": 16, "rope_parameters": {"rope_type": "yarn",
      "rope_theta": 1e4, "factor": 2, "truncate": null,
      "original_max_position_embeddings": 64})"));
  ASSERT_EQ(yarn.errors, "");
  EXPECT_FALSE(yarn.result.model.schemes[0].rotation->truncate);
}

} // namespace
