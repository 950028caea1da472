// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers and names as the language writes them.
#ifndef TORSOR_IMPORT_TEXT_H
#define TORSOR_IMPORT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torsor {

/// 131_072
std::string writeInt(int64_t value);
/// The shortest decimal that reads back the same double: 0.1, 500_000, 1e-05.
std::string writeReal(double value);
/// [1.0, 1.05, 2]
std::string writeReals(const std::vector<double> &values);
std::string writeInts(const std::vector<int64_t> &values);

/// A name of the language made of any text; never a word of the language or of
/// the standard library.
std::string makeName(const std::string &text);

/// " (did you mean 'NAME'?)" of the name that differs from `text` by the fewest
/// letters, if by two at most; "" without one.
std::string suggestName(std::string_view text,
                        const std::vector<std::string> &names);

} // namespace torsor

#endif // TORSOR_IMPORT_TEXT_H
