// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts, rounding, and NaN in the gaps.
#include "test/e2e/Memory.h"

#include "tools/support/Npy.h"

#include <cmath>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace torsor::test {

int64_t bytesOf(torsor_dtype dtype) { return getElementBytes(dtype); }
const char *nameOf(torsor_dtype dtype) { return getTypeName(dtype); }

double epsilonOf(torsor_dtype dtype) {
  switch (dtype) {
  case TORSOR_BF16:
    return 0x1p-8;
  case TORSOR_F16:
    return 0x1p-11;
  case TORSOR_F64:
    return 0x1p-53;
  default:
    return 0x1p-24;
  }
}

static void store(char *to, torsor_dtype dtype, double real, int64_t whole) {
  auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
  case TORSOR_F32:
    put(float(real));
    break;
  case TORSOR_F64:
    put(real);
    break;
  case TORSOR_BF16:
    put(toBf16(float(real)));
    break;
  case TORSOR_F16:
    put(toF16(float(real)));
    break;
  case TORSOR_I32:
    put(int32_t(whole));
    break;
  case TORSOR_I64:
    put(whole);
    break;
  case TORSOR_BOOL:
    put(char(whole != 0));
    break;
  default:
    put(char(whole));
    break;
  }
}

static double load(const char *from, torsor_dtype dtype) {
  auto get = [&](auto value) {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  switch (dtype) {
  case TORSOR_F32:
    return get(0.0f);
  case TORSOR_F64:
    return get(0.0);
  case TORSOR_BF16:
    return fromBf16(get(uint16_t(0)));
  case TORSOR_F16:
    return fromF16(get(uint16_t(0)));
  case TORSOR_I32:
    return get(int32_t(0));
  case TORSOR_I64:
    return double(get(int64_t(0)));
  default:
    return get(char(0));
  }
}

double TypedTensor::at(int64_t offset) const {
  torsor_dtype dtype = torsor_dtype(tensor.dtype);
  return load(static_cast<const char *>(tensor.data) + offset * bytesOf(dtype),
              dtype);
}

/// Calls visit(C-order number, offset in elements) for every element.
template <typename Visit>
static void forEach(const std::vector<int64_t> &shape, const int64_t *strides,
                    Visit visit) {
  std::vector<int64_t> index(shape.size(), 0);
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      offset += index[axis] * strides[axis];
    visit(n, offset);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

/// Bytes that end where a page begins that cannot be read, behind another one.
static std::shared_ptr<char> guarded(int64_t bytes, char *&start) {
  int64_t page = sysconf(_SC_PAGESIZE);
  int64_t whole = (bytes + page - 1) / page * page, all = whole + 2 * page;
  void *mapped =
      mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc();
  char *first = static_cast<char *>(mapped);
  if (whole)
    mprotect(first + page, whole, PROT_READ | PROT_WRITE);
  start = first + page + whole - bytes;
  return {first, [=](char *memory) { munmap(memory, all); }};
}

static TypedTensor allocate(const std::vector<int64_t> &shape,
                            torsor_dtype dtype, Layout layout) {
  TypedTensor result;
  result.layout = layout;
  torsor_tensor &t = result.tensor;
  t.rank = int32_t(shape.size());
  t.dtype = dtype;
  std::vector<int64_t> strides = compactStrides(shape);
  int64_t count = 1, offset = 0;
  for (int64_t extent : shape)
    count *= extent;
  if (shape.size() == 4 && layout == Layout::TokenMajor) {
    strides = {shape[2] * shape[1] * shape[3], shape[3], shape[1] * shape[3],
               1};
  } else if (shape.size() == 4 && layout == Layout::Padded) {
    int64_t token = shape[3] + 3, head = (shape[2] + 1) * token + 5;
    int64_t row = (shape[1] + 1) * head + 7;
    strides = {row, head, token, 1};
    offset = 11;
    count = shape[0] * row;
  }
  if (shape.size() != 4 && !shape.empty() && layout == Layout::Padded) {
    for (size_t axis = shape.size() - 1; axis-- > 0;)
      strides[axis] = strides[axis + 1] * shape[axis + 1] + 3;
    offset = 5;
    count = strides[0] * shape[0] + 3;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    t.shape[axis] = shape[axis];
    t.strides[axis] = strides[axis];
  }
  int64_t bytes = bytesOf(dtype);
  char *start = nullptr;
  if (layout == Layout::Guarded) {
    result.memory = guarded(count * bytes, start);
  } else {
    int64_t size = (count + offset + 16) * bytes + 64;
    result.memory = {new char[size](), std::default_delete<char[]>()};
    start = result.memory.get();
    start += (64 - reinterpret_cast<uintptr_t>(start) % 64) % 64;
  }
  bool real = dtype == TORSOR_F32 || dtype == TORSOR_F64 ||
              dtype == TORSOR_BF16 || dtype == TORSOR_F16;
  for (int64_t n = 0; real && n < count + offset; ++n)
    store(start + n * bytes, dtype, std::nan(""), 0);
  t.data = start + offset * bytes;
  return result;
}

TypedTensor typed(const HostArray &array, torsor_dtype dtype, Layout layout) {
  TypedTensor result = allocate(array.shape, dtype, layout);
  std::vector<int64_t> from;
  forEach(array.shape, array.strides.data(),
          [&](int64_t, int64_t offset) { from.push_back(offset); });
  forEach(array.shape, result.tensor.strides, [&](int64_t n, int64_t offset) {
    store(static_cast<char *>(result.tensor.data) + offset * bytesOf(dtype),
          dtype, array.real(from[n]),
          array.isInteger() ? array.integer(from[n]) : 0);
  });
  return result;
}

TypedTensor output(const std::vector<int64_t> &shape, torsor_dtype dtype,
                   Layout layout) {
  return allocate(shape, dtype, layout);
}

static std::vector<int64_t> shapeOf(const torsor_tensor &tensor) {
  return {tensor.shape, tensor.shape + tensor.rank};
}

std::vector<double> elementsOf(const TypedTensor &tensor) {
  std::vector<double> result;
  forEach(
      shapeOf(tensor.tensor), tensor.tensor.strides,
      [&](int64_t, int64_t offset) { result.push_back(tensor.at(offset)); });
  return result;
}

bool gapsAreUntouched(const TypedTensor &tensor) {
  // A gap behind every row of the last axis, NaN as allocate() left it.
  const torsor_tensor &t = tensor.tensor;
  if (t.rank != 4 || tensor.layout != Layout::Padded)
    return true;
  bool whole = true;
  std::vector<int64_t> rows = {t.shape[0], t.shape[1], t.shape[2]};
  forEach(rows, t.strides, [&](int64_t, int64_t offset) {
    for (int64_t n = 0; n < 3; ++n)
      whole &= std::isnan(tensor.at(offset + t.shape[3] + n));
  });
  return whole;
}

HostArray rounded(const HostArray &array, torsor_dtype dtype) {
  if (array.isInteger())
    return array;
  std::vector<double> data;
  forEach(array.shape, array.strides.data(), [&](int64_t, int64_t offset) {
    char bytes[8];
    store(bytes, dtype, array.real(offset), 0);
    data.push_back(load(bytes, dtype));
  });
  return HostArray::of(array.shape, std::move(data));
}

} // namespace torsor::test
