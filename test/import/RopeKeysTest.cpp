// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of the rotary part of a config, each family reads keys of its own: what it
// does not read is refused, what it takes where the config is silent is said.
#include "test/import/Support.h"

using namespace torsor;
using namespace torsor::test;

namespace {

/// Sizes with 128 lanes a head, and no key of the rotary part.
std::string config(const std::string &type, const std::string &keys) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 512, "num_hidden_layers": 6,
    "num_attention_heads": 4, "head_dim": 128, "max_position_embeddings": 4096,
    )" + keys +
         "}";
}

struct Fault {
  const char *type, *keys, *key;
};

TEST(RopeKeys, ThatTheFamilyDoesNotReadAreRefused) {
  const Fault faults[] = {
      {"llama", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"qwen3", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"mistral", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"gemma2", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"gpt_oss", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"deepseek_v3", R"("partial_rotary_factor": 0.5)",
       "partial_rotary_factor"},
      {"hunyuan_v1_dense", R"("partial_rotary_factor": 0.5)",
       "partial_rotary_factor"},
      {"hunyuan_v1_moe", R"("rotary_pct": 0.5)", "rotary_pct"},
      {"hunyuan_v1_dense", R"("rotary_dim": 64)", "rotary_dim"},
      {"llama", R"("rotary_pct": 0.5)", "rotary_pct"},
      {"llama", R"("rotary_dim": 64)", "rotary_dim"},
      {"phi", R"("rotary_dim": 64)", "rotary_dim"},
      {"stablelm", R"("rotary_dim": 64)", "rotary_dim"},
      {"stablelm", R"("rope_pct": 0.5)", "rope_pct"},
      {"glm", R"("rotary_pct": 0.5)", "rotary_pct"},
      {"llama", R"("rotary_emb_base": 100)", "rotary_emb_base"},
      {"gpt_neox", R"("rope_theta": 100)", "rope_theta"},
      {"gpt_neox", R"("partial_rotary_factor": 0.5)", "partial_rotary_factor"},
      {"gptj", R"("rotary_dim": 64, "rope_theta": 100)", "rope_theta"},
      {"chatglm", R"("rope_theta": 100)", "rope_theta"},
      {"gemma4_text", R"("rope_theta": 100)", "rope_theta"},
      {"mimo_v2_flash", R"("rope_scaling": {"type": "linear", "factor": 2})",
       "rope_scaling"},
      {"glm4_moe_lite", R"("partial_rotary_factor": 0.5)",
       "partial_rotary_factor"},
      {"minicpm3", R"("rope_interleave": true)", "rope_interleave"},
  };
  for (const Fault &fault : faults)
    EXPECT_HAS(readConfig(config(fault.type, fault.keys)).errors,
               std::string("'") + fault.key + "' = ")
        << fault.type;
}

TEST(RopeKeys, OfBlocksThatTheFamilyDoesNotReadAreRefused) {
  const Fault faults[] = {
      {"llama", R"("rope_type": "default", "partial_rotary_factor": 0.5)",
       "partial_rotary_factor"},
      {"llama", R"("rope_type": "yarn", "factor": 2, "rotary_dim": 64)",
       "rotary_dim"},
      {"llama", R"("rope_type": "default", "mrope_section": [16, 24, 24])",
       "mrope_section"},
      {"llama", R"("rope_type": "default", "llama_4_scaling_beta": 0.1)",
       "llama_4_scaling_beta"},
      {"llama", R"("rope_type": "dynamic", "factor": 2, "alpha": 100)",
       "alpha"},
  };
  for (const Fault &fault : faults)
    EXPECT_HAS(readConfig(config(fault.type,
                                 R"("rope_parameters": {"rope_theta": 1e4, )" +
                                     std::string(fault.keys) + "}"))
                   .errors,
               std::string(fault.key) + "' = ");
}

// The library stretches from 'max_position_embeddings' on, whatever stands
// there.
TEST(RopeKeys, OfAnotherTrainedLengthAreRefusedWhereNobodyReadsThem) {
  auto errors = [](int64_t original) {
    return readConfig(
               config(
                   "llama",
                   R"("rope_parameters": {"rope_theta": 1e4, "rope_type": "dynamic",
        "factor": 2, "original_max_position_embeddings": )" +
                       std::to_string(original) + "}"))
        .errors;
  };
  EXPECT_EQ(errors(4096), "");
  EXPECT_HAS(errors(32), "this rule begins to stretch at "
                         "'max_position_embeddings' = 4096");
}

TEST(RopeKeys, OfPromptsThatSeeBothWaysAreRefused) {
  EXPECT_HAS(readConfig(R"({"model_type": "paligemma", "text_config": {
      "model_type": "gemma", "num_hidden_layers": 2, "head_dim": 8,
      "use_bidirectional_attention": true}})")
                 .errors,
             "add 'input prefix: i32 per sequence' and 'or j < prefix'");
}

// A whole head is what the family turns anyway.
TEST(RopeKeys, OfWholeHeadsArePassedOver) {
  Imported out = readConfig(
      config("llama", R"("rope_theta": 1e4, "partial_rotary_factor": 1.0)"));
  EXPECT_EQ(out.errors + out.warnings, "");
  EXPECT_EQ(out.json["ignored"], Json({"partial_rotary_factor"}));
}

struct Own {
  const char *type;
  double base;
  int lanes;
};

TEST(RopeKeys, BasesAndWidthsOfTheFamilies) {
  const Own families[] = {
      {"llama", 1e4, 128},
      {"cohere", 5e5, 128},
      {"helium", 1e5, 128},
      {"olmo2", 1e4, 128},
      {"exaone4", 1e4, 128},
      {"persimmon", 1e4, 64},
      {"phimoe", 1e6, 128},
      {"minimax", 1e6, 128},
      {"nomic_bert", 1e3, 128},
      {"qwen3_vl_text", 5e5, 128},
      {"mixtral", 1e6, 128},
      {"minimax_m2", 5e6, 128},
      {"qwen2_vl_text", 1e6, 128},
      {"qwen3_next", 1e4, 32},
      {"qwen3_vl_moe_text", 5e5, 128},
  };
  for (const Own &own : families) {
    Imported out = readConfig(config(own.type, R"("num_key_value_heads": 4)"));
    ASSERT_EQ(out.errors, "") << own.type;
    // Of stacks with states, the first layer of attention.
    for (const Json &layer : out.json["layers"])
      if (layer.contains("base")) {
        EXPECT_EQ(layer["base"], own.base) << own.type;
        EXPECT_EQ(layer["rotary_width"], own.lanes) << own.type;
        break;
      }
    EXPECT_HAS(out.warnings, "the config has no 'rope_theta'; this family's "
                             "own default, ");
  }
}

TEST(RopeKeys, BlocksOfTheFamiliesOwnAreTakenWithAWarning) {
  Imported oss = readConfig(config("gpt_oss", R"("sliding_window": 8)"));
  ASSERT_EQ(oss.errors, "");
  EXPECT_HAS(oss.warnings, "the config has no 'rope_parameters'");
  EXPECT_DOUBLE_EQ(oss.layer(0)["gain_q"], 1.3465735902799727);
  EXPECT_EQ(oss.layer(0)["base"], 150000);
  Imported apertus = readConfig(config("apertus", R"("qk_norm": true)"));
  ASSERT_EQ(apertus.errors, "");
  expectFrequency(apertus, 0, 63, std::pow(12e6, -126.0 / 128) / 8, 1e-12);
  Imported ministral = readConfig(config("ministral3", R"("n": 1)"));
  ASSERT_EQ(ministral.errors, "");
  EXPECT_EQ(ministral.layer(0)["gain_q"], 1.0);
  EXPECT_EQ(ministral.layer(0)["query_gain"]["period"], 16384);
  expectFrequency(ministral, 0, 63, std::pow(1e6, -126.0 / 128) / 16, 1e-12);
  Imported gemma = readConfig(config("gemma4_text", R"("n": 1)"));
  ASSERT_EQ(gemma.errors, "");
  EXPECT_EQ(gemma.layer(5)["rotary_width"], 128);
  EXPECT_EQ(gemma.layer(5)["head"], 512);
  EXPECT_EQ(gemma.layer(0)["base"], 1e4);
  EXPECT_HAS(gemma.warnings, "the config has no 'global_head_dim'");
  // What the config says beside the family's block must not differ from it.
  EXPECT_HAS(readConfig(config("apertus", R"("rope_theta": 1e4)")).errors,
             "disagree");
  EXPECT_HAS(
      readConfig(config("apertus", R"("original_max_position_embeddings": 32)"))
          .errors,
      "disagree");
}

TEST(RopeKeys, ClocksOfTheFamiliesOwn) {
  struct {
    const char *type;
    std::vector<int64_t> sections;
    bool interleaved;
  } const families[] = {
      {"qwen2_vl", {16, 24, 24}, false},
      {"qwen2_vl_text", {16, 24, 24}, false},
      {"qwen2_5_vl_text", {16, 24, 24}, false},
      {"qwen3_vl_text", {24, 20, 20}, true},
      {"qwen3_vl_moe_text", {24, 20, 20}, true},
  };
  for (const auto &family : families) {
    Imported out = readConfig(config(family.type, R"("rope_theta": 1e6)"));
    ASSERT_EQ(out.errors, "") << family.type;
    const Rotation &rotation = *out.result.model.schemes[0].rotation;
    EXPECT_EQ(rotation.sections, family.sections) << family.type;
    EXPECT_EQ(rotation.interleaved, family.interleaved) << family.type;
    EXPECT_HAS(out.warnings, "the config has no 'mrope_section'");
  }
  std::string given = R"("rope_parameters": {"rope_type": "default",
    "rope_theta": 5e6, "mrope_section": [24, 20, 20])";
  EXPECT_TRUE(readConfig(config("qwen3_vl_text", given + "}"))
                  .result.model.schemes[0]
                  .rotation->interleaved);
  EXPECT_HAS(readConfig(config("qwen3_vl_text",
                               given + R"(, "mrope_interleaved": false})"))
                 .errors,
             "its clocks are always interleaved");
  EXPECT_HAS(readConfig(config("glm4v_text", R"("rope_theta": 1e4)")).errors,
             "'mrope_section' = [8, 12, 12] must be three numbers");
}

TEST(RopeKeys, ABlockForEachLayerTypeOrOneForAll) {
  const char *flat = R"("sliding_window": 8, "rope_parameters":
    {"rope_type": "linear", "factor": 8, "rope_theta": 1e6})";
  for (const char *type :
       {"gemma3_text", "gemma3n_text", "olmo3", "gemma4_text", "modernbert"})
    EXPECT_HAS(readConfig(config(type, flat)).errors,
               "has a block for each layer type, and reads nothing beside them")
        << type;
  EXPECT_HAS(readConfig(config("qwen3", R"("rope_parameters":
    {"full_attention": {"rope_theta": 1e6}})"))
                 .errors,
             "the family 'qwen3' reads one block for all layers");
  EXPECT_HAS(readConfig(config("llama", R"("rope_scaling":
    {"ful_attention": {"rope_theta": 1e6}})"))
                 .errors,
             "'rope_scaling' = ");
  std::string nested = R"("sliding_window": 8, "rope_parameters":
    {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
     "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}, )";
  EXPECT_EQ(
      readConfig(config("gemma3_text", nested + R"("rope_theta": 1e6)")).errors,
      "");
  EXPECT_HAS(
      readConfig(config("gemma3_text", nested + R"("rope_theta": 7e6)")).errors,
      "'rope_theta' = 7000000.0 disagree");
  EXPECT_HAS(readConfig(config("gemma3_text",
                               nested + R"("rope_local_base_freq": 7e6)"))
                 .errors,
             "'rope_local_base_freq' = 7000000.0 disagree");
}

// What the library makes of these differs from what they say.
TEST(RopeKeys, ThatTheLibraryDropsHalfwayAreRefused) {
  EXPECT_HAS(readConfig(config("olmo3", R"("sliding_window": 8,
    "rope_theta": 1e4)"))
                 .errors,
             "'rope_theta' = 10000.0: for this family, the library gives it to "
             "full layers alone, and 500_000 to windowed ones");
  EXPECT_EQ(readConfig(config("olmo3", R"("sliding_window": 8,
    "rope_theta": 5e5)"))
                .errors,
            "");
  EXPECT_HAS(readConfig(config("mimo_v2_flash", R"("rope_parameters":
    {"full_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 1e6},
     "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})"))
                 .errors,
             "'rope_parameters.full_attention.partial_rotary_factor' is "
             "missing");
}

TEST(RopeKeys, ThatTheLibraryDoesNotReadInBlocksOfLayerTypes) {
  auto rounded = [](const char *flag) {
    return config("olmo3",
                  R"("sliding_window": 8, "rope_parameters":
      {"full_attention": {"rope_type": "yarn", "factor": 2, "rope_theta": 5e5,
       "original_max_position_embeddings": 64, "truncate": )" +
                      std::string(flag) + R"(},
       "sliding_attention": {"rope_type": "default", "rope_theta": 5e5}})");
  };
  EXPECT_HAS(readConfig(rounded("false")).errors,
             "'rope_parameters.full_attention.truncate' = false: in blocks of "
             "layer types");
  EXPECT_EQ(readConfig(rounded("true")).errors, "");
}

TEST(RopeKeys, BesideTheBlocksOfMimoAreItsOwnCodes) {
  Imported out = readConfig(config("mimo_v2_flash", R"("rope_theta": 640000,
    "swa_rope_theta": 1e4, "partial_rotary_factor": 0.5)"));
  ASSERT_EQ(out.errors, "");
  EXPECT_EQ(out.layer(0)["base"], 640000);
  EXPECT_HAS(out.warnings, "'rope_theta' = 640000 is taken, as the model's own "
                           "code does; the library takes 5_000_000");
  EXPECT_HAS(out.warnings, "'partial_rotary_factor' = 0.5 is taken");
  EXPECT_FALSE(has(out.warnings, "swa_rope_theta"));
}

TEST(RopeKeys, LanesOfTheFamiliesOwn) {
  for (const char *type : {"gptj", "codegen"}) {
    Imported out = readConfig(config(type, R"("n": 1)"));
    ASSERT_EQ(out.errors, "");
    EXPECT_EQ(out.layer(0)["rotary_width"], 64) << type;
    EXPECT_HAS(out.warnings, "the config has no 'rotary_dim'");
    EXPECT_EQ(readConfig(config(type, R"("rotary_dim": null)"))
                  .layer(0)["rotary_width"],
              128);
  }
}

TEST(RopeKeys, TheUsersGainIsOnEveryRotatedLayer) {
  ImportOptions options;
  options.gain = 1.5;
  for (const char *type : {"llama", "gemma3_text", "falcon", "nomic_bert"}) {
    Imported out =
        readConfig(config(type, R"("num_key_value_heads": 4)"), options);
    ASSERT_EQ(out.errors, "") << type;
    for (const Json &layer : out.json["layers"])
      EXPECT_EQ(layer["gain_q"], 1.5) << type;
    EXPECT_HAS(writeModel(out.result.model), "by = 1.5)");
    EXPECT_EQ(checkProgram(out.result.model), "") << type;
  }
  EXPECT_HAS(readConfig(R"({"model_type": "bloom", "n_layer": 2, "n_head": 4,
    "hidden_size": 64})",
                        options)
                 .errors,
             "--gain 1.5: no layer of this config has rotated lanes");
}

} // namespace
