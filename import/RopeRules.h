// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rescalings a config can name, and the keys of their blocks.
#ifndef TORSOR_IMPORT_ROPERULES_H
#define TORSOR_IMPORT_ROPERULES_H

#include <string>
#include <string_view>
#include <vector>

#include "import/Model.h"

namespace torsor {

struct RopeRuleInfo {
  std::string_view name;
  RopeRule rule;
  /// Other names of it.
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> required, optional;
};

/// Null if there is no rule of that name.
const RopeRuleInfo *findRopeRule(std::string_view name);
/// "default, linear, …".
std::string listRopeRules();
/// Does any rule read a key of that name?
bool isRopeKey(std::string_view name);
/// Does the rule?
bool readsKey(const RopeRuleInfo &rule, std::string_view name);
/// The keys that the rule reads.
std::vector<std::string> listKeys(const RopeRuleInfo &rule);
/// The numbers of an unknown key of this name would change the result.
bool looksLikeRopeKey(std::string_view name);

} // namespace torsor

#endif // TORSOR_IMPORT_ROPERULES_H
