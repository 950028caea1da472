// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing whole files.
#include "runtime/jit/Files.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
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
                     temporarySuffix.str());
}

static bool writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    bytes = bytes.drop_front(n);
  }
  return true;
}

bool torsor::writeWholeFile(const std::string &path, llvm::StringRef bytes,
                            std::string &error) {
  // A file of that name can only be what a crashed process of the same number
  // left behind.
  std::string temporary = makeTemporaryName(path);
  unlink(temporary.c_str());
  int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool done = file >= 0;
  if (done) {
    // Without fsync, a power failure could leave the new name on old blocks.
    done = writeAll(file, bytes) && fsync(file) == 0;
    int code = errno;
    done = close(file) == 0 && done;
    if (done)
      done = rename(temporary.c_str(), path.c_str()) == 0;
    else
      errno = code;
  }
  if (done)
    return true;
  error = std::strerror(errno);
  if (file >= 0)
    unlink(temporary.c_str());
  return false;
}
