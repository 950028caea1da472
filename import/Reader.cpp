// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys of a config, read with their types and ranges.
#include "import/Reader.h"

#include <cmath>
#include <fmt/format.h>

#include "import/Text.h"

using namespace torsor;

void ImportMessages::add(ImportMessage::Level level, std::string text) {
  for (const ImportMessage &known : list)
    if (known.level == level && known.text == text)
      return;
  errors += level == ImportMessage::Error;
  list.push_back({level, std::move(text)});
}

std::optional<int64_t> torsor::asInteger(const Json &value) {
  if (value.is_number_unsigned()) {
    uint64_t number = value.get<uint64_t>();
    if (number > uint64_t{1} << 62)
      return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer())
    return value.get<int64_t>();
  if (!value.is_number_float())
    return std::nullopt;
  double number = value.get<double>();
  if (!(std::abs(number) < 0x1p53) || number != std::floor(number))
    return std::nullopt;
  return static_cast<int64_t>(number);
}

bool Reader::mentions(std::string_view name) const {
  return object.contains(std::string(name));
}

bool Reader::has(std::string_view name) const {
  auto at = object.find(std::string(name));
  return at != object.end() && !at->is_null();
}

const Json *Reader::find(std::string_view name) {
  read.insert(std::string(name));
  return has(name) ? &object[std::string(name)] : nullptr;
}

void Reader::skip(KeyNames names) {
  for (std::string_view name : names)
    read.insert(std::string(name));
}

void Reader::passOver(KeyNames names) {
  skip(names);
  for (std::string_view name : names)
    passed.insert(std::string(name));
}

std::string Reader::getPath(std::string_view name) const {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::string Reader::quote(std::string_view name) const {
  auto at = object.find(std::string(name));
  return fmt::format("'{}' = {}", getPath(name),
                     at == object.end() ? "null" : quoteJson(*at));
}

std::string Reader::suggest(std::string_view name) const {
  std::vector<std::string> absent;
  for (const std::string &key : read)
    if (!mentions(key))
      absent.push_back(key);
  return suggestName(name, absent);
}

std::string_view Reader::choose(KeyNames names) {
  std::string_view chosen;
  for (std::string_view name : names) {
    read.insert(std::string(name));
    if (!has(name))
      continue;
    if (chosen.empty())
      chosen = name;
    else if (object[std::string(name)] != object[std::string(chosen)])
      messages->error(fmt::format("{} and {} are two spellings of one thing "
                                  "and disagree; remove the wrong one",
                                  quote(chosen), quote(name)));
  }
  return chosen;
}

void Reader::reportType(std::string_view name, std::string_view wanted) {
  if (reported.emplace(name).second)
    messages->error(fmt::format("{} must be {}", quote(name), wanted));
}

void Reader::reportMissing(std::string_view name, std::string_view why) {
  if (reported.emplace(name).second)
    messages->error(fmt::format("'{}' is missing: {}", getPath(name), why));
}

std::optional<int64_t> Reader::readInt(KeyNames names, int64_t low,
                                       int64_t high) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  std::optional<int64_t> value = asInteger(object[std::string(name)]);
  if (!value || *value < low || *value > high) {
    reportType(name, fmt::format("an integer from {} to {}", low, high));
    return std::nullopt;
  }
  return value;
}

std::optional<double> Reader::readReal(KeyNames names, double low, bool above) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  double value = entry.is_number() ? entry.get<double>() : std::nan("");
  if (!std::isfinite(value) || value < low || (above && value == low)) {
    reportType(name, fmt::format("a number {} {}",
                                 above ? "above" : "of at least", low));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> Reader::readFlag(KeyNames names) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  if (entry.is_boolean())
    return entry.get<bool>();
  if (entry.is_number()) // some configs write 4 for "on"
    return entry.get<double>() != 0;
  reportType(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> Reader::readWord(KeyNames names) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  if (entry.is_string())
    return entry.get<std::string>();
  reportType(name, "a string");
  return std::nullopt;
}

std::optional<std::vector<std::string>> Reader::readWords(KeyNames names) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  std::vector<std::string> words;
  if (entry.is_array())
    for (const Json &item : entry)
      if (item.is_string())
        words.push_back(item.get<std::string>());
  if (!entry.is_array() || words.size() != entry.size()) {
    reportType(name, "a list of strings");
    return std::nullopt;
  }
  return words;
}

std::optional<std::vector<int64_t>> Reader::readInts(KeyNames names,
                                                     int64_t low) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  std::vector<int64_t> list;
  if (entry.is_array())
    for (const Json &item : entry) {
      std::optional<int64_t> value =
          item.is_boolean() ? int64_t{item.get<bool>()} : asInteger(item);
      if (value && *value >= low)
        list.push_back(*value);
    }
  if (!entry.is_array() || list.size() != entry.size()) {
    reportType(name, fmt::format("a list of integers of at least {}", low));
    return std::nullopt;
  }
  return list;
}

std::optional<std::vector<double>> Reader::readReals(KeyNames names) {
  std::string_view name = choose(names);
  if (name.empty())
    return std::nullopt;
  const Json &entry = object[std::string(name)];
  std::vector<double> list;
  if (entry.is_array())
    for (const Json &item : entry)
      if (item.is_number() && item.get<double>() > 0 &&
          std::isfinite(item.get<double>()))
        list.push_back(item.get<double>());
  if (!entry.is_array() || list.size() != entry.size()) {
    reportType(name, "a list of numbers above 0");
    return std::nullopt;
  }
  return list;
}
