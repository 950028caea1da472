// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rotary part of a config: how its frequencies are rescaled.
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "import/Rope.h"
#include "import/RopeRules.h"
#include "import/Text.h"

using namespace torsor;

/// 0.1 weight ln(factor) + 1.
static double yarnGain(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

void RopeReader::readFactor(Reader &block, Rotation &rotation, double low) {
  std::optional<double> factor = block.readReal({"factor"}, low, low == 0);
  rotation.factor = factor.value_or(1);
}

/// The length of the original training: of the block, beside it, or, as a last
/// resort, the longest that the config allows.
void RopeReader::readLength(Reader &block, Rotation &rotation,
                            bool lastResort) {
  std::optional<int64_t> inner =
      block.readInt({"original_max_position_embeddings"});
  std::optional<int64_t> outer =
      config.readInt({"original_max_position_embeddings"});
  ImportMessages &messages = config.getMessages();
  if (inner && outer && *inner != *outer)
    messages.error(
        fmt::format("{} and {} disagree; remove the wrong one",
                    block.quote("original_max_position_embeddings"),
                    config.quote("original_max_position_embeddings")));
  std::optional<int64_t> length = inner ? inner : outer;
  if (!length && lastResort) {
    length = config.readInt({"max_position_embeddings"});
    if (length)
      messages.note(fmt::format(
          "there is no 'original_max_position_embeddings', so {} is taken as "
          "the trained length, as the library does",
          config.quote("max_position_embeddings")));
  }
  if (!length) {
    if (!block.has("original_max_position_embeddings") &&
        !config.has("original_max_position_embeddings"))
      block.reportMissing("original_max_position_embeddings",
                          "the rule needs the length of the original training");
    length = 1;
  }
  rotation.trained = *length;
}

void RopeReader::compareImplied(Reader &block, const Rotation &rotation) {
  std::optional<int64_t> longest = config.readInt({"max_position_embeddings"});
  if (!longest || !block.has("factor") || rotation.trained < 1)
    return;
  double implied =
      static_cast<double>(*longest) / static_cast<double>(rotation.trained);
  if (std::abs(implied - rotation.factor) > 1e-6 * rotation.factor)
    config.getMessages().note(
        fmt::format("{} is taken; 'max_position_embeddings' / "
                    "'original_max_position_embeddings' would imply {:.6g}",
                    block.quote("factor"), implied));
}

void RopeReader::readYarn(Reader &block, Rotation &rotation) {
  ImportMessages &messages = config.getMessages();
  readFactor(block, rotation, 1);
  readLength(block, rotation, true);
  rotation.fast = block.readReal({"beta_fast"}, 0, true).value_or(32);
  rotation.slow = block.readReal({"beta_slow"}, 0, true).value_or(1);
  // Absent, it is on; null, the library takes it for off.
  rotation.truncate =
      block.readFlag({"truncate"}).value_or(!block.mentions("truncate"));
  if (nested && !rotation.truncate)
    messages.error(fmt::format(
        "{}: in blocks of layer types, the library does not read this key and "
        "rounds the bounds; remove it",
        block.quote("truncate")));
  if (rotation.fast < rotation.slow)
    messages.error(fmt::format(
        "{} lies below {}: they count turns, and faster pairs make more; "
        "exchange them",
        block.quote("beta_fast"), block.quote("beta_slow")));
  auto explicitGain = block.readReal({"attention_factor"}, 0, true);
  double lanes = block.readReal({"mscale"}, 0).value_or(0);
  double all = block.readReal({"mscale_all_dim"}, 0).value_or(0);
  std::string factor = writeReal(rotation.factor);
  if (explicitGain) {
    rotation.gain = *explicitGain;
    rotation.gainText = writeReal(*explicitGain);
  } else if (lanes != 0 && all != 0) {
    rotation.gain =
        yarnGain(rotation.factor, lanes) / yarnGain(rotation.factor, all);
    rotation.gainText = fmt::format(
        "yarn_gain({0}, weight = {1}) / yarn_gain({0}, weight = {2})", factor,
        writeReal(lanes), writeReal(all));
  } else {
    rotation.gain = yarnGain(rotation.factor, 1);
    rotation.gainText = fmt::format("yarn_gain({})", factor);
  }
  rotation.longGain = rotation.gain;
  compareImplied(block, rotation);
}

void RopeReader::readLongRope(Reader &block, Rotation &rotation) {
  ImportMessages &messages = config.getMessages();
  readLength(block, rotation, false);
  auto longest = config.readInt({"max_position_embeddings"});
  auto factor = block.readReal({"factor"}, 0, true);
  if (!factor && longest)
    factor =
        static_cast<double>(*longest) / static_cast<double>(rotation.trained);
  if (!factor)
    config.reportMissing("max_position_embeddings",
                         "LongRoPE's factor is this over the trained length; "
                         "give it, or 'factor'");
  rotation.factor = factor.value_or(1);
  compareImplied(block, rotation);
  auto read = [&](const char *name, std::vector<double> &list) {
    list = block.readReals({name}).value_or(std::vector<double>());
    size_t pairs = static_cast<size_t>(rotation.width / 2);
    if (list.size() != pairs && !block.wasReported(name))
      messages.error(fmt::format(
          "'{}' has {} entries, but expected {}: one for each pair of the {} "
          "rotated lanes",
          block.getPath(name), list.size(), pairs, rotation.width));
  };
  read("short_factor", rotation.shortFactor);
  read("long_factor", rotation.longFactor);
  auto explicitGain = block.readReal({"attention_factor"}, 0, true);
  auto shortGain = block.readReal({"short_mscale"}, 0, true);
  auto longGain = block.readReal({"long_mscale"}, 0, true);
  double usual =
      rotation.factor <= 1
          ? 1
          : std::sqrt(1 + std::log(rotation.factor) /
                              std::log(static_cast<double>(rotation.trained)));
  std::string usualText =
      fmt::format("longrope_gain({}, trained = {})", writeReal(rotation.factor),
                  writeInt(rotation.trained));
  const char *const length = "original_max_position_embeddings";
  if (rotation.factor > 1 && rotation.trained < 2 &&
      (block.has(length) || config.has(length)))
    messages.error(fmt::format(
        "{} must be at least 2: the gain divides by its logarithm",
        block.has(length) ? block.quote(length) : config.quote(length)));
  auto set = [&](double &gain, std::string &text,
                 const std::optional<double> &own) {
    gain = own ? *own : explicitGain ? *explicitGain : usual;
    text = own            ? writeReal(*own)
           : explicitGain ? writeReal(*explicitGain)
                          : usualText;
  };
  set(rotation.gain, rotation.gainText, shortGain);
  set(rotation.longGain, rotation.longGainText, longGain);
  messages.note(fmt::format(
      "the frequencies change for sequences of more than {} tokens, chosen per "
      "sequence at each call, so keys are cached raw; the library leaves keys "
      "that were cached before the switch as they were",
      rotation.trained));
}

void RopeReader::readSections(Reader *block, Rotation &rotation) {
  if (!family.sections[0])
    return;
  ImportMessages &messages = config.getMessages();
  std::vector<int64_t> sections(family.sections.begin(), family.sections.end());
  std::string source = fmt::format("'mrope_section' = {}", writeInts(sections));
  bool given = block && block->has("mrope_section");
  if (given) {
    source = block->quote("mrope_section");
    auto own = block->readInts({"mrope_section"}, 0);
    if (!own)
      return;
    sections = *own;
  } else {
    messages.warning(fmt::format("the config has no 'mrope_section'; this "
                                 "family's own default, {}, is taken",
                                 writeInts(sections)));
  }
  auto flag = block ? block->readFlag({"mrope_interleaved"}) : std::nullopt;
  if (flag && *flag != family.interleaved)
    messages.error(fmt::format(
        "{}: this family does not read the key, and its clocks are always {}; "
        "remove it",
        block->quote("mrope_interleaved"),
        family.interleaved ? "interleaved" : "in one piece each"));
  int64_t pairs = rotation.width / 2, total = 0;
  for (int64_t n : sections)
    total += std::min<int64_t>(n, 1 << 20);
  if (sections.size() != 3 || total != pairs) {
    messages.error(fmt::format(
        "{} must be three numbers (time, rows, columns) that add up to {}, the "
        "pairs of the {} rotated lanes, but they add up to {}",
        source, pairs, rotation.width, total));
    return;
  }
  rotation.sections = sections;
  rotation.interleaved = family.interleaved;
  for (int64_t axis = 1; rotation.interleaved && axis < 3; ++axis)
    if (sections[axis] > 0 && 3 * (sections[axis] - 1) + axis >= pairs)
      messages.error(fmt::format(
          "{}: interleaved, {} pairs of axis {} would reach pair {}, but there "
          "are only {}",
          source, sections[axis], axis, 3 * (sections[axis] - 1) + axis,
          pairs));
}

void RopeReader::readRescaling(Reader &block, Rotation &rotation) {
  ImportMessages &messages = config.getMessages();
  const RopeRuleInfo *info = findRopeRule(ruleOf[block.getPath()]);
  for (std::string_view key : info->required)
    if (!block.has(key) &&
        !(key == "original_max_position_embeddings" && config.has(key)))
      block.reportMissing(key,
                          fmt::format("the rule '{}' needs it", info->name));
  switch (rotation.rule) {
  case RopeRule::Default:
    break;
  case RopeRule::Linear:
  case RopeRule::Proportional:
    readFactor(block, rotation, 0);
    break;
  case RopeRule::Ntk:
  case RopeRule::Dynamic: {
    bool fixed = rotation.rule == RopeRule::Ntk || family.alpha;
    auto alpha = fixed ? block.readReal({"alpha"}, 1) : std::nullopt;
    readFactor(block, rotation, 1);
    if (rotation.width < 4)
      messages.error(fmt::format("the rotated width is {}: one pair alone "
                                 "cannot be stretched; the rule '{}' needs two",
                                 rotation.width, info->name));
    if (alpha || rotation.rule == RopeRule::Ntk) {
      rotation.rule = RopeRule::Ntk; // Hunyuan: fixed, under this name
      rotation.alpha = alpha.value_or(rotation.factor);
    } else {
      readLength(block, rotation, true);
      auto longest = config.readInt({"max_position_embeddings"});
      if (longest && *longest != rotation.trained)
        messages.error(fmt::format(
            "this rule begins to stretch at {}; the library does not read "
            "'original_max_position_embeddings' = {} for it; remove the wrong "
            "one",
            config.quote("max_position_embeddings"), rotation.trained));
      messages.note("the frequencies grow with the length of each sequence at "
                    "each call, so keys are cached raw; engines that keep keys "
                    "as they were rotated before give other numbers");
    }
    break;
  }
  case RopeRule::Yarn:
    readYarn(block, rotation);
    break;
  case RopeRule::Llama3:
    readFactor(block, rotation, 1);
    readLength(block, rotation, false);
    rotation.low = block.readReal({"low_freq_factor"}, 0, true).value_or(1);
    rotation.high = block.readReal({"high_freq_factor"}, 0, true).value_or(4);
    if (rotation.high < rotation.low && !block.wasReported("low_freq_factor") &&
        !block.wasReported("high_freq_factor"))
      messages.error(fmt::format("{} must not lie below {}",
                                 block.quote("high_freq_factor"),
                                 block.quote("low_freq_factor")));
    compareImplied(block, rotation);
    break;
  case RopeRule::LongRope:
    readLongRope(block, rotation);
    break;
  }
  if (family.allLanes && rotation.rule != RopeRule::Default)
    rotation.allLanes = block.readReal({"mscale_all_dim"}, 0).value_or(0);
  if (rotation.rule != RopeRule::Default)
    rotation.origin += fmt::format("; {}", block.getPath());
}
