// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An entry is: magic, digest of key and object, object. Its name is the key.
#include "runtime/jit/ObjectCache.h"

#include "runtime/jit/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

using namespace torsor;

static constexpr llvm::StringLiteral magic = "torsor object 1\n";
static constexpr llvm::StringLiteral suffix = ".tobj";
/// A write takes well under a second; what is older was left by a crash.
static constexpr time_t abandonedSeconds = 600;

Digest torsor::computeDigest(llvm::ArrayRef<llvm::StringRef> texts) {
  llvm::SHA256 hash;
  for (llvm::StringRef text : texts) {
    uint64_t size = text.size();
    uint8_t bytes[8];
    std::memcpy(bytes, &size, sizeof bytes);
    hash.update(llvm::ArrayRef<uint8_t>(bytes));
    hash.update(text);
  }
  return hash.final();
}

static llvm::StringRef asText(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

static std::string getDefaultFolder() {
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base == '/')
    return std::string(base) + "/torsor";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/torsor";
  return "";
}

ObjectCache::ObjectCache(Options given) : options(std::move(given)) {
  if (options.folder.empty() && !options.off)
    options.folder = getDefaultFolder();
}

std::string ObjectCache::getPath(const Digest &key) const {
  return options.folder + "/" + llvm::toHex(key, /*LowerCase=*/true) +
         suffix.str();
}

/// Objects are executed, so a folder that someone else can write to is refused.
bool ObjectCache::prepareFolder(bool create, std::string &warning) const {
  if (options.folder.empty()) {
    warning =
        "there is no cache folder: neither XDG_CACHE_HOME nor HOME is set";
    return false;
  }
  auto refuse = [&](const std::string &why) {
    warning = fmt::format("the cache folder '{}' cannot be used: {}",
                          options.folder, why);
    return false;
  };
  if (create)
    if (auto code = llvm::sys::fs::create_directories(options.folder, true,
                                                      llvm::sys::fs::owner_all))
      return refuse(code.message());
  struct stat status;
  if (stat(options.folder.c_str(), &status) != 0)
    return errno == ENOENT && !create ? false : refuse(std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return refuse("it is not a folder");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return refuse("it belongs to another user");
  if (status.st_mode & S_IWOTH)
    return refuse("every user can write to it");
  if (create && access(options.folder.c_str(), W_OK | X_OK) != 0)
    return refuse(std::strerror(errno));
  return true;
}

std::optional<std::string> ObjectCache::load(const Digest &key,
                                             std::string &warning) {
  if (options.off || options.refresh || !prepareFolder(false, warning))
    return std::nullopt;
  std::string path = getPath(key), bytes, error;
  if (!readWholeFile(path, bytes, error))
    return std::nullopt;
  llvm::StringRef text = bytes;
  Digest digest;
  if (text.consume_front(magic) && text.size() > digest.size()) {
    llvm::StringRef object = text.drop_front(digest.size());
    digest = computeDigest({asText(key), object});
    if (text.take_front(digest.size()) == asText(digest)) {
      if (!options.readOnly) // so that it is not the oldest
        utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      return object.str();
    }
  }
  if (!options.readOnly)
    unlink(path.c_str());
  return std::nullopt;
}

void ObjectCache::store(const Digest &key, llvm::StringRef object,
                        std::string &warning) {
  if (options.off || options.readOnly || !prepareFolder(true, warning))
    return;
  std::string bytes = magic.str();
  bytes += asText(computeDigest({asText(key), object}));
  bytes += object;
  std::string path = getPath(key), error;
  if (static_cast<int64_t>(bytes.size()) > options.limitBytes)
    return;
  if (!writeWholeFile(path, bytes, error)) {
    warning = fmt::format("the cache folder '{}' cannot be written: {}",
                          options.folder, error);
    return;
  }
  trim(path);
}

namespace {
struct Entry {
  std::string path;
  int64_t bytes;
  timespec used;
  bool temporary;
};
} // namespace

static bool listEntries(const std::string &folder,
                        std::vector<Entry> &entries) {
  DIR *directory = opendir(folder.c_str());
  if (!directory)
    return false;
  while (const dirent *item = readdir(directory)) {
    llvm::StringRef name = item->d_name;
    bool temporary = name.ends_with(temporarySuffix);
    if (!name.ends_with(suffix) && !(temporary && name.contains(suffix)))
      continue; // not ours
    std::string path = folder + "/" + name.str();
    struct stat status;
    if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      entries.push_back({path, status.st_size, status.st_mtim, temporary});
  }
  closedir(directory);
  return true;
}

/// Removes what crashes left, and the oldest entries beyond the limit; other
/// processes may be doing the same.
void ObjectCache::trim(const std::string &keep) const {
  std::vector<Entry> entries;
  listEntries(options.folder, entries);
  int64_t total = 0;
  time_t now = time(nullptr);
  for (const Entry &entry : entries) {
    if (!entry.temporary)
      total += entry.bytes;
    else if (now - entry.used.tv_sec > abandonedSeconds)
      unlink(entry.path.c_str());
  }
  llvm::erase_if(entries, [](const Entry &entry) { return entry.temporary; });
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) <
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  for (const Entry &entry : entries) {
    if (total <= options.limitBytes)
      return;
    if (entry.path == keep)
      continue;
    unlink(entry.path.c_str());
    total -= entry.bytes;
  }
}

bool ObjectCache::clear(std::string &error) {
  if (options.off || options.folder.empty())
    return true;
  if (options.readOnly) {
    error = "the compiler was created with a read-only cache";
    return false;
  }
  std::vector<Entry> entries;
  if (!listEntries(options.folder, entries)) {
    if (errno == ENOENT)
      return true;
    error = fmt::format("'{}': {}", options.folder, std::strerror(errno));
    return false;
  }
  bool done = true;
  for (const Entry &entry : entries)
    if (unlink(entry.path.c_str()) != 0 && errno != ENOENT) {
      error = fmt::format("'{}': {}", entry.path, std::strerror(errno));
      done = false;
    }
  return done;
}
