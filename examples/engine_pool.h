/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host's own threads, whatever they are: here a plain pool. */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H
#include <stdint.h>
typedef struct pool pool;
typedef void (*pool_body)(void *argument, int64_t begin, int64_t end,
                          int64_t worker);
pool *pool_create(int threads);
void pool_destroy(pool *p);
int64_t pool_size(const pool *p);
/// Calls body for disjoint ranges of 0 … items and returns when all are done.
void pool_for(pool *p, int64_t items, pool_body body, void *argument);
#endif
