// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of a storage type in memory as hosts lay them.
#ifndef TORSOR_TEST_E2E_MEMORY_H
#define TORSOR_TEST_E2E_MEMORY_H

#include "reference/HostArray.h"
#include "runtime/torsor.h"

#include <memory>
#include <string>
#include <vector>

namespace torsor::test {

/// How [rows, heads, tokens, width] lies in memory.
enum class Layout {
  Dense,      ///< In this order.
  TokenMajor, ///< [rows, tokens, heads, width]
  Padded,     ///< Gaps around every axis, filled with NaN; an odd offset.
  Guarded     ///< Dense, between pages that must not be touched.
};

/// A tensor with its memory.
struct TypedTensor {
  torsor_tensor tensor = {};
  Layout layout = Layout::Dense;
  std::shared_ptr<char> memory;

  /// The element at an offset in elements.
  double at(int64_t offset) const;
};

/// The elements as they come back after storage in a type.
HostArray rounded(const HostArray &array, torsor_dtype dtype);
/// A copy of an array (any rank; of rank 4 in the given layout).
TypedTensor typed(const HostArray &array, torsor_dtype dtype,
                  Layout layout = Layout::Dense);
/// Memory for results, filled with NaN.
TypedTensor output(const std::vector<int64_t> &shape, torsor_dtype dtype,
                   Layout layout = Layout::Dense);
/// The elements in C order of the shape.
std::vector<double> elementsOf(const TypedTensor &tensor);
/// True if nothing outside the elements of an output was written.
bool gapsAreUntouched(const TypedTensor &tensor);

/// Bytes of an element; the unit roundoff (half an ulp of 1).
int64_t bytesOf(torsor_dtype dtype);
double epsilonOf(torsor_dtype dtype);
const char *nameOf(torsor_dtype dtype);

} // namespace torsor::test

#endif
