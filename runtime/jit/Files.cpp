// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing whole files.
#include "runtime/jit/Files.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace torsor;

static constexpr size_t largestFile = size_t(256) << 20;

bool torsor::readWholeFile(const std::string &path, std::string &bytes,
                           std::string &error) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    error = std::strerror(errno);
    return false;
  }
  bytes.clear();
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(status.st_size + 1);
  char chunk[1 << 16];
  ssize_t n;
  while ((n = read(file, chunk, sizeof chunk)) != 0) {
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      error = std::strerror(errno);
      close(file);
      return false;
    }
    if (bytes.size() > largestFile) { // as /dev/zero, which has no end
      error = "more than 256 MiB";
      close(file);
      return false;
    }
    bytes.append(chunk, n);
  }
  close(file);
  return true;
}

std::string torsor::makeTemporaryName(const std::string &path) {
  static std::atomic<unsigned> counter;
  return fmt::format("{}.{}.{}{}", path, getpid(), counter.fetch_add(1),
                     temporarySuffix);
}

std::string torsor::followLinks(const std::string &path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path at = path;
  // Links that lead nowhere yet are followed as well; 40 is the kernel's limit.
  for (int hops = 0; hops < 40 && fs::is_symlink(at, error); ++hops) {
    fs::path next = fs::read_symlink(at, error);
    if (error)
      return path;
    at = at.parent_path() / next; // an absolute one stands for itself
  }
  return at.string();
}

bool torsor::isReplaceable(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

bool torsor::wouldReplace(const std::string &output, const std::string &other) {
  if (output.empty() || other.empty() || !isReplaceable(output))
    return false;
  struct stat a, b;
  bool hasOutput = stat(output.c_str(), &a) == 0;
  bool hasOther = stat(other.c_str(), &b) == 0;
  if (hasOutput || hasOther)
    return hasOutput && hasOther && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
  auto resolve = [](const std::string &path) {
    std::error_code error;
    std::filesystem::path full = std::filesystem::weakly_canonical(
        std::filesystem::absolute(followLinks(path), error), error);
    return error ? std::filesystem::path(path) : full;
  };
  return resolve(output) == resolve(other);
}

bool torsor::replaceFile(const std::string &temporary,
                         const std::string &target) {
  struct stat old, now;
  if (stat(target.c_str(), &old) == 0) {
    if (stat(temporary.c_str(), &now) != 0)
      return false;
    mode_t mode = old.st_mode & 07777;
    bool owned = (old.st_uid == now.st_uid && old.st_gid == now.st_gid) ||
                 chown(temporary.c_str(), old.st_uid, old.st_gid) == 0;
    // Rights of another group or user are not for ours.
    if (!owned &&
        chown(temporary.c_str(), static_cast<uid_t>(-1), old.st_gid) != 0)
      mode = (mode & ~mode_t{070}) | (mode & 07) << 3;
    if (chmod(temporary.c_str(), owned ? mode : mode & 0777) != 0)
      return false;
  }
  return rename(temporary.c_str(), target.c_str()) == 0;
}

static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Writes and closes the file; `durable`: to the disk. False: errno says why.
static bool fill(int file, std::initializer_list<std::string_view> parts,
                 bool durable) {
  bool done = true;
  for (std::string_view part : parts)
    done = done && writeAll(file, part);
  // Without fsync, a power failure could leave the new name on old blocks.
  done = done && (!durable || fsync(file) == 0);
  int code = errno;
  if (close(file) != 0)
    return false;
  errno = code;
  return done;
}

bool torsor::writeWholeFile(const std::string &path,
                            std::initializer_list<std::string_view> parts,
                            std::string &error) {
  if (!isReplaceable(path)) {
    int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file >= 0 && fill(file, parts, /*durable=*/false))
      return true;
    error = std::strerror(errno);
    return false;
  }
  std::string target = followLinks(path);
  // A file of that name can only be what a crashed process of the same number
  // left behind.
  std::string temporary = makeTemporaryName(target);
  unlink(temporary.c_str());
  // What replaces a private file is private from its first byte on.
  mode_t mode = access(target.c_str(), F_OK) == 0 ? 0600 : 0666;
  int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file >= 0 && fill(file, parts, /*durable=*/true) &&
      replaceFile(temporary, target))
    return true;
  error = std::strerror(errno);
  if (file >= 0)
    unlink(temporary.c_str());
  return false;
}

bool torsor::writeWholeFile(const std::string &path, std::string_view bytes,
                            std::string &error) {
  return writeWholeFile(path, {bytes}, error);
}
