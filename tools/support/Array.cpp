// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays, their element types and conversions.
#include "tools/support/Npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

using namespace torsor;

int64_t torsor::getElementBytes(torsor_dtype dtype) {
  switch (dtype) {
  case TORSOR_F64:
  case TORSOR_I64:
    return 8;
  case TORSOR_F32:
  case TORSOR_I32:
    return 4;
  case TORSOR_BF16:
  case TORSOR_F16:
    return 2;
  case TORSOR_BOOL:
  case TORSOR_I8:
  case TORSOR_U8:
    return 1;
  default:
    return 0;
  }
}

const char *torsor::getTypeName(torsor_dtype dtype) {
  switch (dtype) {
  case TORSOR_F64:
    return "f64";
  case TORSOR_I64:
    return "i64";
  case TORSOR_F32:
    return "f32";
  case TORSOR_I32:
    return "i32";
  case TORSOR_BF16:
    return "bf16";
  case TORSOR_F16:
    return "f16";
  case TORSOR_BOOL:
    return "bool";
  case TORSOR_I8:
    return "i8";
  case TORSOR_U8:
    return "u8";
  default:
    return "?";
  }
}

Array::Array(torsor_dtype type, std::vector<int64_t> extents)
    : dtype(type), shape(std::move(extents)) {
  // At least one byte, so that the data of an empty array is not null.
  size_t size = (static_cast<size_t>(bytes()) / 64 + 1) * 64;
  void *block = std::aligned_alloc(64, size);
  if (!block)
    throw std::bad_alloc();
  std::memset(block, 0, size);
  memory.reset(block);
}

int64_t Array::count() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

int64_t Array::bytes() const { return count() * getElementBytes(dtype); }

torsor_tensor Array::tensor() const {
  torsor_tensor result = {};
  result.data = memory.get();
  result.rank = static_cast<int32_t>(shape.size());
  result.dtype = dtype;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    result.shape[axis] = shape[axis];
    result.strides[axis] = stride;
    stride *= shape[axis];
  }
  return result;
}

double Array::at(int64_t n) const {
  switch (dtype) {
  case TORSOR_F64:
    return as<double>()[n];
  case TORSOR_I64:
    return static_cast<double>(as<int64_t>()[n]);
  case TORSOR_F32:
    return as<float>()[n];
  case TORSOR_I32:
    return as<int32_t>()[n];
  case TORSOR_BF16:
    return fromBf16(as<uint16_t>()[n]);
  case TORSOR_F16:
    return fromF16(as<uint16_t>()[n]);
  case TORSOR_BOOL:
    return as<uint8_t>()[n] != 0;
  case TORSOR_I8:
    return as<int8_t>()[n];
  case TORSOR_U8:
    return as<uint8_t>()[n];
  default:
    return 0;
  }
}

template <typename T> static T toInteger(double value) {
  if (std::isnan(value))
    return 0;
  // 2^63 is not an i64: compare with the first double beyond the range.
  double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value >= beyond)
    return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(std::nearbyint(value));
}

void Array::set(int64_t n, double value) {
  switch (dtype) {
  case TORSOR_F64:
    as<double>()[n] = value;
    break;
  case TORSOR_I64:
    as<int64_t>()[n] = toInteger<int64_t>(value);
    break;
  case TORSOR_F32:
    as<float>()[n] = static_cast<float>(value);
    break;
  case TORSOR_I32:
    as<int32_t>()[n] = toInteger<int32_t>(value);
    break;
  case TORSOR_BF16:
    as<uint16_t>()[n] = toBf16(static_cast<float>(value));
    break;
  case TORSOR_F16:
    as<uint16_t>()[n] = toF16(static_cast<float>(value));
    break;
  case TORSOR_BOOL:
    as<uint8_t>()[n] = value != 0;
    break;
  case TORSOR_I8:
    as<int8_t>()[n] = toInteger<int8_t>(value);
    break;
  case TORSOR_U8:
    as<uint8_t>()[n] = toInteger<uint8_t>(value);
    break;
  default:
    break;
  }
}

Array torsor::convertArray(const Array &array, torsor_dtype dtype) {
  Array result(dtype, array.shape);
  if (dtype == array.dtype) {
    std::memcpy(result.data(), array.data(), array.bytes());
    return result;
  }
  bool integers = array.dtype == TORSOR_I64 && dtype == TORSOR_I32;
  for (int64_t n = 0, e = array.count(); n < e; ++n) {
    if (integers) // exact, where f64 would round
      result.as<int32_t>()[n] = static_cast<int32_t>(
          std::clamp<int64_t>(array.as<int64_t>()[n], INT32_MIN, INT32_MAX));
    else
      result.set(n, array.at(n));
  }
  return result;
}

uint16_t torsor::toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float torsor::fromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t torsor::toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) // rounds to 65520 or above: infinity
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 leaves the value in units of 2^-24 in the low bits.
    float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000));
  }
  uint32_t rebased = magnitude - 0x38000000;
  return static_cast<uint16_t>(sign |
                               (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

float torsor::fromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
