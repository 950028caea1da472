// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a config asks of the caller, or of other clauses than one may think, is
// said with the key, its value and what to do.
#include "test/import/Support.h"

using namespace torsor;
using namespace torsor::test;

namespace {

std::string notesOf(const std::string &type, const std::string &keys,
                    const ImportOptions &options = {}) {
  Imported out =
      readConfig(R"({"model_type": ")" + type + "\", " + keys + "}", options);
  EXPECT_EQ(out.errors, "") << type;
  EXPECT_EQ(checkProgram(out.result.model), "") << type;
  return out.notes;
}

TEST(ImportNotes, AConstantFactorOnValuesIsTheCallers) {
  std::string keys = R"("num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 96, "head_dim": 24,
      "v_head_dim": 16, "swa_head_dim": 24, "swa_v_head_dim": 16,
      "partial_rotary_factor": 0.5, "rope_theta": 1e6, "swa_rope_theta": 1e4,
      "sliding_window": 8, "hybrid_layer_pattern": [0, 1],
      "add_swa_attention_sink_bias": true)";
  std::string notes =
      notesOf("mimo_v2_flash", keys + R"(, "attention_value_scale": 0.707)");
  EXPECT_HAS(notes, "'attention_value_scale' = 0.707: values are multiplied by "
                    "a constant, which no scheme writes; multiply v (or the "
                    "output) by 0.707 in the caller");
  EXPECT_FALSE(
      has(notesOf("mimo_v2_flash", keys + R"(, "attention_value_scale": 1)"),
          "attention_value_scale"));
}

TEST(ImportNotes, ATemperatureThatCountsSlotsNamesThePositionsToGive) {
  std::string keys = R"("num_hidden_layers": 4, "head_dim": 8,
      "rope_theta": 5e5, "attention_chunk_size": 16, )";
  std::string notes =
      notesOf("llama4_text", keys + R"("attn_temperature_tuning": true)");
  EXPECT_HAS(notes, "counts slots, pads included");
  EXPECT_HAS(notes, "give the slot numbers as 'pos' in those layers");
  EXPECT_FALSE(
      has(notesOf("llama4_text", keys + R"("attn_temperature_tuning": false)"),
          "slots"));
}

TEST(ImportNotes, RowsOfARelativeTableAreMadeByTheCaller) {
  ImportOptions options;
  options.reach = 48;
  EXPECT_HAS(notesOf("xlnet",
                     R"("n_layer": 2, "n_head": 2, "d_head": 8, "d_model": 16)",
                     options),
             "row n of 'r' is the projection of the sinusoid of position 48 - "
             "n; make the rows in the caller, for sequences of at most 48 "
             "tokens");
}

TEST(ImportNotes, AClampKeepsBothEndsOfTheTableAtAnyLength) {
  Imported out = readConfig(R"({"model_type": "xlnet", "n_layer": 2,
      "n_head": 2, "d_head": 8, "d_model": 16, "clamp_len": 5})");
  std::string program = writeModel(out.result.model);
  EXPECT_HAS(program, "r: f32[H, 11, D]");
  EXPECT_HAS(program, "row = clamp(5 - age, 0, 10)");
  EXPECT_HAS(out.notes, "the sinusoid of position 5 - n");
  EXPECT_FALSE(has(out.notes, "at most"));
  EXPECT_EQ(checkProgram(out.result.model), "");
}

TEST(ImportNotes, NormsThatStandBeforeTheRotationAreNamed) {
  std::string keys =
      R"("num_hidden_layers": 2, "head_dim": 8, "rope_theta": 1e6)";
  EXPECT_HAS(notesOf("qwen3", keys),
             "give them normed, or write 'norm rms(q = …, k = …)'");
  EXPECT_FALSE(has(notesOf("llama", keys), "normed"));
}

TEST(ImportNotes, WhatIsDoneBeforeTheRotationIsNamed) {
  std::string keys =
      R"("num_hidden_layers": 2, "head_dim": 8, "rope_theta": 1e6)";
  EXPECT_HAS(notesOf("phi", R"("num_hidden_layers": 2, "hidden_size": 64,
      "num_attention_heads": 4, "rope_theta": 1e4, "qk_layernorm": true)"),
             "q and k pass a layer norm with weights before they turn");
  EXPECT_HAS(notesOf("cohere", keys + R"(, "use_qk_norm": true)"),
             "q and k pass a layer norm with weights before they turn");
  EXPECT_FALSE(has(notesOf("cohere", keys), "layer norm"));
  EXPECT_HAS(notesOf("olmo", keys + R"(, "clip_qkv": 8)"),
             "'clip_qkv' = 8: q, k and v are clipped before they turn");
}

TEST(ImportNotes, DocumentsRestartWhatIsCounted) {
  ImportOptions options;
  options.documents = true;
  std::string keys = R"("num_hidden_layers": 2, "head_dim": 8,
      "max_position_embeddings": 64, "rope_parameters": {"rope_theta": 1e4, )";
  EXPECT_HAS(
      notesOf("llama", keys + R"("rope_type": "default"})", options),
      "for what looks at absolute positions, restart 'pos' with each of them");
  EXPECT_HAS(
      notesOf("llama", keys + R"("rope_type": "dynamic", "factor": 2})",
              options),
      "the length of a sequence are counted by index: give each document as a "
      "sequence of its own, or the indices of its tokens in it");
}

TEST(ImportNotes, KeysThatASecondScorerPicksAreAMask) {
  EXPECT_HAS(
      notesOf("deepseek_v32",
              R"("num_hidden_layers": 2, "num_attention_heads": 4,
      "hidden_size": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
      "qk_rope_head_dim": 8, "v_head_dim": 16, "rope_theta": 1e4,
      "index_head_dim": 16, "index_n_heads": 4, "index_topk": 2048)"),
      "each query sees the 2048 keys that 'indexer' picks; give its choice as "
      "a mask of your own");
}

TEST(ImportNotes, ListsThatCountFromOneSaySo) {
  EXPECT_HAS(notesOf("kimi_linear",
                     R"("num_hidden_layers": 4, "num_attention_heads": 4,
      "hidden_size": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
      "qk_rope_head_dim": 8, "v_head_dim": 16, "mla_use_nope": true,
      "linear_attn_config": {"kda_layers": [1, 2, 3],
      "full_attn_layers": [4], "head_dim": 16, "num_heads": 4,
      "short_conv_kernel_size": 4})"),
             "the lists of layers count from 1; the stack counts from 0");
}

} // namespace
