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

bool torsor::isSameOutput(const std::string &a, const std::string &b) {
  if (a.empty() || b.empty() || !isReplaceable(a))
    return false;
  auto resolve = [](const std::string &path) {
    std::error_code error;
    std::filesystem::path full = std::filesystem::weakly_canonical(
        std::filesystem::absolute(followLinks(path), error), error);
    return error ? std::filesystem::path(path) : full;
  };
  return resolve(a) == resolve(b);
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
  int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0 && fill(file, parts, /*durable=*/true) &&
      rename(temporary.c_str(), target.c_str()) == 0)
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
