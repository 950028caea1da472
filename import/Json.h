// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON text, read strictly.
#ifndef TORSOR_IMPORT_JSON_H
#define TORSOR_IMPORT_JSON_H

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace torsor {

using Json = nlohmann::json;

/// Reads one JSON value; the numbers NaN, Infinity and -Infinity, which Python
/// writes, as strings. Refused, with line and column: text that is not
/// JSON, numbers beyond a double, a key that
/// stands twice in an object, nesting deeper than 64, more than 16 MB.
bool readJson(std::string_view text, Json &value, std::string &error);

/// A value as messages quote it: its JSON text, shortened.
std::string quoteJson(const Json &value);

} // namespace torsor

#endif // TORSOR_IMPORT_JSON_H
