// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of tensors, reading their elements, and DLPack's view of them.

#include "runtime/Tensor.h"

#include <cmath>

namespace torsor {

const char *dtypeName(int32_t dtype) {
  static const char *const names[] = {"any",    "f32",    "bf16", "f16", "f64",
                                      "i32",    "i64",    "bool", "i8",  "u8",
                                      "f8e4m3", "f8e5m2", "i4x2"};
  return dtype < 0 || dtype > TORSOR_I4X2 ? "unknown" : names[dtype];
}

void appendIndex(Text &text, const int64_t *index, int32_t rank) {
  text.append("[");
  for (int32_t a = 0; a < rank; ++a)
    text.appendf(a ? ", %lld" : "%lld", (long long)index[a]);
  text.append("]");
}

namespace {

torsor_status failExtent(const TensorRule &rule, const torsor_tensor &tensor,
                         int32_t axis) {
  const char *what = rule.what[axis];
  long long is = tensor.shape[axis], want = rule.shape[axis];
  if (is < 0)
    return fail(TORSOR_SHAPE,
                "%s: %s: the extent of axis %d is %lld; it must "
                "not be negative",
                rule.owner, rule.name, axis, is);
  if (what)
    return fail(TORSOR_SHAPE,
                "%s: %s: the extent of axis %d is %lld, but it must be %lld, "
                "as %s",
                rule.owner, rule.name, axis, is, want, what);
  return fail(TORSOR_SHAPE,
              "%s: %s: the extent of axis %d is %lld, but it must be %lld",
              rule.owner, rule.name, axis, is, want);
}

/// Sorts the axes by stride: none may begin inside the reach of those below.
bool overlapsItself(const torsor_tensor &tensor) {
  int64_t strides[TORSOR_MAX_RANK], extents[TORSOR_MAX_RANK];
  int32_t used = 0;
  for (int32_t a = 0; a < tensor.rank; ++a) {
    if (tensor.shape[a] == 0)
      return false;
    if (tensor.shape[a] == 1)
      continue;
    int64_t stride =
        tensor.strides[a] < 0 ? -tensor.strides[a] : tensor.strides[a];
    int32_t place = used++;
    for (; place && strides[place - 1] > stride; --place) {
      strides[place] = strides[place - 1];
      extents[place] = extents[place - 1];
    }
    strides[place] = stride, extents[place] = tensor.shape[a];
  }
  int64_t reach = 0;
  for (int32_t a = 0; a < used; ++a) {
    if (strides[a] <= reach)
      return true;
    reach += (extents[a] - 1) * strides[a];
  }
  return false;
}

torsor_status checkStrides(const TensorRule &rule,
                           const torsor_tensor &tensor) {
  int64_t bytes = elementBytes(tensor.dtype);
  int64_t low = 0, high = 0;
  bool empty = false;
  for (int32_t a = 0; a < tensor.rank; ++a)
    empty |= tensor.shape[a] == 0;
  if (empty)
    return TORSOR_OK;
  for (int32_t a = 0; a < tensor.rank; ++a) {
    int64_t span, spanBytes;
    bool overflow =
        tensor.strides[a] == INT64_MIN ||
        __builtin_mul_overflow(tensor.shape[a] - 1, tensor.strides[a], &span) ||
        __builtin_mul_overflow(span, bytes, &spanBytes);
    if (!overflow)
      overflow = spanBytes < 0 ? __builtin_add_overflow(low, spanBytes, &low)
                               : __builtin_add_overflow(high, spanBytes, &high);
    if (overflow || high > INT64_MAX / 2 || low < -(INT64_MAX / 2))
      return fail(TORSOR_STRIDE,
                  "%s: %s: axis %d (extent %lld, stride %lld) reaches beyond "
                  "63 bits of bytes",
                  rule.owner, rule.name, a, (long long)tensor.shape[a],
                  (long long)tensor.strides[a]);
  }
  int32_t last = tensor.rank - 1;
  if (last >= 0 && tensor.shape[last] > 1 && tensor.strides[last] != 1)
    return fail(TORSOR_STRIDE,
                "%s: %s: the innermost stride is %lld, but it must be 1",
                rule.owner, rule.name, (long long)tensor.strides[last]);
  if (reinterpret_cast<uintptr_t>(tensor.data) & uintptr_t(bytes - 1))
    return fail(TORSOR_STRIDE,
                "%s: %s: the address %p is not a multiple of %lld, the bytes "
                "of %s",
                rule.owner, rule.name, tensor.data, (long long)bytes,
                dtypeName(tensor.dtype));
  if (rule.output && overlapsItself(tensor))
    return fail(TORSOR_STRIDE,
                "%s: %s is written, but its strides make elements share "
                "memory",
                rule.owner, rule.name);
  return TORSOR_OK;
}

/// Gives the tensor the rule's rank where one axis of extent 1 is left out.
bool fitRank(const TensorRule &rule, torsor_tensor &tensor) {
  if (tensor.rank == rule.rank)
    return true;
  if (rule.rank == 0 && tensor.rank == 1 && tensor.shape[0] == 1) {
    tensor.rank = 0;
    return true;
  }
  if (rule.rank < 2 || tensor.rank != rule.rank - 1)
    return false;
  for (int32_t a = rule.rank - 1; a > 0; --a) {
    tensor.shape[a] = tensor.shape[a - 1];
    tensor.strides[a] = tensor.strides[a - 1];
  }
  tensor.shape[0] = 1, tensor.strides[0] = 0;
  tensor.rank = rule.rank;
  return true;
}

} // namespace

torsor_status checkTensor(const TensorRule &rule, torsor_tensor &tensor) {
  if (tensor.rank < 0 || tensor.rank > TORSOR_MAX_RANK ||
      !fitRank(rule, tensor))
    return fail(TORSOR_SHAPE, "%s: %s has rank %d, but it must have rank %d",
                rule.owner, rule.name, tensor.rank, rule.rank);
  for (int32_t a = 0; a < rule.rank; ++a)
    if (tensor.shape[a] < 0 ||
        (rule.shape[a] >= 0 && tensor.shape[a] != rule.shape[a]))
      return failExtent(rule, tensor, a);
  if (rule.dtype != TORSOR_ANY && tensor.dtype != rule.dtype)
    return fail(TORSOR_DTYPE, "%s: %s is %s, but it must be %s", rule.owner,
                rule.name, dtypeName(tensor.dtype), dtypeName(rule.dtype));
  if (!elementBytes(tensor.dtype))
    return fail(TORSOR_DTYPE, "%s: %s: %d is not a type of elements",
                rule.owner, rule.name, tensor.dtype);
  if (tensor.device != TORSOR_HOST)
    return fail(TORSOR_DTYPE,
                "%s: %s lies on device %d, but this code runs on the host",
                rule.owner, rule.name, tensor.device);
  return checkStrides(rule, tensor);
}

namespace {

double fromHalf(uint32_t bits, int exponentBits, int mantissaBits,
                bool infinities) {
  uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  uint32_t exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
  bool negative = bits >> (exponentBits + mantissaBits) & 1;
  int bias = (1 << (exponentBits - 1)) - 1;
  uint32_t top = (1u << exponentBits) - 1;
  double value;
  if (exponent == top && infinities)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == top && mantissa == (1u << mantissaBits) - 1)
    value = NAN; // e4m3 has no infinities, and one NaN
  else if (exponent)
    value = std::ldexp(double(mantissa | 1u << mantissaBits),
                       int(exponent) - bias - mantissaBits);
  else
    value = std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  return negative ? -value : value;
}

template <class T> T load(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

} // namespace

double readElement(const void *address, int32_t dtype) {
  switch (dtype) {
  case TORSOR_F32:
    return load<float>(address);
  case TORSOR_F64:
    return load<double>(address);
  case TORSOR_BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(address)) << 16;
    return load<float>(&bits);
  }
  case TORSOR_F16:
    return fromHalf(load<uint16_t>(address), 5, 10, true);
  case TORSOR_I32:
    return load<int32_t>(address);
  case TORSOR_I64:
    return double(load<int64_t>(address));
  case TORSOR_BOOL:
    return load<uint8_t>(address) ? 1 : 0;
  case TORSOR_I8:
    return load<int8_t>(address);
  case TORSOR_F8E4M3:
    return fromHalf(load<uint8_t>(address), 4, 3, false);
  case TORSOR_F8E5M2:
    return fromHalf(load<uint8_t>(address), 5, 2, true);
  default:
    return load<uint8_t>(address);
  }
}

torsor_status checkRange(const char *owner, const char *kind, const char *name,
                         const torsor_tensor &tensor, double low, double high) {
  if (low == -INFINITY && high == INFINITY)
    return TORSOR_OK;
  int64_t place[TORSOR_MAX_RANK] = {};
  double wrong = 0;
  bool good = forEachElement(tensor, [&](const int64_t *index, const void *at) {
    double value = readElement(at, tensor.dtype);
    if (value >= low && value <= high)
      return true;
    std::memcpy(place, index, sizeof place);
    wrong = value;
    return false;
  });
  if (good)
    return TORSOR_OK;
  Text index;
  appendIndex(index, place, tensor.rank);
  return fail(TORSOR_VALUE,
              "%s: %s '%s': element %s is %s, but its range is "
              "%s .. %s",
              owner, kind, name, index.get(), Number(wrong).text,
              Number(low).text, Number(high).text);
}

namespace {

int32_t fromDlpack(DLDataType type) {
  struct Row {
    uint8_t code, bits;
    int32_t dtype;
  };
  // Codes of bool and float8 are those of later DLPack versions.
  static constexpr Row rows[] = {
      {0, 8, TORSOR_I8},   {0, 32, TORSOR_I32},    {0, 64, TORSOR_I64},
      {1, 8, TORSOR_U8},   {1, 1, TORSOR_BOOL},    {2, 16, TORSOR_F16},
      {2, 32, TORSOR_F32}, {2, 64, TORSOR_F64},    {4, 16, TORSOR_BF16},
      {6, 8, TORSOR_BOOL}, {10, 8, TORSOR_F8E4M3}, {12, 8, TORSOR_F8E5M2}};
  if (type.lanes == 1)
    for (const Row &row : rows)
      if (row.code == type.code && row.bits == type.bits)
        return row.dtype;
  return TORSOR_ANY;
}

torsor_status deviceFromDlpack(DLDevice device, torsor_tensor &out) {
  switch (int(device.device_type)) {
  case kDLCPU:
  case kDLCUDAHost:
    out.device = TORSOR_HOST;
    return TORSOR_OK;
  case kDLCUDA:
    out.device = TORSOR_CUDA;
    out.device_id = device.device_id;
    return TORSOR_OK;
  default:
    return fail(TORSOR_DTYPE,
                "dlpack: the tensor lies on a device of type %d; host (1, 3) "
                "and CUDA (2) are known",
                int(device.device_type));
  }
}

} // namespace

static torsor_status convertDlpack(const DLTensor &tensor, torsor_tensor &out) {
  if (tensor.ndim < 0 || tensor.ndim > TORSOR_MAX_RANK)
    return fail(TORSOR_SHAPE,
                "dlpack: the tensor has rank %d; 0 to %d are "
                "possible",
                tensor.ndim, TORSOR_MAX_RANK);
  out.rank = tensor.ndim;
  out.dtype = fromDlpack(tensor.dtype);
  if (!out.dtype)
    return fail(TORSOR_DTYPE,
                "dlpack: elements of code %d, %d bits and %d lanes are not "
                "known",
                tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  if (torsor_status status = deviceFromDlpack(tensor.device, out))
    return status;
  if (tensor.ndim && !tensor.shape)
    return fail(TORSOR_INVALID, "dlpack: the shape is null");
  int64_t compact = 1;
  for (int32_t a = tensor.ndim - 1; a >= 0; --a) {
    out.shape[a] = tensor.shape[a];
    if (out.shape[a] < 0)
      return fail(TORSOR_SHAPE, "dlpack: the extent of axis %d is %lld", a,
                  (long long)out.shape[a]);
    out.strides[a] = tensor.strides ? tensor.strides[a] : compact;
    if (!tensor.strides &&
        __builtin_mul_overflow(compact, out.shape[a] ? out.shape[a] : 1,
                               &compact))
      return fail(TORSOR_STRIDE, "dlpack: the extents overflow 63 bits");
  }
  if (tensor.data)
    out.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  return TORSOR_OK;
}

} // namespace torsor

extern "C" torsor_status torsor_from_dlpack(const DLTensor *tensor,
                                            torsor_tensor *out) {
  if (!out)
    return torsor::fail(TORSOR_INVALID, "dlpack: out is null");
  *out = torsor_tensor();
  if (!tensor)
    return torsor::fail(TORSOR_INVALID, "dlpack: the tensor is null");
  torsor_status status = torsor::convertDlpack(*tensor, *out);
  if (status)
    *out = torsor_tensor();
  return status;
}
