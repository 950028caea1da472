// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers and names as the language writes them.
#include "import/Text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

using namespace torsor;

std::string torsor::writeInt(int64_t value) {
  std::string text = std::to_string(value);
  size_t first = value < 0 ? 1 : 0;
  if (text.size() - first > 4)
    for (size_t at = text.size() - 3; at > first; at -= 3) {
      text.insert(at, "_");
      if (at < 3)
        break;
    }
  return text;
}

std::string torsor::writeReal(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return writeInt(static_cast<int64_t>(value));
  return fmt::format("{}", value);
}

std::string torsor::writeReals(const std::vector<double> &values) {
  std::vector<std::string> texts;
  for (double value : values)
    texts.push_back(writeReal(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string torsor::writeInts(const std::vector<int64_t> &values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

/// Keywords, reserved words, built-in names and the standard library's.
static constexpr std::array<std::string_view, 134> taken = {
    "torsor",     "import",  "let",        "fn",
    "require",    "scheme",  "stack",      "layers",
    "use",        "head",    "value",      "key",
    "clock",      "moving",  "rising",     "param",
    "input",      "per",     "orthogonal", "condition",
    "norm",       "readout", "action",     "value_action",
    "scale",      "softcap", "logit",      "bias",
    "value_bias", "mask",    "sink",       "embed",
    "if",         "then",    "else",       "sum",
    "for",        "in",      "at",         "and",
    "or",         "not",     "div",        "mod",
    "true",       "false",   "assert",     "dropout",
    "export",     "extern",  "grad",       "householder",
    "loop",       "match",   "module",     "private",
    "return",     "struct",  "trait",      "type",
    "unipotent",  "var",     "where",      "while",
    "with",       "yield",   "i",          "j",
    "s",          "t",       "age",        "delta",
    "h",          "H",       "g",          "G",
    "D",          "V",       "N",          "q",
    "k",          "score",   "total",      "layer",
    "L",          "pos",     "pi",         "inf",
    "all",        "causal",  "last",       "window",
    "chunk",      "first",   "every",      "spectrum",
    "highest",    "linear",  "ntk",        "dynamic_ntk",
    "by_parts",   "llama3",  "yarn",       "divided",
    "rotation",   "rope",    "xpos",       "sandwich",
    "log_n",      "stepped", "sinusoidal", "int",
    "real",       "bool",    "zero",       "turn",
    "decay",      "jordan",  "plane",      "split",
    "adjacent",   "basis",   "gain",       "abs",
    "min",        "max",     "clamp",      "floor",
    "ceil",       "exp",     "log",        "sqrt",
    "sin",        "cos"};

std::string torsor::makeName(const std::string &text) {
  std::string name;
  for (char c : text.substr(0, 64))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
    name.insert(0, "model_");
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    name += "_model";
  return name;
}

/// Letters to put in, leave out or change to make one of the other.
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t n = 0; n < row.size(); ++n)
    row[n] = n;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t next =
          std::min({row[j] + 1, row[j + 1] + 1, corner + (a[i] != b[j])});
      corner = row[j + 1];
      row[j + 1] = next;
    }
  }
  return row.back();
}

std::string torsor::suggestName(std::string_view text,
                                const std::vector<std::string> &names) {
  const std::string *nearest = nullptr;
  size_t least = 3;
  if (text.size() < 64)
    for (const std::string &name : names)
      if (size_t d = distance(text, name); d < least) {
        least = d;
        nearest = &name;
      }
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}
