// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A strided array of doubles or of 64-bit integers in host memory.
#ifndef TORSOR_REFERENCE_HOSTARRAY_H
#define TORSOR_REFERENCE_HOSTARRAY_H

#include <cstdint>
#include <memory>
#include <vector>

namespace torsor {

/// An array of any rank; strides count elements and may be 0 or negative.
/// Copies share the memory. Exactly one of `reals` and `integers` is set, or
/// neither: then the array is absent.
struct HostArray {
  std::vector<int64_t> shape, strides;
  const double *reals = nullptr;
  const int64_t *integers = nullptr;
  std::shared_ptr<const void> owner; ///< Keeps the memory; null: borrowed.

  explicit operator bool() const { return reals || integers; }
  int64_t rank() const { return int64_t(shape.size()); }
  bool isInteger() const { return integers; }
  /// The product of the extents.
  int64_t size() const;
  /// Offset of an element whose indices lie inside the shape.
  int64_t offset(const std::vector<int64_t> &indices) const;
  double real(int64_t offset) const {
    return reals ? reals[offset] : double(integers[offset]);
  }
  int64_t integer(int64_t offset) const {
    return integers ? integers[offset] : int64_t(reals[offset]);
  }

  /// Compact arrays that own their elements.
  static HostArray of(std::vector<int64_t> shape, std::vector<double> data);
  static HostArray of(std::vector<int64_t> shape, std::vector<int64_t> data);
};

/// The strides of a compact array.
std::vector<int64_t> compactStrides(const std::vector<int64_t> &shape);

} // namespace torsor

#endif
