// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a source file to its elaborated schemes.
#ifndef TORSOR_FRONTEND_CHECK_H
#define TORSOR_FRONTEND_CHECK_H

#include "frontend/Diagnostics.h"
#include "frontend/Scheme.h"

namespace torsor {

/// An argument of a scheme as the command line gives it; `value` is an
/// expression of constants.
struct Setting {
  std::string name;
  std::string value;
};

/// Layers of the largest stack.
constexpr int64_t mostLayers = 4096;

struct CheckOptions {
  /// Values for arguments of schemes, by name.
  std::vector<Setting> settings;
  /// The scheme that the settings are for, if the file has one of this name;
  /// else they are for every scheme with such arguments.
  std::string scheme;
  /// Widths the source leaves open; 0: not given.
  int64_t head = 0, value = 0;
  /// Number of layers of a stack that leaves it out; 0: not given.
  int64_t layers = 0;
};

/// Parses and checks a file and what it imports. Every scheme whose arguments
/// all have values is elaborated, every stack expanded. Errors and warnings go
/// to the list; what is returned is complete only if the list has no errors.
/// `prelude` null: the standard library built in.
std::unique_ptr<CheckedFile>
checkFile(std::shared_ptr<const SourceFile> source, const CheckOptions &options,
          DiagnosticList &diagnostics,
          std::shared_ptr<const SourceFile> prelude = nullptr);

} // namespace torsor

#endif // TORSOR_FRONTEND_CHECK_H
