// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of tensors, and reading their elements.
#ifndef TORSOR_RUNTIME_TENSOR_H
#define TORSOR_RUNTIME_TENSOR_H

#include "runtime/Base.h"

namespace torsor {

/// Bytes of an element, 0 for a number that is no type.
inline int64_t elementBytes(int32_t dtype) {
  static constexpr int8_t bytes[] = {0, 4, 2, 2, 8, 4, 8, 1, 1, 1, 1, 1, 1};
  return dtype < 0 || dtype >= int32_t(sizeof bytes) ? 0 : bytes[dtype];
}

/// "f32", …; "any" and "unknown" for the others. Never null.
const char *dtypeName(int32_t dtype);

/// A tensor with data, or one of no elements, whose data may be null.
inline bool present(const torsor_tensor &tensor) {
  if (tensor.data)
    return true;
  for (int32_t a = 0; a < tensor.rank && a < TORSOR_MAX_RANK; ++a)
    if (tensor.shape[a] == 0)
      return true;
  return false;
}

/// What a tensor has to be.
struct TensorRule {
  const char *owner; // "prefill", "cache": stands first in texts
  const char *name;  // "q"
  int32_t dtype;     // TORSOR_ANY: not checked
  int32_t rank;
  int64_t shape[TORSOR_MAX_RANK];    // -1: any extent
  const char *what[TORSOR_MAX_RANK]; // "H", "the tokens of q"; null: a constant
  bool output;                       // must not overlap itself
};

/// Checks a tensor; one of rank - 1 gets a first axis of extent 1, and a scalar
/// may come as one element of rank 1. On success it has the rule's rank.
torsor_status checkTensor(const TensorRule &rule, torsor_tensor &tensor);

/// Calls for every element of a tensor of rank `rank` in row-major order:
/// `body(index[], address)` -> false to stop.
template <class Body>
bool forEachElement(const torsor_tensor &tensor, Body body) {
  int64_t index[TORSOR_MAX_RANK] = {};
  int64_t bytes = elementBytes(tensor.dtype);
  for (int32_t a = 0; a < tensor.rank; ++a)
    if (tensor.shape[a] == 0)
      return true;
  for (;;) {
    int64_t offset = 0;
    for (int32_t a = 0; a < tensor.rank; ++a)
      offset += index[a] * tensor.strides[a];
    if (!body(index, static_cast<const char *>(tensor.data) + offset * bytes))
      return false;
    int32_t a = tensor.rank - 1;
    while (a >= 0 && ++index[a] == tensor.shape[a])
      index[a--] = 0;
    if (a < 0)
      return true;
  }
}

/// An element as a double; i64 beyond 2^53 is rounded.
double readElement(const void *address, int32_t dtype);

/// Element [row, token] of a tensor of rank 2.
inline const char *elementAt(const torsor_tensor &tensor, int64_t row,
                             int64_t token) {
  int64_t offset = row * tensor.strides[0] + token * tensor.strides[1];
  return static_cast<const char *>(tensor.data) +
         offset * elementBytes(tensor.dtype);
}

/// The same of i32 or i64.
inline int64_t readIndex(const torsor_tensor &tensor, int64_t row,
                         int64_t token) {
  const char *at = elementAt(tensor, row, token);
  return tensor.dtype == TORSOR_I64 ? *reinterpret_cast<const int64_t *>(at)
                                    : *reinterpret_cast<const int32_t *>(at);
}

/// TORSOR_VALUE when an element lies outside low … high (NaN does). `owner` and
/// `kind` ("input", "param") begin the text.
torsor_status checkRange(const char *owner, const char *kind, const char *name,
                         const torsor_tensor &tensor, double low, double high);

/// "[2, 3]" into a text.
void appendIndex(Text &text, const int64_t *index, int32_t rank);

} // namespace torsor

#endif // TORSOR_RUNTIME_TENSOR_H
