// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which layers have a window, by the rule of each family: one row a config,
// with the windows of its layers as the library makes them.
#include "test/import/Support.h"

using namespace torsor;
using namespace torsor::test;

namespace {

std::string config(const std::string &type, const std::string &keys) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "head_dim": 16, "rope_theta": 1e4, )" +
         keys + "}";
}

/// The windows of all layers; 0: none.
std::vector<int> windowsOf(const Imported &out) {
  std::vector<int> windows;
  for (const Json &layer : out.json["layers"])
    windows.push_back(layer["window"].is_null() ? 0
                                                : layer["window"].get<int>());
  return windows;
}

const std::string mixed = R"("layer_types": ["sliding_attention",
  "full_attention", "sliding_attention", "full_attention"])";
const std::string early =
    R"("use_sliding_window": true, "sliding_window": 8,
  "max_window_layers": 2)";

const std::string half = R"("partial_rotary_factor": 0.5, )";

struct Row {
  const char *type;
  std::string keys;
  std::vector<int> windows;
};

TEST(FamilyLayers, HaveTheWindowsOfTheirFamily) {
  const Row rows[] = {
      {"mistral", R"("sliding_window": 8)", {8, 8, 8, 8}},
      {"mistral", R"("sliding_window": null)", {0, 0, 0, 0}},
      {"mistral", R"("num_key_value_heads": 2)", {4096, 4096, 4096, 4096}},
      {"ministral", R"("sliding_window": 8)", {8, 8, 8, 8}},
      {"ministral", R"("sliding_window": 8, )" + mixed, {8, 0, 8, 0}},
      {"dots1", R"("sliding_window": 8, "max_window_layers": 2)", {0, 0, 8, 8}},
      {"dots1", R"("sliding_window": 8)", {0, 0, 0, 0}},
      {"minimax",
       R"("sliding_window": 8, "layer_types": ["full_attention",
        "linear_attention", "linear_attention", "full_attention"])",
       {8, 0, 0, 8}},
      {"minimax", R"("sliding_window": 8)", {8, 0, 8, 0}},
      {"qwen2", early, {0, 0, 8, 8}},
      {"qwen3", early, {0, 0, 8, 8}},
      {"qwen2_moe", early, {8, 0, 0, 0}},
      {"qwen3_moe", early, {8, 8, 8, 8}},
      {"qwen2_moe",
       R"("use_sliding_window": false, "sliding_window": 0)",
       {0, 0, 0, 0}},
      {"qwen3",
       R"("use_sliding_window": true, "max_window_layers": 3)",
       {0, 0, 0, 4096}},
      {"smollm3", early, {0, 0, 0, 8}},
      {"smollm3", early + R"(, "no_rope_layers": [1, 0, 0, 1])", {0, 8, 8, 0}},
      {"smollm3", R"("sliding_window": 8, )" + mixed, {8, 0, 8, 0}},
      {"mimo_v2_flash", R"("partial_rotary_factor": 0.5)", {0, 129, 129, 129}},
      {"mimo_v2_flash", half + R"("sliding_window": 8)", {0, 8, 8, 8}},
      {"mimo_v2_flash", half + R"("sliding_window_size": 8)", {0, 9, 9, 9}},
      {"mimo_v2_flash",
       half + R"("sliding_window": 8, "sliding_window_size": 8,
        "hybrid_layer_pattern": [0, 1, 0, 1])",
       {0, 9, 0, 9}},
      {"cohere2",
       R"("sliding_window": 8, "sliding_window_pattern": 2)",
       {8, 0, 8, 0}},
      {"gemma3_text",
       R"("sliding_window": 8, "sliding_window_pattern": 3)",
       {8, 8, 0, 8}},
      {"gemma3_text",
       R"("sliding_window": 8, "sliding_window_pattern": 3,
        "_sliding_window_pattern": 3, )" +
           mixed,
       {8, 0, 8, 0}},
      {"gemma2",
       R"("sliding_window": 8, "sliding_window_pattern": 2)",
       {8, 0, 8, 0}},
      {"gemma2",
       R"("sliding_window": 8, "sliding_window_size": 8)",
       {8, 0, 8, 0}},
  };
  for (const Row &row : rows) {
    Imported out = readConfig(config(row.type, row.keys));
    EXPECT_EQ(out.errors, "") << row.type << " " << row.keys;
    if (!out.errors.empty())
      continue;
    EXPECT_EQ(windowsOf(out), row.windows) << row.type << " " << row.keys;
    EXPECT_EQ(checkProgram(out.result.model), "") << row.type;
  }
}

TEST(FamilyLayers, SayWhichLayersTheFlagIsFor) {
  EXPECT_HAS(readConfig(config("qwen2", early)).notes, "layers from 2 on");
  EXPECT_HAS(readConfig(config("qwen2_moe", early)).notes,
             "of the layers below 2 (max_window_layers), those of even number");
  EXPECT_HAS(readConfig(config("qwen3_moe", early)).notes, "all layers have");
  EXPECT_HAS(readConfig(config("smollm3", early)).notes,
             "layers that do not turn have");
}

// A list that the family's code does not look at would change nothing there.
TEST(FamilyLayers, RefuseListsThatTheFamilyDoesNotRead) {
  for (const char *type :
       {"mistral", "mixtral", "ministral3", "phi3", "phimoe", "starcoder2",
        "qwen3_moe", "llama", "granite", "glm4", "apertus"})
    EXPECT_HAS(readConfig(config(type, mixed)).errors,
               std::string("this key speaks of positions, but the family '") +
                   type + "' does not read it");
  for (const char *type : {"gemma2", "gemma3n_text", "gpt_oss", "olmo3"})
    EXPECT_HAS(
        readConfig(config(type, R"("sliding_window_pattern": 3)")).errors,
        "'sliding_window_pattern' = 3: this key speaks of positions")
        << type;
  EXPECT_HAS(
      readConfig(config("gemma3_text", R"("_sliding_window_pattern": 3)"))
          .errors,
      "'_sliding_window_pattern' = 3: this key speaks of positions");
  EXPECT_HAS(readConfig(config("gemma2", R"("sliding_window_size": 8)")).errors,
             "'sliding_window_size' = 8: this key speaks of positions");
}

struct Fault {
  const char *type;
  std::string keys, error;
};

TEST(FamilyLayers, RefuseContradictions) {
  const Fault faults[] = {
      {"qwen3", R"("sliding_window": 8, )" + mixed,
       "'use_sliding_window' is missing: 'layer_types' names sliding layers"},
      {"qwen2", R"("use_sliding_window": false, "sliding_window": 8, )" + mixed,
       "'use_sliding_window' = false contradicts 'layer_types'"},
      {"qwen2", R"("use_sliding_window": true, "sliding_window": 0)",
       "'sliding_window' = 0 must be an integer from 1"},
      {"smollm3", R"("use_sliding_window": true)",
       "'sliding_window' is missing: 'use_sliding_window' is true"},
      {"qwen2",
       R"("layer_types": ["full_attention", "full_attention",
        "full_attention", "linear_attention"])",
       "'layer_types' names \"linear_attention\" for layer 3, but layers of "
       "the family 'qwen2' are full_attention, sliding_attention"},
      {"llama4_text",
       R"("layer_types": ["full_attention", "full_attention",
        "full_attention", "sliding_attention"])",
       "are full_attention, chunked_attention"},
      {"mimo_v2_flash", R"("sliding_window": 8, "sliding_window_size": 16)",
       "'sliding_window' = 8 and 'sliding_window_size' = 16 disagree"},
  };
  for (const Fault &fault : faults)
    EXPECT_HAS(readConfig(config(fault.type, fault.keys)).errors, fault.error);
}

} // namespace
