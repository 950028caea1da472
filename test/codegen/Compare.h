// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running a kernel on random data and comparing with the naive computation.
#ifndef TORSOR_TEST_CODEGEN_COMPARE_H
#define TORSOR_TEST_CODEGEN_COMPARE_H

#include <gtest/gtest.h>

#include "Harness.h"
#include "KernelText.h"
#include "Naive.h"

namespace torsor::test {

/// A call: shapes, and how the tensors lie.
struct Shape {
  int64_t heads = 1, groups = 1, queries = 1, keys = 1;
  int64_t queryIndex = -1, keyIndex = 0; // -1: the last of the keys
  bool tokenMajor = false;
  int pieces = 1;
  int64_t valueShift = -1; // f32 of v from a cache line; -1: anywhere
};

/// What a test may do to the arrays before the call.
struct Arrays {
  Array q, k, v, o;
  std::vector<float> lse;
  CallData *call = nullptr;
};

/// Absolute and relative part of the bound on O: of f32, the rounding of sums;
/// of bf16 and f16, the rounding of the output (and of nothing else: they are
/// computed in f32).
double toleranceOf(torsor_dtype dtype);

/// Runs `op` and compares every row. Returns what was computed.
Arrays compare(const Loaded &code, torsor_op op, const NaiveScheme &naive,
               Shape shape, torsor_dtype dtype = TORSOR_F32,
               std::function<void(Arrays &)> change = nullptr);

} // namespace torsor::test

#endif // TORSOR_TEST_CODEGEN_COMPARE_H
