// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that published configs leave out: those of each family's own class.
#ifndef TORSOR_IMPORT_DEFAULTS_H
#define TORSOR_IMPORT_DEFAULTS_H

#include <cstdint>
#include <string_view>

namespace torsor {

struct FamilyDefaults {
  std::string_view type;
  /// Hidden size and query heads.
  int64_t width = 0, heads = 0;
  /// Width of a head; 0: hidden size over query heads.
  int64_t head = 0;
  /// Where layers differ, so that one of them does not stand for all; else 0.
  int64_t layers = 0;
};

/// Null if the family's configs must say everything.
const FamilyDefaults *findDefaults(std::string_view type);

} // namespace torsor

#endif // TORSOR_IMPORT_DEFAULTS_H
