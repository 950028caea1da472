// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rotary part of a config: which block, which base, which lanes.
#include "import/Rope.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "import/RopeRules.h"
#include "import/Text.h"

using namespace torsor;

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

static constexpr KeyNames noNames = {};
static constexpr KeyNames thetaNames = {"rope_theta"};
static constexpr KeyNames embNames = {"rotary_emb_base"};
static constexpr KeyNames thetaOrEmbNames = {"rope_theta", "rotary_emb_base"};
static constexpr KeyNames factorNames = {"partial_rotary_factor"};
static constexpr KeyNames percentNames = {"rotary_pct"};
static constexpr KeyNames fractionNames = {"rotary_emb_fraction",
                                           "partial_rotary_factor"};

KeyNames RopeReader::baseNames() const {
  switch (family.base) {
  case BaseKeys::Theta:
    return thetaNames;
  case BaseKeys::Emb:
    return embNames;
  case BaseKeys::ThetaOrEmb:
    return thetaOrEmbNames;
  case BaseKeys::Block:
  case BaseKeys::None:
    break;
  }
  return noNames;
}

KeyNames RopeReader::widthNames() const {
  switch (family.width) {
  case WidthKeys::Factor:
  case WidthKeys::LanesOrFactor:
    return factorNames;
  case WidthKeys::Percent:
    return percentNames;
  case WidthKeys::Fraction:
    return fractionNames;
  case WidthKeys::None:
  case WidthKeys::Block:
  case WidthKeys::Lanes:
    break;
  }
  return noNames;
}

double RopeReader::readBase(const RopeRequest &request, Reader *block) {
  ImportMessages &messages = config.getMessages();
  if (family.base == BaseKeys::None)
    return request.fixedBase.value_or(request.base);
  if (request.fixedBase) {
    config.skip(baseNames());
    if (block)
      block->skip({"rope_theta"});
    return *request.fixedBase;
  }
  bool own = !request.baseKey.empty();
  std::string_view key = own                  ? request.baseKey
                         : baseNames().size() ? *baseNames().begin()
                                              : "rope_theta";
  std::optional<double> inner, outer;
  config.skip(baseNames()); // of other layers, if not of this one
  outer = own ? config.readReal({key}, 1, true)
              : config.readReal(baseNames(), 1, true);
  if (block && (nested || !own))
    inner = block->readReal({"rope_theta"}, 1, true);
  if (inner && outer && *inner != *outer)
    messages.error(fmt::format("{} and {} disagree; remove the wrong one",
                               block->quote("rope_theta"), config.quote(key)));
  if (inner)
    return *inner;
  if (outer)
    return *outer;
  bool wrong =
      (block && block->wasReported("rope_theta")) || config.wasReported(key);
  for (std::string_view name : baseNames())
    wrong |= config.wasReported(name);
  if (!wrong)
    messages.warning(fmt::format("the config has no '{}'; this family's own "
                                 "default, {}, is taken",
                                 key, writeReal(request.base)));
  return request.base;
}

/// A fraction must name an even number of lanes, to three decimals; what is
/// near enough is rounded down, as the library does.
static int64_t takeFraction(Reader &reader, std::string_view key,
                            double fraction, int64_t lanes) {
  std::string name =
      reader.has(key) ? reader.quote(key)
                      : fmt::format("this family's own '{}', {},",
                                    reader.getPath(key), writeReal(fraction));
  double exact = fraction * static_cast<double>(lanes);
  auto width = static_cast<int64_t>(std::floor(exact + 1e-9));
  double error = std::abs(
      static_cast<double>(width) / static_cast<double>(lanes) - fraction);
  if (width % 2 == 0 && error <= 1e-3) {
    if (error > 1e-9)
      reader.getMessages().warning(fmt::format(
          "{} of {} lanes is {:.6g}; {} lanes rotate, rounded down as the "
          "library does",
          name, lanes, exact, width));
    return width;
  }
  reader.getMessages().error(fmt::format(
      "{} of {} lanes is {:.6g}, and the rotated width must be an even number "
      "of lanes; write {:.6g} for {} lanes",
      name, lanes, exact,
      static_cast<double>(width - width % 2) / static_cast<double>(lanes),
      width - width % 2));
  return 0;
}

/// A family of whole heads does not look at this key; that it says so, too,
/// is no fault.
void RopeReader::passWhole(Reader &reader, std::string_view key) {
  if (!reader.has(key))
    return;
  const Json &value = reader.getObject()[std::string(key)];
  if (value.is_number() && value.get<double>() == 1)
    reader.passOver({key});
}

/// The lanes that turn; none if an error has been reported.
std::optional<int64_t> RopeReader::readLanes(const RopeRequest &request,
                                             Reader *block, bool inBlock) {
  ImportMessages &messages = config.getMessages();
  const char *const usual = "partial_rotary_factor";
  if (request.fixedFraction) {
    config.passOver({usual});
    if (block)
      block->skip({usual});
    return *request.fixedFraction == 1
               ? request.lanes
               : takeFraction(config, usual, *request.fixedFraction,
                              request.lanes);
  }
  std::optional<double> inner, outer = config.readReal(widthNames(), 0);
  if (block && inBlock)
    inner = block->readReal({usual}, 0);
  std::string_view key = usual;
  for (std::string_view name : widthNames())
    if (!inner && config.has(name) && !config.has(key))
      key = name;
  if (inner && outer && *inner != *outer)
    messages.error(fmt::format("{} and {} disagree; remove the wrong one",
                               block->quote(usual), config.quote(key)));
  std::optional<int64_t> width;
  if (family.width == WidthKeys::Lanes ||
      family.width == WidthKeys::LanesOrFactor)
    width = config.readInt({"rotary_dim"}, 0, 1 << 20);
  if (family.width == WidthKeys::Lanes && !config.mentions("rotary_dim")) {
    width = 64;
    messages.warning("the config has no 'rotary_dim'; this family's own "
                     "default, 64, is taken");
  }
  double fraction = inner ? *inner : outer ? *outer : request.fraction;
  Reader &source = inner ? *block : config;
  if (fraction > 1) {
    messages.error(fmt::format("{} must be at most 1: it is the part of the {} "
                               "lanes that rotates",
                               source.quote(key), request.lanes));
    return std::nullopt;
  }
  if (width && !inner && !outer)
    return width;
  int64_t turning = fraction == 1
                        ? request.lanes
                        : takeFraction(source, key, fraction, request.lanes);
  if (width && *width != turning)
    messages.error(fmt::format("{} and {} of {} lanes disagree; remove one",
                               config.quote("rotary_dim"), source.quote(key),
                               request.lanes));
  return turning;
}

bool RopeReader::readWidth(const RopeRequest &request, Reader *block,
                           Rotation &rotation) {
  ImportMessages &messages = config.getMessages();
  bool whole = rotation.rule == RopeRule::Proportional;
  if (family.width == WidthKeys::None)
    for (const char *key : {"partial_rotary_factor", "rotary_pct"}) {
      passWhole(config, key);
      if (block && !whole)
        passWhole(*block, key);
    }
  if (block && nested && family.width == WidthKeys::Factor &&
      rotation.rule != RopeRule::Default &&
      !block->has("partial_rotary_factor"))
    block->reportMissing("partial_rotary_factor",
                         "under a rescaling, the library does not take this "
                         "family's own");
  std::optional<int64_t> lanes =
      readLanes(request, block, whole || family.width != WidthKeys::None);
  if (!lanes)
    return false;
  int64_t turning = *lanes;
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
  if (family.base != BaseKeys::None && family.blocks) {
    config.skip({"rope_parameters"});
    if (family.old)
      config.skip({"rope_scaling"});
  }
  if (broken) { // the keys beside the block are not to blame
    config.skip(baseNames());
    config.skip(widthNames());
    config.skip({"rotary_dim", "original_max_position_embeddings"});
    return std::nullopt;
  }
  ImportMessages &messages = config.getMessages();
  Reader *block = choose(request.layerType);
  if (nested && !block) {
    config.skip(baseNames());
    config.skip(widthNames());
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
  rotation.origin =
      !request.fixedOrigin.empty() ? request.fixedOrigin
      : family.base == BaseKeys::None
          ? fmt::format("the family's base {}", writeReal(rotation.base))
      : request.baseKey.empty() || nested
          ? fmt::format("rope_theta {}", writeReal(rotation.base))
          : fmt::format("base of {} layers {}",
                        request.layerType == "sliding_attention" ? "windowed"
                                                                 : "full",
                        writeReal(rotation.base));
  if (!readWidth(request, block, rotation))
    return std::nullopt;
  if (block && request.rescaled) {
    ruleOf[block->getPath()] = rule;
    readRescaling(*block, rotation);
  } else if (block && !nested && !ruleOf.count(block->getPath())) {
    ruleOf[block->getPath()] = ""; // for other layers, or for none
  }
  readSections(block, rotation);
  if (gain) {
    rotation.gain = rotation.longGain = *gain;
    rotation.gainText = rotation.longGainText = writeReal(*gain);
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
