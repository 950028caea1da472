// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing arrays as NumPy's .npy files.
#ifndef TORSOR_TOOLS_SUPPORT_NPY_H
#define TORSOR_TOOLS_SUPPORT_NPY_H

#include "runtime/torsor.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace torsor {

/// A dense array in C order, in memory aligned to 64 bytes.
struct Array {
  /// TORSOR_F32, BF16, F16, F64, I32, I64, BOOL, I8 or U8.
  torsor_dtype dtype = TORSOR_F32;
  std::vector<int64_t> shape;

  Array() = default;
  /// Zeroed. The extents must not be negative and their bytes fit in memory.
  Array(torsor_dtype dtype, std::vector<int64_t> shape);

  /// Number of elements; 1 of an array without axes.
  int64_t count() const;
  int64_t bytes() const;
  void *data() { return memory.get(); }
  const void *data() const { return memory.get(); }
  template <typename T> T *as() { return static_cast<T *>(memory.get()); }
  template <typename T> const T *as() const {
    return static_cast<const T *>(memory.get());
  }

  /// Element n in C order, converted.
  double at(int64_t n) const;
  void set(int64_t n, double value);

  /// The array as the C interface takes it; rank at most TORSOR_MAX_RANK.
  torsor_tensor tensor() const;

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory;
};

/// Bytes of an element, 0 of a type that arrays do not have.
int64_t getElementBytes(torsor_dtype dtype);
/// "f32", "bf16", …: as the language writes storage types.
const char *getTypeName(torsor_dtype dtype);

/// Reads a .npy file: f2 f4 f8 i1 i4 i8 u1 b1, little-endian, C order. bf16 is
/// stored as `V2` (which is how NumPy saves it), or as `u2` where
/// `unsignedIsBf16`. False: `error` says what is wrong, with the file's name.
bool readNpy(const std::string &path, Array &array, std::string &error,
             bool unsignedIsBf16 = false);
/// The same from the bytes of a file; `name` stands for it in messages.
bool parseNpy(const std::string &bytes, const std::string &name, Array &array,
              std::string &error, bool unsignedIsBf16 = false);

/// Writes a .npy file, whole or not at all. bf16 is written as `V2`.
bool writeNpy(const std::string &path, const Array &array, std::string &error);

/// A copy with elements of another type; floats are rounded to nearest even,
/// numbers beyond an integer's range are clamped, NaN becomes 0 there.
Array convertArray(const Array &array, torsor_dtype dtype);

/// bf16 and f16 as bits, rounded to nearest even.
uint16_t toBf16(float value);
uint16_t toF16(float value);
float fromBf16(uint16_t bits);
float fromF16(uint16_t bits);

} // namespace torsor

#endif // TORSOR_TOOLS_SUPPORT_NPY_H
