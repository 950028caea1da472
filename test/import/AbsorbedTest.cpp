// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Latent attention over the latents themselves means what it means behind the
// up-projections.
#include "reference/Reference.h"
#include "test/import/Support.h"
#include "test/support/Calls.h"
#include "test/support/SchemeSource.h"

#include <gtest/gtest.h>

using namespace torsor;
using namespace torsor::test;

namespace {

constexpr int64_t heads = 3, plain = 8, turning = 4, values = 6, rank = 10,
                  tokens = 9, queries = 4;

struct LatentConfig {
  const char *name, *keys;
};

const LatentConfig configs[] = {
    {"deepseek_v3", R"("model_type": "deepseek_v3", "rope_theta": 10000)"},
    {"yarn", R"("model_type": "deepseek_v3", "rope_theta": 10000,
      "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0,
      "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1,
      "original_max_position_embeddings": 4096})"},
    {"gain_of_lanes", R"("model_type": "deepseek_v2", "rope_theta": 10000,
      "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0,
      "mscale_all_dim": 0.7, "beta_fast": 32, "beta_slow": 1,
      "original_max_position_embeddings": 4096})"},
    {"halves", R"("model_type": "minicpm3", "rope_theta": 10000)"},
    {"no_position", R"("model_type": "kimi_linear", "mla_use_nope": true,
      "linear_attn_config": {"kda_layers": [], "full_attn_layers": [1],
      "head_dim": 16, "num_heads": 3, "short_conv_kernel_size": 4})"},
};

std::string configOf(const LatentConfig &config, const char *ranks) {
  return std::string(R"({"num_hidden_layers": 1, "num_attention_heads": 3,
    "hidden_size": 48, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 6, )") +
         ranks + ", " + config.keys + "}";
}

/// Numbers [n][m][lanes], drawn.
class Drawn {
public:
  Drawn(int64_t n, int64_t m, int64_t lanes, Random &random)
      : m(m), lanes(lanes) {
    for (int64_t c = 0; c < n * m * lanes; ++c)
      data.push_back(random.uniform());
  }
  double at(int64_t a, int64_t b, int64_t c) const {
    return data[(a * m + b) * lanes + c];
  }

private:
  int64_t m, lanes;
  std::vector<double> data;
};

std::vector<double> evaluateImported(const std::string &config, bool absorbed,
                                     const Problem &problem) {
  ImportOptions options;
  options.absorbed = absorbed;
  Imported imported = readConfig(config, options);
  EXPECT_EQ(imported.errors, "");
  EXPECT_EQ(checkProgram(imported.result.model), "");
  EXPECT_EQ(imported.layer(0)["value_in_key"], absorbed);
  SourceOptions source;
  source.scheme = "latent_attention";
  SchemeModule module = parseSource(writeModel(imported.result.model), source);
  EXPECT_EQ(module.error, "");
  auto output = evaluate(module.scheme("latent_attention"), problem);
  if (!output) {
    ADD_FAILURE() << toString(output.takeError());
    return {};
  }
  return output->o;
}

class AbsorbedTest : public testing::TestWithParam<LatentConfig> {};
INSTANTIATE_TEST_SUITE_P(Configs, AbsorbedTest, testing::ValuesIn(configs),
                         [](const auto &info) { return info.param.name; });

TEST_P(AbsorbedTest, MeansTheSameAsBehindTheUpProjections) {
  Random random(7);
  Drawn q(heads, queries, plain + turning, random),
      latent(1, tokens, rank, random), rotary(1, tokens, turning, random),
      keysUp(heads, plain, rank, random), valuesUp(heads, values, rank, random);
  auto up = [&](const Drawn &matrix, int64_t h, int64_t row, int64_t t) {
    double sum = 0;
    for (int64_t r = 0; r < rank; ++r)
      sum += matrix.at(h, row, r) * latent.at(0, t, r);
    return sum;
  };
  Problem whole = makeProblem(
      {heads, heads, queries, tokens, plain + turning, values},
      [&](int64_t h, int64_t t, int64_t c) { return q.at(h, t, c); },
      [&](int64_t h, int64_t t, int64_t c) {
        return c < plain ? up(keysUp, h, c, t) : rotary.at(0, t, c - plain);
      },
      [&](int64_t h, int64_t t, int64_t c) { return up(valuesUp, h, c, t); });
  Problem folded = makeProblem(
      {heads, 1, queries, tokens, rank + turning, 1},
      [&](int64_t h, int64_t t, int64_t c) {
        if (c >= rank)
          return q.at(h, t, plain + c - rank);
        double sum = 0;
        for (int64_t lane = 0; lane < plain; ++lane)
          sum += keysUp.at(h, lane, c) * q.at(h, t, lane);
        return sum;
      },
      [&](int64_t, int64_t t, int64_t c) {
        return c < rank ? latent.at(0, t, c) : rotary.at(0, t, c - rank);
      },
      [](int64_t, int64_t, int64_t) { return 0; });
  folded.v = {};
  std::string config = configOf(GetParam(), R"("kv_lora_rank": 10)");
  std::vector<double> one = evaluateImported(config, false, whole),
                      other = evaluateImported(config, true, folded);
  ASSERT_EQ(one.size(), size_t(heads * queries * values));
  ASSERT_EQ(other.size(), size_t(heads * queries * rank));
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t c = 0; c < values; ++c) {
        double sum = 0;
        for (int64_t r = 0; r < rank; ++r)
          sum += valuesUp.at(h, c, r) * other[(h * queries + i) * rank + r];
        EXPECT_NEAR(one[(h * queries + i) * values + c], sum, 1e-12)
            << "head " << h << ", query " << i << ", lane " << c;
      }
}

TEST(Absorbed, SaysWhatTheCallerFolds) {
  ImportOptions options;
  options.absorbed = true;
  Imported out =
      readConfig(configOf(configs[1], R"("kv_lora_rank": 10)"), options);
  EXPECT_EQ(out.errors, "");
  EXPECT_HAS(writeModel(out.result.model), "value  key[0 .. 9]");
  EXPECT_HAS(writeModel(out.result.model),
             "scale  yarn_gain(40) ^ 2 / sqrt(12)");
  EXPECT_HAS(out.notes, "q is W_UK^T q_nope, then q_rope; there is one key "
                        "head");
  EXPECT_HAS(
      readConfig(configOf(configs[1], R"("kv_lora_rank": 10)")).notes,
      "for decoding over a cache of latents, import once more with --absorbed");
}

TEST(Absorbed, IsRefusedWithoutLatents) {
  ImportOptions options;
  options.absorbed = true;
  EXPECT_HAS(
      readConfig(llama(R"("head_dim": 8, "rope_theta": 1e4)"), options).errors,
      "--absorbed: the family 'llama' has no latent keys; those that have are "
      "deepseek_v2 deepseek_v3");
  EXPECT_HAS(
      readConfig(configOf(configs[0], R"("kv_lora_rank": 1022)"), options)
          .errors,
      "'kv_lora_rank' = 1022 and 4 rotary lanes are a head of 1026, but a head "
      "has at most 1024 lanes");
}

} // namespace
