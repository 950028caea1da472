// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configs that went wrong in the field, named by the id of their report: where
// keys stand, and what they say together.
#include "test/import/Support.h"

using namespace torsor;
using namespace torsor::test;

namespace {

TEST(FieldImport, CFG_01_TypeAndRopeType) {
  std::string head = R"("head_dim": 4, "rope_theta": 10000, "rope_scaling": )";
  Imported a = readConfig(llama(head + R"({"type": "linear", "factor": 8.0})"));
  Imported b = readConfig(llama(
      head + R"({"type": "linear", "rope_type": "linear", "factor": 8.0})"));
  Imported c = readConfig(llama(
      head + R"({"type": "yarn", "rope_type": "linear", "factor": 8.0})"));
  ASSERT_EQ(a.errors + b.errors, "");
  EXPECT_EQ(a.layer(0)["frequencies"], Json({0.125, 0.00125}));
  EXPECT_EQ(b.layer(0)["frequencies"], a.layer(0)["frequencies"]);
  EXPECT_HAS(c.errors, "'rope_scaling.type' = \"yarn\"");
  EXPECT_HAS(c.errors, "'rope_scaling.rope_type' = \"linear\"");
}

TEST(FieldImport, CFG_03_FiveKeysAndEachMissing) {
  Json block = {{"rope_type", "llama3"},
                {"factor", 32.0},
                {"low_freq_factor", 1.0},
                {"high_freq_factor", 4.0},
                {"original_max_position_embeddings", 8192}};
  auto config = [](const Json &scaling) {
    return llama(R"("head_dim": 64, "rope_theta": 500000, "rope_scaling": )" +
                 scaling.dump());
  };
  Imported whole = readConfig(config(block));
  ASSERT_EQ(whole.errors, "");
  expectFrequency(whole, 0, 14, 0.00321144599);
  expectFrequency(whole, 0, 16, 0.000429556797);
  expectFrequency(whole, 0, 18, 1.94616382e-05);
  expectFrequency(whole, 0, 31, 9.41830673e-08);
  for (const char *key : {"factor", "low_freq_factor", "high_freq_factor",
                          "original_max_position_embeddings"}) {
    Json less = block;
    less.erase(key);
    EXPECT_HAS(readConfig(config(less)).errors,
               std::string("'rope_scaling.") + key + "' is missing");
  }
}

TEST(FieldImport, CFG_05_WhereTheBaseStands) {
  Imported a = readConfig(llama(R"("head_dim": 128, "rope_parameters":
    {"rope_type": "default", "rope_theta": 1000000.0})"));
  Imported b = readConfig(llama(
      R"("head_dim": 128, "rope_theta": 1000000.0, "rope_scaling": null)"));
  Imported c = readConfig(llama(R"("head_dim": 128, "rope_theta": 10000.0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0})"));
  ASSERT_EQ(a.errors + b.errors, "");
  EXPECT_EQ(a.layer(0)["frequencies"], b.layer(0)["frequencies"]);
  expectFrequency(a, 0, 1, 0.8058421877614819, 1e-15);
  expectFrequency(a, 0, 63, 1.2409377607517195e-06, 1e-15);
  EXPECT_HAS(c.errors, "'rope_parameters.rope_theta' = 1000000.0");
  EXPECT_HAS(c.errors, "'rope_theta' = 10000.0");
  EXPECT_HAS(readConfig(llama(R"("head_dim": 128)")).warnings,
             "no 'rope_theta'");
}

TEST(FieldImport, CFG_07_BlocksOfLayerTypes) {
  std::string sizes = R"({"model_type": "olmo3", "head_dim": 128,
    "sliding_window": 64, "layer_types": ["sliding_attention",
    "full_attention"], "rope_parameters": {"full_attention": {"rope_type":
    "yarn", "factor": 8.0, "original_max_position_embeddings": 4096,
    "rope_theta": 500000.0})";
  Imported both = readConfig(sizes + R"(, "sliding_attention":
    {"rope_type": "default", "rope_theta": 10000.0}}})");
  ASSERT_EQ(both.errors, "");
  EXPECT_EQ(both.layer(0)["base"], 10000.0);
  EXPECT_EQ(both.layer(0)["gain_q"], 1.0);
  EXPECT_EQ(both.layer(1)["base"], 500000.0);
  EXPECT_DOUBLE_EQ(both.layer(1)["gain_q"], 1.2079441541679836);
  EXPECT_HAS(readConfig(sizes + "}}").errors, "none for 'sliding_attention'");
}

TEST(FieldImport, CFG_09_GainOfTwoMscales) {
  auto gain = [](const std::string &keys, ImportOptions options = {}) {
    Imported out = readConfig(
        llama(R"("head_dim": 128, "rope_theta": 10000, "rope_scaling":
      {"type": "yarn", "factor": 16, "original_max_position_embeddings": 4096)" +
              keys + "}"),
        options);
    EXPECT_EQ(out.errors, "");
    EXPECT_EQ(out.layer(0)["gain_q"], out.layer(0)["gain_k"]);
    return out.layer(0)["gain_q"].get<double>();
  };
  EXPECT_EQ(gain(R"(, "mscale": 1.0, "mscale_all_dim": 1.0)"), 1.0);
  EXPECT_EQ(gain(R"(, "mscale": 0.707, "mscale_all_dim": 0.707)"), 1.0);
  EXPECT_DOUBLE_EQ(gain(R"(, "mscale": 1.0)"), 1.2772588722239782);
  EXPECT_DOUBLE_EQ(gain(R"(, "mscale": 1.0, "mscale_all_dim": 0)"),
                   1.2772588722239782);
  // A model that means it otherwise: the user's own factor.
  ImportOptions own;
  own.gain = 1.5;
  EXPECT_EQ(gain(R"(, "mscale": 1.0, "mscale_all_dim": 1.0)", own), 1.5);
}

TEST(FieldImport, CFG_11_ExplicitFactorWins) {
  Imported out = readConfig(llama(R"("head_dim": 128, "rope_theta": 1e6,
    "max_position_embeddings": 40960, "rope_scaling": {"rope_type": "yarn",
    "factor": 4.0, "original_max_position_embeddings": 32768})"));
  ASSERT_EQ(out.errors, "");
  EXPECT_DOUBLE_EQ(out.layer(0)["gain_q"], 1.138629436111989);
  expectFrequency(out, 0, 63, 3.1023444e-07, 1e-8);
  expectFrequency(out, 0, 40, 4.44569853e-05, 1e-8);
  EXPECT_HAS(out.notes, "would imply 1.25");
}

std::string twoLists(const std::string &type, size_t entries,
                     const std::string &rest = "") {
  Json scaling = {{"type", type},
                  {"short_factor", std::vector<double>(entries, 1.0)},
                  {"long_factor", std::vector<double>(entries, 2.0)}};
  return R"({"model_type": "phi3", "num_hidden_layers": 1, "head_dim": 128,
    "partial_rotary_factor": 0.75, "rope_theta": 10000,
    "original_max_position_embeddings": 4096, "max_position_embeddings":
    131072, "rope_scaling": )" +
         scaling.dump() + rest + "}";
}

TEST(FieldImport, CFG_13_TwoListsAndTheirLength) {
  Imported out = readConfig(twoLists("su", 48));
  ASSERT_EQ(out.errors, "");
  EXPECT_DOUBLE_EQ(out.layer(0)["gain_q"], 1.1902380714238083);
  EXPECT_EQ(out.result.model.schemes[0].rotation->factor, 32.0);
}

TEST(FieldImport, CFG_15_OddWidths) {
  auto errors = [](const std::string &keys) {
    return readConfig(R"({"model_type": "minimax_m2", "num_hidden_layers": 1,
      "rope_theta": 10000, "head_dim": 65)" +
                      keys + "}")
        .errors;
  };
  EXPECT_HAS(errors(""), "65");
  EXPECT_HAS(errors(R"(, "rotary_dim": 33)"), "33 is odd");
  EXPECT_HAS(errors(R"(, "rotary_dim": 66)"), "66 is larger than the head, 65");
  EXPECT_EQ(errors(R"(, "rotary_dim": 32)"), "");
  Imported none = readConfig(R"({"model_type": "minimax_m2", "head_dim": 65,
    "num_hidden_layers": 1, "rope_theta": 10000, "rotary_dim": 0})");
  ASSERT_EQ(none.errors, "");
  EXPECT_EQ(none.layer(0)["rotary_width"], 0);
  EXPECT_HAS(none.notes, "nothing turns");
}

TEST(FieldImport, CFG_17_EveryRuleIsConsumed) {
  // Of the families here, Hunyuan alone reads 'alpha'.
  auto config = [](const std::string &block) {
    return R"({"model_type": ")" +
           std::string(has(block, "alpha") ? "hunyuan_v1_dense" : "llama") +
           R"(", "num_hidden_layers": 2, "head_dim": 16, "rope_theta": 10000,
      "max_position_embeddings": 4096, "rope_scaling": )" +
           block + "}";
  };
  std::string unknown =
      readConfig(config(R"({"rope_type": "yarn2", "factor": 4.0})")).errors;
  EXPECT_HAS(unknown, "\"yarn2\": there is no such rule");
  for (const char *name : {"linear", "dynamic", "yarn", "llama3", "longrope"})
    EXPECT_HAS(unknown, name);
  Imported plain = readConfig(config("null"));
  const std::string blocks[] = {
      R"({"rope_type": "linear", "factor": 4.0, "foo": 1})",
      R"({"rope_type": "ntk", "factor": 4.0, "foo": 1})",
      R"({"rope_type": "dynamic", "factor": 4.0, "alpha": 4.0, "foo": 1})",
      R"({"rope_type": "yarn", "factor": 4.0, "foo": 1})",
      R"({"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "foo": 1,
          "original_max_position_embeddings": 64})",
      R"({"rope_type": "longrope", "factor": 4.0, "foo": 1,
          "original_max_position_embeddings": 1024,
          "short_factor": [2, 2, 2, 2, 2, 2, 2, 2],
          "long_factor": [3, 3, 3, 3, 3, 3, 3, 3]})"};
  for (const std::string &block : blocks) {
    Imported scaled = readConfig(config(block));
    ASSERT_EQ(scaled.errors, "") << block;
    EXPECT_HAS(scaled.warnings, "foo' = 1 is not read");
    double most = 0;
    for (size_t p = 0; p < 8; ++p)
      most = std::max(most,
                      std::abs(scaled.frequency(0, p) - plain.frequency(0, p)));
    EXPECT_GT(most, 1e-6) << block;
    // Without the extra key, the numbers are the same.
    Json bare = Json::parse(block);
    bare.erase("foo");
    EXPECT_EQ(readConfig(config(bare.dump())).layer(0), scaled.layer(0));
  }
}

TEST(FieldImport, CFG_19_ListsBelongToTheRotatedLanes) {
  EXPECT_EQ(readConfig(twoLists("longrope", 48)).errors, "");
  for (size_t entries : {64u, 47u})
    EXPECT_HAS(readConfig(twoLists("longrope", entries)).errors, "expected 48");
}

} // namespace
