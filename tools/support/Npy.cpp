// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy format: magic, version, the length of a header, and the header, a
// Python dictionary with the keys descr, fortran_order and shape.
#include "tools/support/Npy.h"

#include "runtime/jit/Files.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

using namespace torsor;

static constexpr char tooLarge[] = "the shape is larger than any memory";

namespace {

/// Reads the header's dictionary. Every function returns false at the first
/// character it does not expect.
class HeaderReader {
public:
  explicit HeaderReader(const std::string &text) : text(text) {}

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  /// What is wrong with the shape, where more than the form is.
  const char *fault = nullptr;

  bool read() {
    bool seen[3] = {};
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!readString(key) || !take(':'))
        return false;
      int which = key == "descr"           ? 0
                  : key == "fortran_order" ? 1
                  : key == "shape"         ? 2
                                           : -1;
      if (which < 0 || seen[which])
        return false;
      seen[which] = true;
      if (!(which == 0   ? readString(descr)
            : which == 1 ? readBool(fortranOrder)
                         : readShape()))
        return false;
      if (!take(',') && !peek('}'))
        return false;
    }
    return seen[0] && seen[1] && seen[2];
  }

private:
  const std::string &text;
  size_t at = 0;

  void skip() {
    while (at < text.size() && std::isspace(static_cast<uint8_t>(text[at])))
      ++at;
  }
  bool peek(char c) {
    skip();
    return at < text.size() && text[at] == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }
  bool readString(std::string &out) {
    skip();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool readBool(bool &out) {
    skip();
    for (const char *word : {"True", "False"}) {
      if (text.compare(at, std::strlen(word), word) != 0)
        continue;
      at += std::strlen(word);
      out = *word == 'T';
      return true;
    }
    return false;
  }
  bool readShape() {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t extent = 0;
      if (peek('-')) {
        fault = "the shape has an axis of negative length";
        return false;
      }
      size_t begin = at;
      while (at < text.size() && std::isdigit(static_cast<uint8_t>(text[at])))
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, text[at++] - '0', &extent)) {
          fault = tooLarge;
          return false;
        }
      if (at == begin || (!take(',') && !peek(')')))
        return false;
      shape.push_back(extent);
    }
    return true;
  }
};

} // namespace

static torsor_dtype parseType(const std::string &descr, bool unsignedIsBf16) {
  static const struct {
    const char *name;
    torsor_dtype dtype;
  } types[] = {{"<f4", TORSOR_F32}, {"<f2", TORSOR_F16},  {"<f8", TORSOR_F64},
               {"<i4", TORSOR_I32}, {"<i8", TORSOR_I64},  {"|i1", TORSOR_I8},
               {"|u1", TORSOR_U8},  {"|b1", TORSOR_BOOL}, {"<V2", TORSOR_BF16},
               {"|V2", TORSOR_BF16}};
  for (const auto &type : types)
    if (descr == type.name)
      return type.dtype;
  return descr == "<u2" && unsignedIsBf16 ? TORSOR_BF16 : TORSOR_ANY;
}

bool torsor::parseNpy(const std::string &bytes, const std::string &name,
                      Array &array, std::string &error, bool unsignedIsBf16) {
  auto fail = [&](const std::string &text) {
    error = fmt::format("'{}': {}", name, text);
    return false;
  };
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    return fail("this is not a .npy file");
  auto byte = [&](size_t n) -> size_t {
    return static_cast<uint8_t>(bytes[n]);
  };
  size_t major = byte(6), begin = major == 1 ? 10 : 12;
  if (major < 1 || major > 3)
    return fail(fmt::format(
        "the .npy format has versions 1 to 3, but this file says {}", major));
  if (bytes.size() < begin)
    return fail("the file ends within its header");
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - begin)
    return fail("the file ends within its header");

  std::string text = bytes.substr(begin, length);
  HeaderReader header(text);
  if (!header.read())
    return fail(header.fault
                    ? header.fault
                    : "the header is not a dictionary with a simple 'descr', "
                      "'fortran_order' and 'shape'");
  torsor_dtype dtype = parseType(header.descr, unsignedIsBf16);
  if (dtype == TORSOR_ANY)
    return fail(fmt::format(
        "elements of type '{}' cannot be used; save the array as <f4, <f2, "
        "<f8, <i4, <i8, |i1, |u1, |b1, or <V2 for bf16",
        header.descr));
  if (header.fortranOrder && header.shape.size() > 1)
    return fail("the array is in Fortran order; save "
                "np.ascontiguousarray(x) instead");
  if (header.shape.size() > TORSOR_MAX_RANK)
    return fail(fmt::format("the array has {} axes, but at most {} are allowed",
                            header.shape.size(), TORSOR_MAX_RANK));
  // An axis of length 0 makes an empty array, however long the others are.
  int64_t size = getElementBytes(dtype);
  bool empty = false;
  for (int64_t extent : header.shape)
    empty |= extent == 0;
  for (int64_t extent : header.shape)
    if (!empty && __builtin_mul_overflow(size, extent, &size))
      return fail(tooLarge);
  if (empty)
    size = 0;
  size_t held = bytes.size() - begin - length;
  if (static_cast<size_t>(size) != held)
    return fail(fmt::format("the shape asks for {} bytes, but the file has {}",
                            size, held));
  array = Array(dtype, std::move(header.shape));
  std::memcpy(array.data(), bytes.data() + begin + length, size);
  return true;
}

bool torsor::readNpy(const std::string &path, Array &array, std::string &error,
                     bool unsignedIsBf16) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    error = fmt::format("'{}': {}", path, std::strerror(errno));
    return false;
  }
  std::string bytes;
  std::vector<char> chunk(1 << 20);
  while (size_t n = std::fread(chunk.data(), 1, chunk.size(), file)) {
    bytes.append(chunk.data(), n);
    // What is no array may have no end, as /dev/zero.
    if (bytes.size() >= 6 && bytes.compare(0, 6, "\x93NUMPY") != 0)
      break;
  }
  bool failed = std::ferror(file);
  int code = errno;
  std::fclose(file);
  if (failed) {
    error = fmt::format("'{}': {}", path, std::strerror(code));
    return false;
  }
  return parseNpy(bytes, path, array, error, unsignedIsBf16);
}

static std::string formatHeader(const Array &array) {
  const char *descr = "";
  switch (array.dtype) {
  case TORSOR_F32:
    descr = "<f4";
    break;
  case TORSOR_F16:
    descr = "<f2";
    break;
  case TORSOR_F64:
    descr = "<f8";
    break;
  case TORSOR_I32:
    descr = "<i4";
    break;
  case TORSOR_I64:
    descr = "<i8";
    break;
  case TORSOR_I8:
    descr = "|i1";
    break;
  case TORSOR_U8:
    descr = "|u1";
    break;
  case TORSOR_BOOL:
    descr = "|b1";
    break;
  default:
    descr = "<V2";
    break;
  }
  std::string shape;
  for (int64_t extent : array.shape)
    shape += fmt::format("{}, ", extent);
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (array.shape.size() == 1)
    shape.resize(shape.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                  descr, shape);
  // The data begins at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  return header + '\n';
}

bool torsor::writeNpy(const std::string &path, const Array &array,
                      std::string &error) {
  std::string header = formatHeader(array);
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 255);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  std::string_view data(static_cast<const char *>(array.data()),
                        static_cast<size_t>(array.bytes()));
  std::string why;
  bool done = writeWholeFile(path, {start, data}, why);
  if (!done)
    error = fmt::format("'{}': {}", path, why);
  return done;
}
