// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are read whole and written whole or not at all.
#ifndef TORSOR_RUNTIME_JIT_FILES_H
#define TORSOR_RUNTIME_JIT_FILES_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace torsor {

/// Reads a file of at most 256 MiB. False: `error` says why, without the file's
/// name.
bool readWholeFile(const std::string &path, std::string &bytes,
                   std::string &error);

/// Writes `parts`, one behind the other, to `path`: into a temporary file
/// beside it, to the disk, and then under its name, so that a reader or a crash
/// at any moment sees the old file or the new one. A link stays: what it leads
/// to is replaced. Pipes and devices are written to, never replaced.
/// Permissions and owner stay those of the file that is replaced (see
/// replaceFile); its other names (hard links) keep the old file. False: `error`
/// says why, and nothing is left behind.
bool writeWholeFile(const std::string &path,
                    std::initializer_list<std::string_view> parts,
                    std::string &error);
bool writeWholeFile(const std::string &path, std::string_view bytes,
                    std::string &error);

/// The file behind the links of `path`, which need not exist.
std::string followLinks(const std::string &path);
/// Would writing replace the file, or make it? False of pipes and devices.
bool isReplaceable(const std::string &path);
/// Would writing `output` replace the file that `other` names? They are one
/// file by device and inode; one that is not there yet, by the place that it
/// will have.
bool wouldReplace(const std::string &output, const std::string &other);
/// Gives `temporary` the name `target`, behind whose links it lies, and the
/// permissions and, as far as this process may, the owner of the file that it
/// replaces. False: errno says why.
bool replaceFile(const std::string &temporary, const std::string &target);

/// A name for a temporary file in the folder of `path`, of no other process
/// and no other call.
std::string makeTemporaryName(const std::string &path);

/// Temporary files end so; whatever is old and ends so was left by a crash.
constexpr std::string_view temporarySuffix = ".tmp";

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_FILES_H
