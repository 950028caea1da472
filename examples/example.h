/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the example programs share: failing with the text, memory, comparing. */
#ifndef TORSOR_EXAMPLE_H
#define TORSOR_EXAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <torsor.h>

static inline void check(torsor_status status) {
  if (status == TORSOR_OK)
    return;
  fprintf(stderr, "%s: %s\n", torsor_status_name(status), torsor_error());
  exit(1);
}

/// Memory with numbers in -1 … 1 that stand for what a model would compute.
static inline float *numbers(int64_t count, uint32_t seed) {
  float *memory = (float *)malloc((size_t)count * sizeof(float));
  if (!memory)
    exit(1);
  for (int64_t n = 0; n < count; ++n) {
    seed = seed * 1664525u + 1013904223u;
    memory[n] = (float)(int32_t)seed / 2147483648.0f;
  }
  return memory;
}

/// The largest difference of two runs of numbers; NaN counts as infinite.
static inline float difference(const float *a, const float *b, int64_t count) {
  float most = 0;
  for (int64_t n = 0; n < count; ++n) {
    float d = fabsf(a[n] - b[n]);
    if (!(d <= most))
      most = d == d ? d : INFINITY;
  }
  return most;
}

/// Says how two ways to the same result compare; 0 if they agree.
static inline int report(const char *what, float difference) {
  printf("%s: largest difference %g\n", what, (double)difference);
  return difference > 1e-4f;
}

#endif
