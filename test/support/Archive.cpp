// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directory of a zip archive.
#include "test/support/Archive.h"

#include <fstream>
#include <iterator>

namespace torsor::test {
namespace {

class Reader {
public:
  Reader(const std::string &bytes) : bytes(bytes) {}
  uint64_t number(size_t at, size_t count) const {
    uint64_t value = 0;
    for (size_t n = 0; n < count; ++n)
      value |= uint64_t(uint8_t(bytes[at + n])) << (8 * n);
    return value;
  }
  bool has(size_t at, size_t count) const {
    return at <= bytes.size() && count <= bytes.size() - at;
  }

private:
  const std::string &bytes;
};

} // namespace

bool readNpz(const std::string &path, ArrayMap &members, std::string &error) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Reader reader(bytes);
  // The central directory stands where the record at the end says.
  size_t end = bytes.rfind("PK\5\6");
  if (end == std::string::npos || !reader.has(end, 22)) {
    error = path + " is no zip archive";
    return false;
  }
  size_t at = reader.number(end + 16, 4), count = reader.number(end + 10, 2);
  for (size_t n = 0; n < count; ++n) {
    if (!reader.has(at, 46)) {
      error = path + " ends inside its directory";
      return false;
    }
    size_t method = reader.number(at + 10, 2);
    size_t size = reader.number(at + 24, 4);
    size_t nameSize = reader.number(at + 28, 2);
    size_t local = reader.number(at + 42, 4);
    std::string name = bytes.substr(at + 46, nameSize);
    at += 46 + nameSize + reader.number(at + 30, 2) + reader.number(at + 32, 2);
    if (method != 0 || !reader.has(local, 30)) {
      error = path + ": " + name + " is compressed or cut off";
      return false;
    }
    size_t data = local + 30 + reader.number(local + 26, 2) +
                  reader.number(local + 28, 2);
    if (!reader.has(data, size)) {
      error = path + ": " + name + " is cut off";
      return false;
    }
    size_t suffix = name.rfind(".npy");
    Array &array = members[name.substr(0, suffix)];
    if (!parseNpy(bytes.substr(data, size), path + ": " + name, array, error))
      return false;
  }
  return true;
}

HostArray toHost(const Array &array) {
  bool integers = array.dtype == TORSOR_I32 || array.dtype == TORSOR_I64 ||
                  array.dtype == TORSOR_BOOL || array.dtype == TORSOR_I8 ||
                  array.dtype == TORSOR_U8;
  std::vector<double> reals;
  std::vector<int64_t> whole;
  for (int64_t n = 0; n < array.count(); ++n) {
    if (array.dtype == TORSOR_I64)
      whole.push_back(array.as<int64_t>()[n]);
    else if (integers)
      whole.push_back(int64_t(array.at(n)));
    else
      reals.push_back(array.at(n));
  }
  return integers ? HostArray::of(array.shape, std::move(whole))
                  : HostArray::of(array.shape, std::move(reals));
}

} // namespace torsor::test
