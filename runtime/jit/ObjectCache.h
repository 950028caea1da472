// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled objects on disk, shared by all processes of a user.
#ifndef TORSOR_RUNTIME_JIT_OBJECTCACHE_H
#define TORSOR_RUNTIME_JIT_OBJECTCACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace torsor {

/// SHA-256 of several texts; each enters with its length, so that no two lists
/// of texts give the same bytes.
using Digest = std::array<uint8_t, 32>;
Digest computeDigest(llvm::ArrayRef<llvm::StringRef> texts);

/// A folder of objects by key. An entry is a file of its own, written whole or
/// not at all and checked by a digest when it is read; any number of threads
/// and processes may use a folder at once. Nothing here fails: what cannot be
/// read is not there, what cannot be written is not kept, and `warning` says
/// what is wrong with the folder.
class ObjectCache {
public:
  struct Options {
    /// "": $XDG_CACHE_HOME/torsor, or ~/.cache/torsor.
    std::string folder;
    /// Beyond this, the entries that were not used for longest go.
    int64_t limitBytes = int64_t{1} << 30;
    bool off = false, readOnly = false, refresh = false;
  };

  explicit ObjectCache(Options options);

  /// The object of a key. An entry that is not what was written (cut short, or
  /// changed) is removed. `warning` is set if the folder cannot be used.
  std::optional<std::string> load(const Digest &key, std::string &warning);
  /// Keeps an object; afterwards the folder is within its limit.
  void store(const Digest &key, llvm::StringRef object, std::string &warning);
  /// Removes all entries, and what crashed processes left. False: `error`.
  bool clear(std::string &error);

  bool isOn() const { return !options.off; }
  const std::string &getFolder() const { return options.folder; }

private:
  Options options;

  std::string getPath(const Digest &key) const;
  bool prepareFolder(bool create, std::string &warning) const;
  void trim(const std::string &keep) const;
};

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_OBJECTCACHE_H
