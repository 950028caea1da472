// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's pool of threads.
#ifndef TORSOR_RUNTIME_POOL_H
#define TORSOR_RUNTIME_POOL_H

#include "runtime/Base.h"

namespace torsor {

struct Pool;

/// The pool behind an executor that torsor_pool_create made, else null.
Pool *poolOf(const torsor_executor &executor);

/// The pool of the process, one thread for each core it may use; made by the
/// first call. Null when memory or threads lack.
Pool *defaultPool();

int64_t poolThreads(const Pool &pool);

/// A loop on at most `workers` of the pool's threads, the caller being one.
void runOnPool(Pool &pool, int64_t workers, int64_t items, torsor_body body,
               void *argument);

} // namespace torsor

#endif // TORSOR_RUNTIME_POOL_H
