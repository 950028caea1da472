// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays, texts, counts and errors of the runtime core.
//
// The core calls no function of the C++ library, so that a C program links
// libtorsor.a with a C compiler alone, and no allocation can throw through the
// C interface: memory comes from malloc and its lack is a status.
#ifndef TORSOR_RUNTIME_BASE_H
#define TORSOR_RUNTIME_BASE_H

#include "runtime/torsor_kernel.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace torsor {

/// Sets this thread's error text, numbers written as in C, and gives `status`.
[[gnu::format(printf, 2, 3)]] torsor_status fail(torsor_status status,
                                                 const char *format, ...);
/// `fail` for an allocation of `bytes` that did not succeed.
torsor_status failMemory(int64_t bytes);

/// A growing array of plain values. Growth reports lack of memory; memory is
/// kept until the array dies. All zero is the empty array.
template <class T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { std::free(items); }

  bool reserve(int64_t count) {
    if (count <= capacity)
      return true;
    int64_t wanted = count < 2 * capacity ? 2 * capacity : count;
    int64_t bytes;
    if (__builtin_mul_overflow(wanted, int64_t(sizeof(T)), &bytes))
      return false;
    void *grown = std::realloc(items, static_cast<size_t>(bytes));
    if (!grown)
      return false;
    items = static_cast<T *>(grown);
    capacity = wanted;
    return true;
  }
  /// Makes it `count` long; elements beyond the former length are not set.
  bool resize(int64_t count) {
    if (!reserve(count))
      return false;
    length = count;
    return true;
  }
  bool push(const T &value) {
    if (!reserve(length + 1))
      return false;
    items[length++] = value;
    return true;
  }
  void clear() { length = 0; }
  int64_t size() const { return length; }
  T *data() { return items; }
  const T *data() const { return items; }
  T &operator[](int64_t n) { return items[n]; }
  const T &operator[](int64_t n) const { return items[n]; }
  T *begin() { return items; }
  T *end() { return items + length; }
  const T *begin() const { return items; }
  const T *end() const { return items + length; }

private:
  T *items = nullptr;
  int64_t length = 0, capacity = 0;
};

/// A text that grows at its end; once memory lacks, it stays as it is.
class Text {
public:
  void append(const char *bytes, int64_t count);
  void append(const char *text) { append(text, int64_t(std::strlen(text))); }
  [[gnu::format(printf, 2, 3)]] void appendf(const char *format, ...);
  /// Never null.
  const char *get() const { return bytes.size() ? bytes.data() : ""; }
  int64_t size() const { return bytes.size() ? bytes.size() - 1 : 0; }
  bool complete() const { return !lacking; }

private:
  Array<char> bytes; // with the NUL, if any
  bool lacking = false;
};

/// A double as the shortest decimal that reads back the same.
struct Number {
  explicit Number(double value);
  char text[32];
};

/// A count of references, one at birth.
class Count {
public:
  void retain() const { count.fetch_add(1, std::memory_order_relaxed); }
  /// True when this was the last one.
  bool release() const {
    return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

private:
  mutable std::atomic<int64_t> count{1};
};

/// An object on malloc; null when memory lacks.
template <class T> T *make() {
  void *memory = std::malloc(sizeof(T));
  return memory ? new (memory) T() : nullptr;
}
template <class T> void destroy(T *object) {
  object->~T();
  std::free(object);
}

/// 64-byte aligned memory, `bytes` rounded up; freed with std::free.
void *allocateAligned(int64_t bytes);

/// The number a host gave for an enumerator, which may be none of them.
template <class Enum> int32_t numberOf(const Enum &value) {
  static_assert(sizeof value == sizeof(int32_t), "as C has it");
  int32_t number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

/// Rounds up to a multiple of 64.
inline int64_t alignUp(int64_t bytes) { return (bytes + 63) & ~int64_t(63); }

/// Copies a caller's struct that begins with `size`. A size below today's
/// struct, or a surplus that is not zero, is TORSOR_INVALID.
torsor_status readStruct(const void *in, void *out, uint32_t own,
                         const char *name);
/// Copies the core's struct `own` bytes long to a caller's, whose first word
/// is its size; what the core does not know is zeroed.
torsor_status writeStruct(const void *in, void *out, uint32_t own,
                          const char *name);

template <class T>
torsor_status readStruct(const T *in, T &out, const char *name) {
  return readStruct(in, &out, sizeof(T), name);
}
template <class T>
torsor_status writeStruct(const T &in, T *out, const char *name) {
  return writeStruct(&in, out, sizeof(T), name);
}

/// True when messages of this level are wanted.
bool logs(torsor_level level);
[[gnu::format(printf, 2, 3)]] void log(torsor_level level, const char *format,
                                       ...);

} // namespace torsor

#endif // TORSOR_RUNTIME_BASE_H
