// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configs that went wrong in the field, named by the id of their report:
// rescaled frequencies, and what each layer is.
#include "test/import/Support.h"

#include <cmath>

using namespace torsor;
using namespace torsor::test;

namespace {

std::string ossYarn(const std::string &rest) {
  return R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "head_dim": 64,
    "rope_theta": 150000, "rope_scaling": {"rope_type": "yarn", "factor": 32,
    "original_max_position_embeddings": 4096)" +
         rest + "}}";
}

TEST(FieldImport, SCL_01_BoundsAreRoundedUnlessTold) {
  Imported raw = readConfig(
      ossYarn(R"(, "beta_fast": 32, "beta_slow": 1, "truncate": false)"));
  Imported yes = readConfig(
      ossYarn(R"(, "beta_fast": 32, "beta_slow": 1, "truncate": true)"));
  Imported absent = readConfig(ossYarn(""));
  ASSERT_EQ(raw.errors + yes.errors + absent.errors, "");
  EXPECT_EQ(yes.layer(0), absent.layer(0));
  expectFrequency(raw, 0, 9, 0.0317056962);
  expectFrequency(raw, 0, 12, 0.00679495949);
  expectFrequency(raw, 0, 17, 0.000129318701);
  expectFrequency(yes, 0, 9, 0.0316207523);
  expectFrequency(yes, 0, 12, 0.00701571391);
  expectFrequency(yes, 0, 17, 0.000227947796);
  for (const Imported *out : {&raw, &yes}) {
    expectFrequency(*out, 0, 7, 0.0737445682);
    expectFrequency(*out, 0, 18, 3.83088124e-05);
    EXPECT_DOUBLE_EQ(out->layer(0)["gain_q"], 1.3465735902799727);
  }
}

TEST(FieldImport, SCL_03_FastCountsMoreTurns) {
  EXPECT_HAS(readConfig(ossYarn(R"(, "beta_fast": 1, "beta_slow": 32)")).errors,
             "'rope_scaling.beta_fast' = 1 lies below "
             "'rope_scaling.beta_slow' = 32");
  for (const char *cut : {"true", "false"}) {
    Imported equal = readConfig(ossYarn(
        std::string(R"(, "beta_fast": 1, "beta_slow": 1, "truncate": )") +
        cut));
    ASSERT_EQ(equal.errors, "");
    for (size_t p = 0; p < 32; ++p)
      EXPECT_TRUE(std::isfinite(equal.frequency(0, p)));
  }
}

std::string dynamic(double base, int width) {
  return llama("\"head_dim\": " + std::to_string(width) +
               ", \"rope_theta\": " + std::to_string(base) +
               R"(, "max_position_embeddings": 2048,
      "rope_scaling": {"type": "dynamic", "factor": 2.0})");
}

/// The base that gives the last of n pairs this frequency.
double baseOf(const std::vector<double> &frequencies) {
  double n = static_cast<double>(frequencies.size());
  return std::pow(frequencies.back(), -n / (n - 1));
}

TEST(FieldImport, SCL_05_TheBaseFollowsTheLength) {
  Imported out = readConfig(dynamic(1000, 64));
  ASSERT_EQ(out.errors, "");
  const Rotation &rotation = *out.result.model.schemes[0].rotation;
  EXPECT_NEAR(baseOf(computeFrequencies(rotation, 8192)), 7453.483031811892,
              1e-8);
  EXPECT_NEAR(baseOf(computeFrequencies(rotation, 4096)), 3108.2236667168813,
              1e-8);
  EXPECT_NEAR(baseOf(computeFrequencies(rotation, 2048)), 1000, 1e-8);
}

TEST(FieldImport, SCL_07_ShortSequencesStayPlain) {
  Imported out = readConfig(dynamic(10000, 128));
  ASSERT_EQ(out.errors, "");
  const Rotation &rotation = *out.result.model.schemes[0].rotation;
  std::vector<double> before = computeFrequencies(rotation, 100);
  EXPECT_NEAR(baseOf(computeFrequencies(rotation, 4096)), 30527.7367488067,
              1e-7);
  EXPECT_NEAR(computeFrequencies(rotation, 4096)[63], 3.849273282298194e-05,
              1e-18);
  EXPECT_EQ(computeFrequencies(rotation, 100), before);
  EXPECT_NEAR(before[63], 0.00011547819846894582, 1e-18);
}

TEST(FieldImport, SCL_09_TheLongListBeginsBeyondTheLength) {
  Imported out = readConfig(R"({"model_type": "phi3", "num_hidden_layers": 1,
    "head_dim": 4, "rope_theta": 100, "max_position_embeddings": 16,
    "rope_scaling": {"type": "longrope", "short_factor": [1, 1],
    "long_factor": [2, 4], "original_max_position_embeddings": 4}})");
  ASSERT_EQ(out.errors, "");
  const Rotation &rotation = *out.result.model.schemes[0].rotation;
  for (int64_t length : {3, 4})
    EXPECT_EQ(computeFrequencies(rotation, length),
              (std::vector<double>{1.0, 0.1}));
  EXPECT_EQ(computeFrequencies(rotation, 5), (std::vector<double>{0.5, 0.025}));
  EXPECT_DOUBLE_EQ(out.layer(0)["gain_q"], 1.4142135623730951);
  EXPECT_EQ(out.layer(0)["gain_q"], out.layer(0)["gain_beyond"]);
  EXPECT_HAS(writeModel(out.result.model), "if N > 4 then long_list");
}

TEST(FieldImport, SCL_13_Bands) {
  Imported out = readConfig(llama(R"("head_dim": 64, "rope_theta": 500000,
    "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor":
    1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
  ASSERT_EQ(out.errors, "");
  Imported plain = readConfig(llama(R"("head_dim": 64, "rope_theta": 500000)"));
  for (size_t p = 0; p < 32; ++p) {
    double ratio = out.frequency(0, p) / plain.frequency(0, p);
    if (p < 15)
      EXPECT_EQ(ratio, 1) << p;
    else if (p < 18)
      EXPECT_TRUE(ratio < 1 && ratio > 1.0 / 32) << p;
    else
      EXPECT_DOUBLE_EQ(ratio, 1.0 / 32) << p;
  }
  expectFrequency(out, 0, 15, 0.00129054793);
  expectFrequency(out, 0, 17, 9.7082878e-05);
}

TEST(FieldImport, HYB_01_OneMeansThatTheLayerTurns) {
  auto config = [](const std::string &keys) {
    return R"({"model_type": "smollm3", "num_hidden_layers": 8, "head_dim": 16,
      "rope_theta": 10000, )" +
           keys + "}";
  };
  Imported list = readConfig(config(R"("no_rope_layers": [1,1,1,0,1,1,1,0])"));
  Imported empty = readConfig(
      config(R"("no_rope_layers": [], "no_rope_layer_interval": 4)"));
  for (const Imported *out : {&list, &empty}) {
    ASSERT_EQ(out->errors, "");
    for (size_t n = 0; n < 8; ++n)
      EXPECT_EQ(out->layer(n)["rotary_width"] == 0, n == 3 || n == 7) << n;
  }
  std::string wrong = readConfig(config(R"("no_rope_layers": [1, 0])")).errors;
  EXPECT_HAS(wrong, "2 entries");
  EXPECT_HAS(wrong, "8 layers");
}

TEST(FieldImport, HYB_03_TheFactorBelongsToGlobalLayers) {
  Imported out = readConfig(R"({"model_type": "gemma3_text", "head_dim": 256,
    "num_hidden_layers": 6, "rope_theta": 1000000, "rope_local_base_freq":
    10000, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "sliding_window": 512, "query_pre_attn_scalar": 256})");
  ASSERT_EQ(out.errors, "");
  expectFrequency(out, 5, 0, 0.125, 0);
  expectFrequency(out, 5, 1, 0.11221089155591428, 1e-15);
  expectFrequency(out, 5, 64, 0.000125, 1e-15);
  expectFrequency(out, 5, 127, 1.3924673249935028e-07, 1e-15);
  expectFrequency(out, 0, 1, 0.930572040929699, 1e-15);
  expectFrequency(out, 0, 64, 0.01, 1e-15);
  expectFrequency(out, 0, 127, 0.00010746078283213175, 1e-15);
}

TEST(FieldImport, HYB_05_TheTemperatureStepsAtFloors) {
  Imported out = readConfig(R"({"model_type": "llama4_text", "head_dim": 16,
    "num_hidden_layers": 4, "rope_theta": 500000, "attn_scale": 0.1,
    "floor_scale": 8192})");
  ASSERT_EQ(out.errors, "");
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(out.layer(n).contains("query_gain"), n == 3) << n;
    EXPECT_EQ(out.layer(n)["norm"], n == 3 ? Json() : Json("rms")) << n;
  }
  const QueryGain &gain = *out.result.model.schemes[1].queryGain;
  auto at = [&](int64_t p) {
    return 1 +
           gain.rate * std::log(1.0 + double((p + gain.offset) / gain.period));
  };
  EXPECT_EQ(at(0), 1.0);
  EXPECT_EQ(at(8190), 1.0);
  EXPECT_DOUBLE_EQ(at(8191), 1.0693147180559945);
  EXPECT_DOUBLE_EQ(at(16383), 1.109861228866811);
  EXPECT_DOUBLE_EQ(at(1048575), 1.4859812404361672);
  EXPECT_HAS(writeModel(out.result.model),
             "stepped(0.1, period = 8192, offset = 1) / sqrt(D)");
  EXPECT_HAS(out.notes, "give the slot numbers as 'pos'");
}

TEST(FieldImport, HYB_07_WhichLayersHaveTheWindow) {
  auto windowed = [](const std::string &keys) {
    Imported out =
        readConfig(R"({"model_type": "qwen2", "num_hidden_layers": 36,
      "head_dim": 16, "rope_theta": 10000, "sliding_window": 4096, )" +
                   keys + "}");
    EXPECT_EQ(out.errors, "");
    std::vector<size_t> layers;
    for (size_t n = 0; out.errors.empty() && n < 36; ++n)
      if (!out.layer(n)["window"].is_null())
        layers.push_back(n);
    return layers;
  };
  using List = std::vector<size_t>;
  EXPECT_EQ(windowed(R"("use_sliding_window": false)"), List());
  EXPECT_EQ(windowed(R"("use_sliding_window": true, "max_window_layers": 28)"),
            (List{28, 29, 30, 31, 32, 33, 34, 35}));
  EXPECT_EQ(windowed(R"("use_sliding_window": true, "max_window_layers": 36)"),
            List());
  Json types(std::vector<std::string>(36, "full_attention"));
  types[3] = types[7] = "sliding_attention";
  EXPECT_EQ(
      windowed(R"("use_sliding_window": true, "layer_types": )" + types.dump()),
      (List{3, 7}));
}

TEST(FieldImport, HYB_09_FiveLocalOneGlobal) {
  auto globals = [](int layers) {
    Imported out = readConfig(R"({"model_type": "gemma3_text", "head_dim": 16,
      "rope_theta": 1000000, "sliding_window": 8, "query_pre_attn_scalar": 16,
      "sliding_window_pattern": 6, "num_hidden_layers": )" +
                              std::to_string(layers) + "}");
    EXPECT_EQ(out.errors, "");
    std::vector<int> list;
    for (int n = 0; out.errors.empty() && n < layers; ++n)
      if (out.layer(n)["window"].is_null())
        list.push_back(n);
    return list;
  };
  using List = std::vector<int>;
  EXPECT_EQ(globals(26), (List{5, 11, 17, 23}));
  EXPECT_EQ(globals(1), List());
  EXPECT_EQ(globals(6), List{5});
  EXPECT_EQ(globals(7), List{5});
}

TEST(FieldImport, LAY_03_ExponentsOfTheRotatedWidth) {
  Imported out =
      readConfig(R"({"model_type": "gpt_neox", "num_hidden_layers": 1,
    "head_dim": 8, "rotary_pct": 0.5, "rotary_emb_base": 100})");
  ASSERT_EQ(out.errors, "");
  EXPECT_EQ(out.layer(0)["frequencies"], Json({1.0, 0.1}));
  EXPECT_EQ(out.layer(0)["rotary_width"], 4);
}

TEST(FieldImport, SHP_07_HeadsThatCannotShare) {
  std::string errors = readConfig(llama(R"("head_dim": 16, "rope_theta": 10000,
        "num_attention_heads": 10, "num_key_value_heads": 4)"))
                           .errors;
  EXPECT_HAS(errors, "10 query heads");
  EXPECT_HAS(errors, "4 key heads");
}

} // namespace
