// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One message for one fault: none that only follows from another, and none
// missing for what would change nothing.
#include "test/import/Support.h"

#include <fmt/format.h>

using namespace torsor;
using namespace torsor::test;

namespace {

std::string config(const std::string &type, const std::string &keys) {
  return R"({"model_type": ")" + type + "\", " + keys + "}";
}

size_t count(const Imported &out, ImportMessage::Level level) {
  size_t found = 0;
  for (const ImportMessage &message : out.result.messages)
    found += message.level == level;
  return found;
}

const std::string sizes = R"("num_hidden_layers": 4, "hidden_size": 64,
  "num_attention_heads": 4, "head_dim": 16, )";
const std::string theta = R"("rope_theta": 5e5, )";

struct Fault {
  const char *type;
  std::string keys, key;
};

// Each config has one fault, beside keys that no one reads once it is found.
TEST(ImportMessages, OneErrorForOneFault) {
  const Fault faults[] = {
      {"llama", theta + R"("num_hidden_layers": -1, "head_dim": 16)",
       "num_hidden_layers"},
      {"llama", theta + R"("num_hidden_layers": 2, "hidden_size": 64,
        "num_attention_heads": "four")",
       "num_attention_heads"},
      {"llama", theta + R"("num_hidden_layers": 2, "kv_channels": "x",
        "hidden_size": 64, "num_attention_heads": 3)",
       "kv_channels"},
      {"mistral", sizes + theta + R"("sliding_window": 0)", "sliding_window"},
      {"qwen2", sizes + theta + R"("layer_types": ["full_attention"])",
       "layer_types"},
      {"qwen2", sizes + theta + R"("layer_types": 3)", "layer_types"},
      {"llama", sizes + R"("rope_theta": [1, "x"])", "rope_theta"},
      {"llama", sizes + R"("rope_theta": [1e4, 1e4])", "rope_theta"},
      {"llama", sizes + R"("rope_theta": "10000")", "rope_theta"},
      {"gpt_neox", sizes + R"("rotary_emb_base": "10000")", "rotary_emb_base"},
      {"llama", sizes + theta + R"("rope_scaling": [1, 2])", "rope_scaling"},
      {"llama", sizes + theta + R"("rope_scaling": {"factor": 4})", "factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "linear",
        "factor": [4]})",
       "factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "longrope",
        "original_max_position_embeddings": 64, "factor": 2,
        "short_factor": "x", "long_factor": [1, 1, 1, 1, 1, 1, 1, 1]})",
       "short_factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "longrope",
        "original_max_position_embeddings": 64, "factor": 2,
        "short_factor": [], "long_factor": [1, 1, 1, 1, 1, 1, 1, 1]})",
       "short_factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "llama3",
        "factor": 4, "low_freq_factor": 1, "high_freq_factor": 4})",
       "original_max_position_embeddings"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "llama3",
        "factor": 4, "low_freq_factor": 4, "high_freq_factor": "x",
        "original_max_position_embeddings": 64})",
       "high_freq_factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "llama3",
        "factor": 4, "low_freq_factor": 4, "high_freq_factor": 1,
        "original_max_position_embeddings": 64})",
       "high_freq_factor"},
      {"llama", sizes + theta + R"("rope_scaling": {"rope_type": "longrope",
        "factor": 2, "short_factor": [1, 1, 1, 1, 1, 1, 1, 1],
        "long_factor": [1, 1, 1, 1, 1, 1, 1, 1]})",
       "original_max_position_embeddings"},
      {"qwen2_vl", sizes + theta + R"("rope_scaling": {"rope_type": "mrope",
        "mrope_section": "x"})",
       "mrope_section"},
      {"smollm3", sizes + theta + R"("no_rope_layers": "x")", "no_rope_layers"},
      {"mimo_v2_flash", sizes + theta + R"("hybrid_layer_pattern": "x",
        "sliding_window": 8)",
       "hybrid_layer_pattern"},
      {"minimax_m1", sizes + theta + R"("attn_type_list": {})",
       "attn_type_list"},
      {"kimi_linear", sizes + R"("linear_attn_config": 3)",
       "linear_attn_config"},
      {"kimi_linear", sizes + R"("linear_attn_config":
        {"full_attn_layers": "x", "kda_layers": [1]})",
       "full_attn_layers"},
      {"gpt_neo", sizes + R"("attention_types": 3)", "attention_types"},
      {"chatglm", R"("num_layers": 2, "kv_channels": 16,
        "original_rope": false)",
       "original_rope"},
      {"nomic_bert", R"("n_layer": 2, "n_head": 4, "n_embd": 64,
        "rotary_emb_base": 1000, "rotary_emb_fraction": 0)",
       "no lane turns"},
      {"mimo_v2_flash", sizes + theta + R"("sliding_window": 8,
        "hybrid_layer_pattern": [0, 1, 0, 1], "partial_rotary_factor": 0.5,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 3)",
       "swa_num_key_value_heads"},
      {"gemma3_text", sizes + R"("num_hidden_layers_": 1,
        "sliding_window": 8, "num_key_value_heads": 3)",
       "num_key_value_heads"},
  };
  for (const Fault &fault : faults) {
    Imported out = readConfig(config(fault.type, fault.keys));
    EXPECT_EQ(count(out, ImportMessage::Error), 1u)
        << fault.type << ": " << fault.keys << "\n"
        << out.errors;
    EXPECT_HAS(out.errors, fault.key);
    EXPECT_FALSE(has(out.errors, "speaks of positions")) << out.errors;
    EXPECT_FALSE(has(out.warnings, "changes nothing")) << out.warnings;
  }
}

TEST(ImportMessages, KeysThatTurnACausalMaskAreNotPassedOver) {
  const std::string off = sizes + theta + R"("is_causal": false)";
  EXPECT_HAS(readConfig(config("llama", off)).errors, "'is_causal' = false");
  EXPECT_EQ(readConfig(config("llama", sizes + theta + R"("is_causal": true)"))
                .errors,
            "");
  EXPECT_EQ(readConfig(config("bert", sizes + R"("is_causal": false)")).errors,
            "");
  ImportOptions options;
  options.ignore = {"is_causal"};
  EXPECT_EQ(readConfig(config("llama", off), options).errors, "");
}

// Its attention never passes the cap on.
TEST(ImportMessages, Gemma3HasNoCap) {
  EXPECT_HAS(readConfig(config("gemma3_text", sizes + R"("sliding_window": 8,
                               "attn_logit_softcapping": 50.0)"))
                 .errors,
             "'attn_logit_softcapping' = 50.0");
}

TEST(ImportMessages, PositionsBeginBehindTheRowOfThePadToken) {
  for (const char *type : {"roberta", "xlm-roberta", "camembert", "m2m_100"})
    for (int pad : {-1, 0, 1, 4}) {
      std::string keys = sizes + R"("max_position_embeddings": 64)";
      if (pad >= 0)
        keys += fmt::format(R"(, "pad_token_id": {})", pad);
      Imported out = readConfig(config(type, keys));
      ASSERT_EQ(out.errors, "");
      EXPECT_FALSE(out.result.model.embeddings.empty()) << type;
      for (const auto &embedding : out.result.model.embeddings)
        EXPECT_EQ(embedding.offset, pad < 0 ? 2 : pad + 1) << type;
    }
}

TEST(ImportMessages, BlocksOfLayersThatThereAreNot) {
  auto text = [](const std::string &block) {
    return config("gemma3_text", sizes + R"("sliding_window": 8,
      "layer_types": ["full_attention", "full_attention", "full_attention",
      "full_attention"], "rope_parameters": {"full_attention":
      {"rope_type": "default", "rope_theta": 1e6}, )" +
                                     block + "}");
  };
  Imported odd = readConfig(text(R"("foo": {"rope_type": "default"})"));
  EXPECT_EQ(odd.errors,
            "'rope_parameters.foo' = {\"rope_type\":\"default\"}: no layer is "
            "of the type 'foo'; remove the block, or name a type of layer\n");
  Imported known = readConfig(text(
      R"("sliding_attention": {"rope_type": "default", "rope_theta": 7})"));
  EXPECT_EQ(known.errors, "");
  EXPECT_HAS(known.warnings, "'rope_parameters.sliding_attention' = "
                             "{\"rope_theta\":7,\"rope_type\":\"default\"}: no "
                             "layer is of the type 'sliding_attention'; the "
                             "block changes nothing");
  ImportOptions options;
  options.ignore = {"foo"};
  EXPECT_EQ(
      readConfig(text(R"("foo": {"rope_type": "default"})"), options).errors,
      "");
}

TEST(ImportMessages, UnreadKeysOfNestedBlocks) {
  std::string base = sizes + theta;
  Imported nested =
      readConfig(config("llama", base + R"("attn_config": {"rope_theta": 3})"));
  EXPECT_HAS(nested.errors, "'attn_config.rope_theta' = 3: this key speaks of "
                            "positions");
  EXPECT_HAS(
      readConfig(config("llama", base + R"("a": {"b": {"alibi": true}})"))
          .errors,
      "'a.b.alibi' = true");
  // What is off, of another part, or asked for is passed over.
  for (const char *rest :
       {R"("attn_config": {"alibi": false, "clip": 3, "rope_theta": null})",
        R"("vision_config": {"head_dim": 64, "window_size": 7})",
        R"("quantization_config": {"scale_attn": "int8"})"})
    EXPECT_EQ(readConfig(config("llama", base + rest)).errors, "") << rest;
  ImportOptions options;
  options.ignore = {"rope_theta"};
  EXPECT_EQ(
      readConfig(config("llama", sizes + R"("attn_config": {"rope_theta": 3})"),
                 options)
          .errors,
      "");
  // Blocks that a family reads are looked through as well.
  std::string mpt = R"("n_layers": 2, "n_heads": 4, "d_model": 64, )";
  EXPECT_HAS(readConfig(config("mpt", mpt + R"("attn_config": {"alibi": true,
    "sliding_windows": 4})"))
                 .errors,
             "'attn_config.sliding_windows' = 4");
  EXPECT_EQ(readConfig(config("mpt", mpt + R"("attn_config": {"alibi": true,
    "attn_type": "multihead_attention", "rope": false, "rope_theta": 10000,
    "rope_impl": "dail", "rope_hf_config": {"type": "no_scaling"}})"))
                .errors,
            "");
  std::string kimi = sizes + R"("kv_lora_rank": 32, "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 16, "mla_use_nope": true,
    "linear_attn_config": {"full_attn_layers": [4], "head_dim": 16, )";
  EXPECT_HAS(
      readConfig(config("kimi_linear", kimi + R"("rope_base": 3})")).errors,
      "'linear_attn_config.rope_base' = 3");
}

TEST(ImportMessages, KeysAroundTheTextModel) {
  auto text = [](const std::string &outer) {
    return R"({"model_type": "llava", "text_config": {"model_type": "llama",
      "num_hidden_layers": 2, "head_dim": 16, "rope_theta": 5e5,
      "rope_scaling": {"rope_type": "default"}}, )" +
           outer + "}";
  };
  EXPECT_EQ(readConfig(text(R"("rope_theta": 10000.0)")).errors,
            "'rope_theta' = 10000.0 and 'text_config.rope_theta' = 500000.0 "
            "disagree; remove the wrong one\n");
  EXPECT_NE(readConfig(text(R"("rope_scaling": {"type": "linear"})")).errors,
            "");
  Imported same = readConfig(
      text(R"("rope_theta": 500000, "rope_scaling": {"type": "mrope"})"));
  EXPECT_EQ(same.errors + same.warnings, "");
  Imported rest = readConfig(
      text(R"("image_token_id": 7, "vision_config": {"head_dim": 8})"));
  EXPECT_EQ(rest.errors + rest.warnings, "");
  EXPECT_EQ(rest.json["ignored"], Json({"image_token_id", "vision_config"}));
  Imported beside = readConfig(text(R"("sliding_window": 64)"));
  EXPECT_EQ(beside.errors, "");
  EXPECT_HAS(beside.warnings, "'sliding_window' = 64 changes nothing: the text "
                              "model is read from 'text_config'");
}

TEST(ImportMessages, DefaultsThatWereTakenAreSaid) {
  Imported own = readConfig(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
        "hidden_size": 2560, "sliding_window": 1024}})");
  ASSERT_EQ(own.errors, "");
  EXPECT_EQ(own.json["layers"].size(), 26u);
  EXPECT_EQ(own.layer(0)["head"], 256);
  for (const char *key :
       {"text_config.head_dim", "rope_theta", "text_config.num_hidden_layers"})
    EXPECT_HAS(own.warnings, std::string("the config has no '") + key + "'");
  Imported derived = readConfig(
      R"({"text_config": {"model_type": "llama", "rope_theta": 1e4}})");
  ASSERT_EQ(derived.errors, "");
  EXPECT_EQ(derived.layer(0)["head"], 128);
  EXPECT_HAS(derived.warnings, "'text_config.hidden_size'");
  EXPECT_HAS(derived.warnings, "'text_config.num_attention_heads'");
  Imported latent = readConfig(
      R"({"model_type": "deepseek_v3", "rope_theta": 1e4, "v_head_dim": 64})");
  ASSERT_EQ(latent.errors, "");
  for (const char *key : {"qk_nope_head_dim", "qk_rope_head_dim"})
    EXPECT_HAS(latent.warnings, std::string("the config has no '") + key);
  EXPECT_FALSE(has(latent.warnings, "v_head_dim"));
  for (const char *type : {"internlm3", "minimax_m2", "helium"}) {
    Imported wide = readConfig(config(type, R"("rope_theta": 1e4,
      "hidden_size": 64, "num_attention_heads": 4)"));
    ASSERT_EQ(wide.errors, "");
    EXPECT_EQ(wide.layer(0)["head"], 128) << type;
    EXPECT_HAS(wide.warnings, "the config has no 'head_dim'");
  }
  Imported whole = readConfig(config("llama", sizes + R"("rope_theta": 1e4)"));
  EXPECT_EQ(whole.warnings, "");
}

// Equal bounds: shorter waves are kept, longer ones divided, none in between.
TEST(ImportMessages, Llama3WithEqualBounds) {
  for (double bound : {1.0, 2.5}) {
    Json block = {{"rope_type", "llama3"},
                  {"factor", 16.0},
                  {"low_freq_factor", bound},
                  {"high_freq_factor", bound},
                  {"original_max_position_embeddings", 8192}};
    Imported out = readConfig(
        llama(R"("head_dim": 128, "rope_theta": 5e5, "rope_scaling": )" +
              block.dump()));
    ASSERT_EQ(out.errors, "");
    EXPECT_EQ(checkProgram(out.result.model), "");
    size_t divided = 0;
    for (size_t p = 0; p < 64; ++p) {
      double plain = std::pow(5e5, -2.0 * static_cast<double>(p) / 128);
      bool far = 2 * M_PI / plain > 8192 / bound;
      divided += far;
      EXPECT_EQ(out.frequency(0, p), far ? plain / 16 : plain) << p;
    }
    EXPECT_GT(divided, 0u);
    EXPECT_LT(divided, 64u);
  }
}

TEST(ImportMessages, NamesTheKeyThatWasMeant) {
  EXPECT_HAS(
      readConfig(config("mistral", sizes + theta + R"("slidng_window": 7)"))
          .errors,
      "does not read it (did you mean 'sliding_window'?); remove it");
  EXPECT_HAS(
      readConfig(config("llama", sizes + theta +
                                     R"("rope_scaling": {"rope_type": "llama3",
        "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embedding": 8192})"))
          .errors,
      "(did you mean 'original_max_position_embeddings'?)");
}

TEST(ImportMessages, SaysWhatIgnoreDoesNotDo) {
  std::string text =
      config("mistral", sizes + theta + R"("sliding_window": 7)");
  ImportOptions options;
  options.ignore = {"slidng_window", "sliding_window"};
  Imported out = readConfig(text, options);
  EXPECT_EQ(out.errors, "");
  EXPECT_HAS(out.warnings, "--ignore slidng_window passes over nothing: the "
                           "config has no such key");
  EXPECT_HAS(out.warnings,
             "--ignore sliding_window: the family 'mistral' reads "
             "'sliding_window' = 7, so that it is not passed over");
}

} // namespace
