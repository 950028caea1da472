// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hand-written scheme with a stack of two square params.
#ifndef TORSOR_TEST_RUNTIME_SQUARE_H
#define TORSOR_TEST_RUNTIME_SQUARE_H

#include "test/runtime/Fixture.h"

namespace naive {

/// A scheme with a square param in the last two axes, as a stack of two.
struct Square {
  torsor_field field = full.arguments[Turn];
  torsor_variant variant = plain.variants[1];
  torsor_descriptor d = plain;
  const torsor_descriptor *list[1] = {&d};
  torsor_module module = naive::module;
  torsor_library *library = nullptr;
  torsor_scheme *scheme = nullptr;
  int64_t n;
  std::vector<double> values;

  Square(int64_t n, double condition) : n(n) {
    field.name = "P", field.dtype = TORSOR_F64, field.condition = condition;
    field.rank = 3, field.shape[0] = 2, field.shape[1] = field.shape[2] = n;
    d.arguments = &field, d.argument_count = 1;
    d.variants = &variant, d.variant_count = 1;
    d.contract = "basis columns $P";
    module.schemes = list, module.scheme_count = 1, module.layers = 0;
    expectOk(torsor_library_link(&module, nullptr, &library));
    expectOk(torsor_library_at(library, 0, &scheme));
    values.assign(size_t(2 * n * n), 0);
    for (int64_t p = 0; p < 2; ++p)
      for (int64_t i = 0; i < n; ++i)
        values[size_t((p * n + i) * n + i)] = 1;
  }
  ~Square() {
    torsor_scheme_destroy(scheme);
    torsor_library_destroy(library);
  }
  torsor_status create() {
    torsor_binding p = {"P", 0, 0, {}};
    p.tensor = torsor_array(values.data(), TORSOR_F64, 2, n, n);
    torsor_instance *instance;
    torsor_status status =
        torsor_instance_create(scheme, 2, 1, &p, 1, &instance);
    torsor_instance_destroy(instance);
    return status;
  }
  /// Turns rows i and j of the second matrix: orthogonal stays orthogonal.
  void rotate(int64_t i, int64_t j, double angle) {
    double *a = &values[size_t((n + i) * n)], *b = &values[size_t((n + j) * n)];
    for (int64_t k = 0; k < n; ++k) {
      double x = a[k], y = b[k];
      a[k] = x * std::cos(angle) - y * std::sin(angle);
      b[k] = x * std::sin(angle) + y * std::cos(angle);
    }
  }
};

} // namespace naive

#endif // TORSOR_TEST_RUNTIME_SQUARE_H
