// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rotary part of a config: which block, which base, which lanes.
#include "import/Rope.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/RopeRules.h"
#include "import/Text.h"

using namespace torsor;

static constexpr KeyNames baseKeys = {"rope_theta", "rotary_emb_base",
                                      "rotary_base", "rope_base"};
static constexpr KeyNames fractionKeys = {"partial_rotary_factor", "rotary_pct",
                                          "rope_pct", "rotary_percentage",
                                          "rotary_emb_fraction"};

RopeReader::RopeReader(Reader &config) : config(config) {
  bool fresh = config.has("rope_parameters"), old = config.has("rope_scaling");
  const Json &object = config.getObject();
  if (fresh && old && object["rope_parameters"] != object["rope_scaling"]) {
    config.getMessages().error(fmt::format(
        "{} and {} disagree: they are the new and the old spelling of one "
        "block; remove one",
        config.quote("rope_parameters"), config.quote("rope_scaling")));
    broken = true;
  }
  if (fresh)
    open("rope_parameters");
  else if (old)
    open("rope_scaling");
}

void RopeReader::open(std::string_view name) {
  const Json &block = config.getObject()[std::string(name)];
  ImportMessages &messages = config.getMessages();
  if (!block.is_object()) {
    messages.error(fmt::format("{} must be an object, as {{\"rope_type\": "
                               "\"default\", \"rope_theta\": 10000.0}}",
                               config.quote(name)));
    broken = true;
    return;
  }
  size_t objects = 0, values = 0;
  for (const Json &entry : block) {
    objects += entry.is_object();
    values += !entry.is_null();
  }
  nested = objects > 0;
  if (!nested) {
    blocks.try_emplace("", block, config.getPath(name), messages);
    return;
  }
  if (objects != values) {
    messages.error(fmt::format(
        "{} mixes blocks of layer types with plain values; write one or the "
        "other",
        config.quote(name)));
    broken = true;
  }
  for (const auto &entry : block.items())
    if (entry.value().is_object())
      blocks.try_emplace(entry.key(), entry.value(),
                         config.getPath(std::string(name) + "." + entry.key()),
                         messages);
}

Reader *RopeReader::choose(const std::string &layerType) {
  auto at = blocks.find(nested ? layerType : "");
  if (at == blocks.end())
    return nullptr;
  chosen.insert(at->first);
  return &at->second;
}

std::string RopeReader::readRule(Reader *block) {
  if (!block)
    return "default";
  auto old = block->readWord({"type"}), fresh = block->readWord({"rope_type"});
  if (old && fresh && findRopeRule(*old) != findRopeRule(*fresh))
    block->getMessages().error(
        fmt::format("{} and {} disagree: they are two spellings of one key; "
                    "remove the wrong one",
                    block->quote("type"), block->quote("rope_type")));
  std::string name = fresh ? *fresh : old ? *old : "default";
  if (!old && !fresh && block->has("factor"))
    block->getMessages().error(fmt::format(
        "{} says how much, but no 'rope_type' says which rule; write one of {}",
        block->quote("factor"), listRopeRules()));
  broken |= !old && !fresh && block->has("factor");
  if (findRopeRule(name))
    return name;
  block->getMessages().error(
      fmt::format("{}: there is no such rule; there are {}",
                  block->quote(fresh ? "rope_type" : "type"), listRopeRules()));
  broken = true;
  return "default";
}

double RopeReader::readBase(const RopeRequest &request, Reader *block) {
  ImportMessages &messages = config.getMessages();
  if (request.fixedBase) {
    config.skip({"rope_theta"});
    if (block)
      block->skip({"rope_theta"});
    return *request.fixedBase;
  }
  std::optional<double> outer = config.readReal(baseKeys, 1, true);
  std::optional<double> inner =
      block ? block->readReal({"rope_theta"}, 1, true) : std::nullopt;
  if (inner && outer && *inner != *outer && !nested)
    messages.error(fmt::format("{} and {} disagree; remove the wrong one",
                               block->quote("rope_theta"),
                               config.quote("rope_theta")));
  if (inner)
    return *inner;
  if (outer)
    return *outer;
  bool wrong = block && block->has("rope_theta");
  for (std::string_view name : baseKeys)
    wrong |= config.has(name);
  if (request.base > 0) {
    if (!wrong)
      messages.warning(fmt::format(
          "the config has no 'rope_theta'; this family's own default, {}, is "
          "taken",
          writeReal(request.base)));
    return request.base;
  }
  if (!wrong)
    config.reportMissing("rope_theta", "frequencies need a base, and this "
                                       "family has no default");
  return 10000;
}

/// A fraction must name an even number of lanes, to three decimals; what is
/// near enough is rounded down, as the library does.
static int64_t takeFraction(Reader &reader, std::string_view key,
                            double fraction, int64_t lanes) {
  double exact = fraction * static_cast<double>(lanes);
  auto width = static_cast<int64_t>(std::floor(exact + 1e-9));
  double error = std::abs(
      static_cast<double>(width) / static_cast<double>(lanes) - fraction);
  if (width % 2 == 0 && error <= 1e-3) {
    if (error > 1e-9)
      reader.getMessages().warning(fmt::format(
          "{} of {} lanes is {:.6g}; {} lanes rotate, rounded down as the "
          "library does",
          reader.quote(key), lanes, exact, width));
    return width;
  }
  reader.getMessages().error(fmt::format(
      "{} of {} lanes is {:.6g}, and the rotated width must be an even number "
      "of lanes; write {:.6g} for {} lanes",
      reader.quote(key), lanes, exact,
      static_cast<double>(width / 2 * 2) / static_cast<double>(lanes),
      width / 2 * 2));
  return 0;
}

bool RopeReader::readWidth(const RopeRequest &request, Reader *block,
                           Rotation &rotation) {
  ImportMessages &messages = config.getMessages();
  bool whole = rotation.rule == RopeRule::Proportional;
  std::optional<double> inner, outer;
  if (request.fixedFraction)
    config.skip({"partial_rotary_factor"});
  if (block)
    inner = block->readReal({"partial_rotary_factor"}, 0);
  if (!request.fixedFraction)
    outer = config.readReal(fractionKeys, 0);
  if (request.fixedFraction)
    inner.reset();
  if (inner && outer && *inner != *outer)
    messages.error(fmt::format("{} and {} disagree; remove the wrong one",
                               block->quote("partial_rotary_factor"),
                               config.quote("partial_rotary_factor")));
  std::optional<int64_t> width = config.readInt({"rotary_dim"}, 0, 1 << 20);
  if (request.fixedWidth)
    width = request.fixedWidth;
  double fraction = request.fixedFraction ? *request.fixedFraction
                    : inner               ? *inner
                    : outer               ? *outer
                                          : request.fraction;
  Reader &source = inner ? *block : config;
  std::string_view key = "partial_rotary_factor";
  for (std::string_view name : fractionKeys)
    if (!inner && config.has(name) && !config.has(key))
      key = name;
  if (fraction > 1) {
    messages.error(fmt::format("{} must be at most 1: it is the part of the {} "
                               "lanes that rotates",
                               source.quote(key), request.lanes));
    return false;
  }
  int64_t turning = width && !request.fixedFraction && !inner && !outer ? *width
                    : fraction == 1
                        ? request.lanes
                        : takeFraction(source, key, fraction, request.lanes);
  if (width && (inner || outer) && *width != turning)
    messages.error(fmt::format("{} and {} of {} lanes disagree; remove one",
                               config.quote("rotary_dim"), source.quote(key),
                               request.lanes));
  if (turning > request.lanes)
    messages.error(
        fmt::format("the rotated width {} is larger than the head, {} lanes",
                    turning, request.lanes));
  if (turning % 2)
    messages.error(fmt::format(
        "the rotated width {} is odd: lanes turn in pairs; give an even one",
        turning));
  rotation.width = whole ? request.lanes : turning;
  rotation.pairs = turning / 2;
  if (turning == 0)
    messages.note("the rotated width is 0: nothing turns");
  return turning > 0 && turning % 2 == 0 && turning <= request.lanes;
}

std::optional<Rotation> RopeReader::resolve(const RopeRequest &request) {
  config.skip({"rope_parameters", "rope_scaling"});
  if (broken) { // the keys beside the block are not to blame
    config.skip(baseKeys);
    config.skip(fractionKeys);
    config.skip({"rotary_dim", "original_max_position_embeddings"});
    return std::nullopt;
  }
  ImportMessages &messages = config.getMessages();
  Reader *block = choose(request.layerType);
  if (nested && !block) {
    config.skip(baseKeys);
    config.skip(fractionKeys);
    messages.error(fmt::format(
        "'rope_parameters' has a block for each layer type, but none for "
        "'{}'; add one",
        request.layerType));
    return std::nullopt;
  }
  Rotation rotation;
  rotation.layout = request.layout;
  std::string rule = readRule(request.rescaled ? block : nullptr);
  rotation.rule = findRopeRule(rule)->rule;
  rotation.base = readBase(request, block);
  rotation.origin = request.fixedOrigin.empty()
                        ? fmt::format("rope_theta {}", writeReal(rotation.base))
                        : request.fixedOrigin;
  if (!readWidth(request, block, rotation))
    return std::nullopt;
  if (block && request.rescaled) {
    ruleOf[block->getPath()] = rule;
    readRescaling(request, *block, rotation);
    readSections(*block, rotation);
  } else if (block && !nested && !ruleOf.count(block->getPath())) {
    ruleOf[block->getPath()] = ""; // for other layers, or for none
  }
  return rotation;
}

std::optional<double> RopeReader::readExtra(const std::string &layerType,
                                            std::string_view name) {
  Reader *block = choose(layerType);
  if (!block || !block->has(name))
    return std::nullopt;
  return block->readReal({name}, 0);
}

std::optional<int64_t> RopeReader::readTrained(const std::string &layerType) {
  Reader *block = choose(layerType);
  std::optional<int64_t> inner, outer;
  if (block)
    inner = block->readInt({"original_max_position_embeddings"});
  outer = config.readInt({"original_max_position_embeddings"});
  if (inner && outer && *inner != *outer)
    config.getMessages().error(
        fmt::format("{} and {} disagree; remove the wrong one",
                    block->quote("original_max_position_embeddings"),
                    config.quote("original_max_position_embeddings")));
  return inner ? inner : outer;
}

/// A block for layers that there are not: a slip, or left from elsewhere.
void RopeReader::reportUnused(const std::string &type, const Reader &block) {
  ImportMessages &messages = config.getMessages();
  std::string text =
      fmt::format("'{}' = {}: no layer is of the type '{}'", block.getPath(),
                  quoteJson(block.getObject()), type);
  bool known = type == "full_attention" || type == "sliding_attention" ||
               type == "chunked_attention" || type == "linear_attention";
  if (known)
    messages.warning(text + "; the block changes nothing");
  else
    messages.error(text + "; remove the block, or name a type of layer");
}

void RopeReader::finish(const std::vector<std::string> &ignore) {
  if (broken)
    return;
  for (auto &[type, block] : blocks) {
    if (nested && !chosen.count(type)) {
      if (std::find(ignore.begin(), ignore.end(), type) == ignore.end())
        reportUnused(type, block);
      continue;
    }
    auto at = ruleOf.find(block.getPath());
    const RopeRuleInfo *rule =
        findRopeRule(at == ruleOf.end() || at->second.empty() ? readRule(&block)
                                                              : at->second);
    for (const auto &entry : block.getObject().items()) {
      const std::string &key = entry.key();
      if (entry.value().is_null() || block.wasRead(key) ||
          (rule && readsKey(*rule, key)) ||
          std::find(ignore.begin(), ignore.end(), key) != ignore.end())
        continue;
      std::string near = rule ? suggestName(key, listKeys(*rule)) : "";
      if (!isRopeKey(key) && looksLikeRopeKey(key))
        block.getMessages().error(fmt::format(
            "{}: no rule reads this key{}, and it looks as if it mattered; "
            "remove it, or name it with --ignore",
            block.quote(key), near));
      else
        block.getMessages().warning(
            fmt::format("{} is not read by the rule '{}'{}: it changes nothing",
                        block.quote(key), rule ? rule->name : "default", near));
    }
  }
}
