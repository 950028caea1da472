// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are read whole and written whole or not at all.
#ifndef TORSOR_RUNTIME_JIT_FILES_H
#define TORSOR_RUNTIME_JIT_FILES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace torsor {

/// Reads a file of at most 256 MiB. False: `error` says why, without the file's
/// name.
bool readWholeFile(const std::string &path, std::string &bytes,
                   std::string &error);

/// Writes `bytes` to `path`: into a temporary file beside it, to the disk, and
/// then under its name, so that a reader or a crash at any moment sees the old
/// file or the new one. False: `error` says why, and nothing is left behind.
bool writeWholeFile(const std::string &path, llvm::StringRef bytes,
                    std::string &error);

/// A name for a temporary file in the folder of `path`, of no other process
/// and no other call.
std::string makeTemporaryName(const std::string &path);

/// Temporary files end so; whatever is old and ends so was left by a crash.
constexpr llvm::StringLiteral temporarySuffix = ".tmp";

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_FILES_H
