// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contracts `orthogonal` and `condition` on square params.

#include "runtime/Instance.h"

#include <cmath>

namespace torsor {

namespace {

/// Half a unit in the last place of a type, relative.
double unitRoundoff(int32_t dtype) {
  switch (dtype) {
  case TORSOR_F64:
    return 0x1p-53;
  case TORSOR_F32:
    return 0x1p-24;
  case TORSOR_F16:
    return 0x1p-11;
  case TORSOR_BF16:
    return 0x1p-8;
  default:
    return 0x1p-4;
  }
}

/// The last two axes of a tensor at `base`, as doubles, columns first, and
/// their products a[i * n + j] = (column i, column j).
bool readMatrix(const torsor_tensor &tensor, const char *base,
                Array<double> &columns) {
  int64_t n = tensor.shape[tensor.rank - 1];
  int64_t bytes = elementBytes(tensor.dtype);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column) {
      int64_t offset = row * tensor.strides[tensor.rank - 2] +
                       column * tensor.strides[tensor.rank - 1];
      double value = readElement(base + offset * bytes, tensor.dtype);
      if (!std::isfinite(value))
        return false;
      columns[column * n + row] = value;
    }
  return true;
}

void multiplyTransposed(const Array<double> &columns, int64_t n,
                        Array<double> &products) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k)
        sum += columns[i * n + k] * columns[j * n + k];
      products[i * n + j] = products[j * n + i] = sum;
    }
}

/// Householder reduction of a symmetric matrix to tridiagonal form.
void tridiagonalise(Array<double> &a, int64_t n, Array<double> &diagonal,
                    Array<double> &off, Array<double> &work) {
  double *v = work.data(), *p = v + n;
  for (int64_t k = 0; k + 2 < n; ++k) {
    double norm = 0;
    for (int64_t i = k + 1; i < n; ++i)
      norm = std::hypot(norm, a[i * n + k]);
    double first = a[(k + 1) * n + k];
    off[k] = first > 0 ? -norm : norm;
    if (norm == 0)
      continue;
    double square = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      v[i] = a[i * n + k] - (i == k + 1 ? off[k] : 0);
      square += v[i] * v[i];
    }
    double dot = 0; // p = 2 A v / |v|^2, then A -= v q' + q v'
    for (int64_t i = k + 1; i < n; ++i) {
      p[i] = 0;
      for (int64_t j = k + 1; j < n; ++j)
        p[i] += a[i * n + j] * v[j];
      p[i] *= 2 / square;
      dot += p[i] * v[i];
    }
    for (int64_t i = k + 1; i < n; ++i)
      p[i] -= dot / square * v[i];
    for (int64_t i = k + 1; i < n; ++i)
      for (int64_t j = k + 1; j < n; ++j)
        a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
  }
  for (int64_t i = 0; i < n; ++i)
    diagonal[i] = a[i * n + i];
  if (n > 1)
    off[n - 2] = a[(n - 1) * n + n - 2];
}

/// Eigenvalues below x, by Sturm's sequence.
int64_t countBelow(const Array<double> &diagonal, const Array<double> &off,
                   int64_t n, double x) {
  int64_t below = 0;
  double d = 1;
  for (int64_t i = 0; i < n; ++i) {
    double e = i ? off[i - 1] : 0;
    d = diagonal[i] - x - (i ? e * e / d : 0);
    if (d == 0)
      d = -1e-300;
    below += d < 0;
  }
  return below;
}

double eigenvalue(const Array<double> &diagonal, const Array<double> &off,
                  int64_t n, int64_t index, double bound) {
  double low = -bound, high = bound;
  for (int step = 0; step < 200 && high - low > bound * 0x1p-62; ++step) {
    double middle = low + (high - low) / 2;
    (countBelow(diagonal, off, n, middle) > index ? high : low) = middle;
  }
  return low + (high - low) / 2;
}

torsor_status checkOrthogonal(const char *name, const char *where,
                              const torsor_tensor &tensor,
                              const Array<double> &products, int64_t n) {
  // Rounding each entry moves a product of unit columns by at most 2 u; a
  // matrix made in the same arithmetic errs by about sqrt(n) times as much.
  double tolerance =
      16 * unitRoundoff(tensor.dtype) * std::sqrt(double(n < 4 ? 4 : n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double want = i == j ? 1 : 0, is = products[i * n + j];
      if (std::fabs(is - want) > tolerance)
        return fail(TORSOR_VALUE,
                    "instance: param '%s'%s is declared orthogonal, but "
                    "columns %lld and %lld have the product %s, not %s (to "
                    "within %s)",
                    name, where, (long long)j, (long long)i, Number(is).text,
                    i == j ? "1" : "0", Number(tolerance).text);
    }
  return TORSOR_OK;
}

struct Space {
  Array<double> columns, products, diagonal, off, work;
  bool resize(int64_t n) {
    return columns.resize(n * n) && products.resize(n * n) &&
           diagonal.resize(n) && off.resize(n) && work.resize(2 * n);
  }
};

torsor_status checkMatrix(const char *name, const char *where,
                          const torsor_tensor &tensor, const char *base,
                          double condition, Space &space) {
  int64_t n = tensor.shape[tensor.rank - 1];
  if (!readMatrix(tensor, base, space.columns))
    return fail(TORSOR_VALUE,
                "instance: param '%s'%s has an element that is "
                "not finite",
                name, where);
  multiplyTransposed(space.columns, n, space.products);
  if (condition == 1)
    return checkOrthogonal(name, where, tensor, space.products, n);
  double bound = 0; // the largest eigenvalue is at most the trace
  for (int64_t i = 0; i < n; ++i)
    bound += space.products[i * n + i];
  tridiagonalise(space.products, n, space.diagonal, space.off, space.work);
  double least = eigenvalue(space.diagonal, space.off, n, 0, bound);
  double most = eigenvalue(space.diagonal, space.off, n, n - 1, bound);
  // Eigenvalues of the products are exact to about n u of the largest.
  double square = condition * condition;
  double rounding = 1 + double(n) * square * 0x1p-48;
  if (least > 0 && most <= least * square * rounding)
    return TORSOR_OK;
  double is = least > 0 ? std::sqrt(most / least) : INFINITY;
  return fail(TORSOR_VALUE,
              "instance: param '%s'%s has the condition number "
              "%s, but at most %s is declared",
              name, where, Number(is).text, Number(condition).text);
}

} // namespace

torsor_status checkCondition(const char *name, const torsor_tensor &tensor,
                             double condition) {
  int32_t rank = tensor.rank;
  if (rank < 2 || tensor.shape[rank - 1] != tensor.shape[rank - 2])
    return fail(TORSOR_SHAPE,
                "instance: param '%s' must be square in its last "
                "two axes",
                name);
  Space space;
  int64_t n = tensor.shape[rank - 1];
  if (n == 0)
    return TORSOR_OK;
  if (!space.resize(n))
    return failMemory(n * n * 16);
  torsor_tensor outer = tensor; // one element for each matrix
  outer.rank = rank - 2;
  torsor_status status = TORSOR_OK;
  forEachElement(outer, [&](const int64_t *index, const char *base) {
    Text where;
    if (outer.rank)
      appendIndex(where, index, outer.rank);
    status = checkMatrix(name, where.get(), tensor, base, condition, space);
    return !status;
  });
  return status;
}

} // namespace torsor
