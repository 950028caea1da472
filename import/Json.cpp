// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON text, read strictly: a document is built event by event.
#include "import/Json.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

using namespace torsor;

static constexpr size_t maxDepth = 64;
static constexpr size_t maxBytes = size_t{16} << 20;

namespace {

/// Builds the document; every event that returns false ends the reading.
class Builder : public nlohmann::json_sax<Json> {
public:
  /// `quoted`: where names of numbers were put in quotes, in order.
  Builder(Json &root, std::string_view text, const std::vector<size_t> &quoted)
      : root(root), text(text), quoted(quoted) {}

  std::string error;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    if (stack.back()->contains(name)) {
      error = fmt::format("the key '{}' stands twice in one object; remove "
                          "one of them",
                          name);
      return false;
    }
    next = name;
    return true;
  }
  bool parse_error(std::size_t at, const std::string &token,
                   const nlohmann::detail::exception &why) override {
    at = std::min(at ? at - 1 : 0, text.size());
    std::string_view before = text.substr(0, at);
    size_t line =
        1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    size_t start = before.rfind('\n') + 1; // npos + 1 is 0
    size_t column = at - start + 1;
    for (size_t place : quoted)
      column -= place >= start && place < at ? 2 : 0;
    std::string_view words = why.what();
    bool range = words.find("out_of_range") != std::string_view::npos;
    std::string what =
        range ? "the number is beyond a double"
              : "this is not JSON (which has no comments or trailing "
                "commas)";
    error = fmt::format("line {}, column {}: {}; found '{}'", line, column,
                        what, shorten(token));
    return false;
  }

private:
  Json &root;
  std::string_view text;
  const std::vector<size_t> &quoted;
  std::vector<Json *> stack;
  std::string next;

  static std::string shorten(const std::string &token) {
    std::string out;
    for (char c : token.substr(token.size() > 24 ? token.size() - 24 : 0))
      out += c < ' ' || c > '~' ? '?' : c;
    return out.empty() ? "the end of the text" : out;
  }
  Json *place(Json value) {
    if (stack.empty()) {
      root = std::move(value);
      return &root;
    }
    if (stack.back()->is_array()) {
      stack.back()->push_back(std::move(value));
      return &stack.back()->back();
    }
    return &((*stack.back())[next] = std::move(value));
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (stack.size() >= maxDepth) {
      error = fmt::format("the values are nested deeper than {}", maxDepth);
      return false;
    }
    stack.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack.pop_back();
    return true;
  }
};

} // namespace

/// The names of numbers that Python writes, though JSON has none, in quotes:
/// they become strings, which no key of positions may be.
static std::string quoteNumbers(std::string_view text,
                                std::vector<size_t> &quoted) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    if (!inside)
      for (std::string_view name : {"-Infinity", "Infinity", "NaN"})
        if (text.substr(at, name.size()) == name) {
          quoted.push_back(out.size());
          out += '"' + std::string(name) + '"';
          text.remove_prefix(at + name.size());
          at = 0;
          break;
        }
    if (at == text.size())
      break;
    char c = text[at++];
    out += c;
    if (inside && c == '\\' && at < text.size())
      out += text[at++];
    else if (c == '"')
      inside = !inside;
  }
  return out;
}

bool torsor::readJson(std::string_view text, Json &value, std::string &error) {
  if (text.size() > maxBytes) {
    error = fmt::format("{} bytes are more than a config has; the limit is {}",
                        text.size(), maxBytes);
    return false;
  }
  std::vector<size_t> quoted;
  std::string whole = quoteNumbers(text, quoted);
  Builder builder(value, whole, quoted);
  if (Json::sax_parse(whole, &builder))
    return true;
  error = builder.error.empty() ? "this is not JSON" : builder.error;
  return false;
}

std::string torsor::quoteJson(const Json &value) {
  std::string text =
      value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}
