// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rescalings a config can name, and the keys of their blocks.
#include "import/RopeRules.h"

#include <algorithm>
#include <array>

using namespace torsor;

static const std::vector<RopeRuleInfo> &getRules() {
  static const std::vector<RopeRuleInfo> rules = {
      {"default", RopeRule::Default, {"mrope", "none"}, {}, {}},
      {"linear", RopeRule::Linear, {}, {"factor"}, {}},
      {"ntk", RopeRule::Ntk, {"ntk-aware"}, {}, {"alpha", "factor"}},
      {"dynamic",
       RopeRule::Dynamic,
       {"dynamic_ntk"},
       {"factor"},
       {"alpha", "original_max_position_embeddings"}},
      {"yarn",
       RopeRule::Yarn,
       {"deepseek_yarn"},
       {"factor"},
       {"original_max_position_embeddings", "beta_fast", "beta_slow",
        "attention_factor", "mscale", "mscale_all_dim", "truncate"}},
      {"llama3",
       RopeRule::Llama3,
       {},
       {"factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings"},
       {}},
      {"longrope",
       RopeRule::LongRope,
       {"su"},
       {"short_factor", "long_factor"},
       {"factor", "original_max_position_embeddings", "attention_factor",
        "short_mscale", "long_mscale"}},
      {"proportional", RopeRule::Proportional, {}, {}, {"factor"}},
  };
  return rules;
}

/// Keys of every block.
static constexpr std::array<std::string_view, 3> common = {"type", "rope_type",
                                                           "rope_theta"};

const RopeRuleInfo *torsor::findRopeRule(std::string_view name) {
  for (const RopeRuleInfo &rule : getRules())
    if (rule.name == name || std::find(rule.aliases.begin(), rule.aliases.end(),
                                       name) != rule.aliases.end())
      return &rule;
  return nullptr;
}

std::string torsor::listRopeRules() {
  std::string text;
  for (const RopeRuleInfo &rule : getRules())
    text += (text.empty() ? "" : ", ") + std::string(rule.name);
  return text;
}

std::vector<std::string> torsor::listKeys(const RopeRuleInfo &rule) {
  std::vector<std::string> keys(common.begin(), common.end());
  keys.insert(keys.end(), rule.required.begin(), rule.required.end());
  keys.insert(keys.end(), rule.optional.begin(), rule.optional.end());
  return keys;
}

bool torsor::readsKey(const RopeRuleInfo &rule, std::string_view name) {
  const std::vector<std::string> keys = listKeys(rule);
  return std::find(keys.begin(), keys.end(), name) != keys.end();
}

bool torsor::isRopeKey(std::string_view name) {
  return std::any_of(
      getRules().begin(), getRules().end(),
      [name](const RopeRuleInfo &rule) { return readsKey(rule, name); });
}

bool torsor::looksLikeRopeKey(std::string_view name) {
  for (std::string_view word :
       {"factor", "scale", "scaling", "beta", "freq", "theta", "base", "rope",
        "rotary", "section", "position", "alpha", "trunc"})
    if (name.find(word) != std::string_view::npos)
      return true;
  return false;
}
