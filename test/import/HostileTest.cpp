// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configs that no one should have written: clean errors, nothing else.
#include "test/import/Support.h"

#include <random>

using namespace torsor;
using namespace torsor::test;

namespace {

std::string errorsOf(const std::string &text) {
  return readConfig(text).errors;
}

TEST(HostileImport, NotJson) {
  for (const char *text :
       {"", "{", "[1, 2", "{\"a\": 1,}", "{'a': 1}", "// x\n{}", "{} {}",
        "\xff\xfe{}", "{\"a\": \"\xff\"}", "{\"a\": 01}", "nul"})
    EXPECT_NE(errorsOf(text).find("this is not JSON"), std::string::npos)
        << text;
  // Python writes these; a value of one is no number, columns count the text.
  EXPECT_EQ(readConfig(llama(R"("head_dim": 16, "rope_theta": 1e4,
      "time_step_limit": [0.0, Infinity, -Infinity, NaN], "n": "NaN\"")"))
                .errors,
            "");
  EXPECT_EQ(readConfig(llama(R"("head_dim": 16, "rope_theta": NaN)")).errors,
            "'rope_theta' = \"NaN\" must be a number above 1\n");
  EXPECT_EQ(errorsOf("{\"b\": NaN,\n \"a\": [-Infinity, ?]}")
                .find("line 2, column 19"),
            0u)
      << errorsOf("{\"b\": NaN,\n \"a\": [-Infinity, ?]}");
  for (const char *text : {"[]", "3", "\"llama\"", "null"})
    EXPECT_NE(errorsOf(text).find("a config is a JSON object"),
              std::string::npos)
        << text;
}

TEST(HostileImport, Nesting) {
  std::string deep(100'000, '[');
  EXPECT_NE(errorsOf("{\"a\": " + deep).find("nested deeper than 64"),
            std::string::npos);
}

TEST(HostileImport, KeysThatStandTwice) {
  std::string errors = errorsOf(
      R"({"model_type": "llama", "rope_theta": 1e4, "rope_theta": 5e5})");
  EXPECT_NE(errors.find("'rope_theta' stands twice"), std::string::npos);
}

TEST(HostileImport, Numbers) {
  auto config = [](const std::string &key, const std::string &value) {
    Json base = {{"model_type", "llama"},
                 {"num_hidden_layers", 2},
                 {"head_dim", 64},
                 {"rope_theta", 10000}};
    base.erase(key);
    std::string text = base.dump();
    text.back() = ',';
    return text + "\"" + key + "\": " + value + "}";
  };
  EXPECT_NE(errorsOf(config("rope_theta", "1e999")).find("beyond a double"),
            std::string::npos);
  for (const char *value : {"0", "1", "-5", "\"1e4\"", "true", "{}"})
    EXPECT_NE(errorsOf(config("rope_theta", value)), "") << value;
  for (const char *value :
       {"0", "-1", "1e18", "99999999999999999999", "64.5", "[64]", "1025"})
    EXPECT_NE(errorsOf(config("head_dim", value)), "") << value;
  for (const char *value : {"0", "-1", "1e9", "\"two\"", "4097"})
    EXPECT_NE(errorsOf(config("num_hidden_layers", value)), "") << value;
}

TEST(HostileImport, UnknownKeysOfPositions) {
  std::string base = R"({"model_type": "llama", "num_hidden_layers": 1,
    "head_dim": 16, "rope_theta": 10000, )";
  std::string errors = errorsOf(base + R"("rope_wobble": 3})");
  EXPECT_NE(errors.find("'rope_wobble' = 3: this key speaks of positions"),
            std::string::npos)
      << errors;
  EXPECT_NE(errorsOf(base + R"("sliding_window": 64})"), "");
  ImportOptions options;
  options.ignore = {"rope_wobble"};
  EXPECT_EQ(readConfig(base + R"("rope_wobble": 3})", options).errors, "");
  // What says nothing, or speaks of other things, is passed over and listed.
  Imported rest = readConfig(base + R"("alibi": false, "sliding_window": null,
    "vocab_size": 7, "tie_word_embeddings": true})");
  EXPECT_EQ(rest.errors, "");
  EXPECT_EQ(rest.json["ignored"], Json({"alibi", "sliding_window",
                                        "tie_word_embeddings", "vocab_size"}));
}

TEST(HostileImport, UnknownFamilies) {
  EXPECT_NE(errorsOf(R"({"model_type": "lama"})").find("did you mean 'llama'"),
            std::string::npos);
  std::string odd(5000, 'x');
  EXPECT_NE(errorsOf(R"({"model_type": ")" + odd + "\"}"), "");
  EXPECT_NE(errorsOf(R"({"model_type": 7})"), "");
  EXPECT_EQ(errorsOf(R"({"model_type": "", "head_dim": 16})"),
            "'model_type' = \"\" names no family; write it, or say --family "
            "NAME\n");
}

// Nothing of a config gets into the program but numbers and known names.
TEST(HostileImport, TextIsNotCopied) {
  ImportOptions options;
  options.name = "x {} scheme y";
  Imported out = readConfig(R"({"model_type": "llama", "num_hidden_layers": 1,
    "head_dim": 16, "rope_theta": 10000, "_name_or_path": "\n} evil"})",
                            options);
  ASSERT_EQ(out.errors, "");
  EXPECT_EQ(checkProgram(out.result.model), "");
  EXPECT_EQ(writeModel(out.result.model).find("evil"), std::string::npos);
}

// Wrong types and odd values everywhere: an import gives errors, or a program
// that checks.
TEST(HostileImport, EveryImportIsCleanOrRefused) {
  std::mt19937 random(20240229);
  const char *keys[] = {"model_type",
                        "num_hidden_layers",
                        "num_attention_heads",
                        "hidden_size",
                        "head_dim",
                        "rope_theta",
                        "rope_scaling",
                        "rope_parameters",
                        "partial_rotary_factor",
                        "rotary_dim",
                        "sliding_window",
                        "layer_types",
                        "no_rope_layers",
                        "sliding_window_pattern",
                        "max_position_embeddings",
                        "original_max_position_embeddings",
                        "attn_logit_softcapping",
                        "query_pre_attn_scalar",
                        "v_head_dim",
                        "qk_nope_head_dim",
                        "qk_rope_head_dim",
                        "alibi",
                        "attn_config",
                        "pos_att_type",
                        "position_buckets",
                        "relative_attention",
                        "attention_types",
                        "use_sliding_window",
                        "linear_attn_config"};
  std::vector<std::string> families = listFamilies();
  const char *values[] = {
      "null",
      "true",
      "0",
      "-1",
      "1",
      "2",
      "3",
      "4",
      "8",
      "64",
      "96",
      "0.25",
      "0.5",
      "1e4",
      "1e300",
      "5e-324",
      "\"x\"",
      "\"c2p|p2c\"",
      "[]",
      "[1, 0]",
      "[1, 1, 0, 1]",
      "[[[\"global\", \"local\"], 2]]",
      "[\"full_attention\", \"sliding_attention\"]",
      "{}",
      "{\"type\": \"linear\", \"factor\": 2}",
      "{\"rope_type\": \"yarn\", \"factor\": 4}",
      "{\"rope_type\": \"dynamic\", \"factor\": 2}",
      "{\"rope_type\": \"default\", \"mrope_section\": [8, 12, 12]}",
      "{\"full_attention\": {\"rope_theta\": 7}}",
      "{\"full_attn_layers\": [1], \"head_dim\": 8}",
      "{\"alibi\": true, \"alibi_bias_max\": 4}"};
  ImportOptions options; // what a family does not read is passed over
  options.ignore.assign(std::begin(keys), std::end(keys));
  size_t written = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = "{";
    for (const char *key : keys) {
      if (random() % 3)
        continue;
      text += std::string(text.size() > 1 ? ", " : "") + "\"" + key + "\": ";
      if (key == keys[0])
        text += "\"" + families[random() % families.size()] + "\"";
      else if (random() % 2 && key != keys[6] && key != keys[7])
        text += values[4 + random() % 6];
      else
        text += values[random() % std::size(values)];
    }
    Imported out = readConfig(text + "}", options);
    if (!out.errors.empty())
      continue;
    ++written;
    DiagnosticList diagnostics;
    CheckOptions check;
    check.layers = 2;
    checkFile(std::make_shared<SourceFile>("imported.torsor",
                                           writeModel(out.result.model)),
              check, diagnostics);
    ASSERT_FALSE(diagnostics.hasErrors())
        << text << "}\n"
        << writeModel(out.result.model) << diagnostics.print();
    EXPECT_FALSE(describeModel(out.result).empty());
  }
  EXPECT_GT(written, 100u);
}

} // namespace
