// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor fmt`: the one layout of source text.
#ifndef TORSOR_FRONTEND_FORMAT_H
#define TORSOR_FRONTEND_FORMAT_H

#include "frontend/Diagnostics.h"

#include <memory>
#include <optional>
#include <string>

namespace torsor {

/// Lays out a file: one clause per line, indented by two blanks, its word
/// padded to six letters; one blank around binary operators and '='. Keeps
/// comments, the order of everything, single empty lines, and line breaks
/// inside expressions. Formatting the result again changes nothing. A file
/// with syntax errors gives nothing but its messages.
std::optional<std::string>
formatFile(const std::shared_ptr<const SourceFile> &source,
           DiagnosticList &diagnostics);

} // namespace torsor

#endif // TORSOR_FRONTEND_FORMAT_H
