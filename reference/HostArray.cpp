// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes, strides and ownership of host arrays.
#include "reference/HostArray.h"

#include <cassert>

namespace torsor {

std::vector<int64_t> compactStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t n = shape.size(); n-- > 0;) {
    strides[n] = step;
    step *= shape[n];
  }
  return strides;
}

int64_t HostArray::size() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

int64_t HostArray::offset(const std::vector<int64_t> &indices) const {
  assert(indices.size() == shape.size());
  int64_t at = 0;
  for (size_t n = 0; n < indices.size(); ++n)
    at += indices[n] * strides[n];
  return at;
}

/// A place for elements that is never null, so that an array without elements
/// is still present.
template <typename T>
static std::shared_ptr<const std::vector<T>> keep(std::vector<T> data) {
  data.reserve(1);
  return std::make_shared<const std::vector<T>>(std::move(data));
}

HostArray HostArray::of(std::vector<int64_t> shape, std::vector<double> data) {
  HostArray array;
  array.strides = compactStrides(shape);
  array.shape = std::move(shape);
  assert(array.size() == int64_t(data.size()));
  auto kept = keep(std::move(data));
  static const double none = 0;
  array.reals = kept->empty() ? &none : kept->data();
  array.owner = kept;
  return array;
}

HostArray HostArray::of(std::vector<int64_t> shape, std::vector<int64_t> data) {
  HostArray array;
  array.strides = compactStrides(shape);
  array.shape = std::move(shape);
  assert(array.size() == int64_t(data.size()));
  auto kept = keep(std::move(data));
  static const int64_t none = 0;
  array.integers = kept->empty() ? &none : kept->data();
  array.owner = kept;
  return array;
}

} // namespace torsor
