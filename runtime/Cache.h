// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Storage of keys under a contract.
#ifndef TORSOR_RUNTIME_CACHE_H
#define TORSOR_RUNTIME_CACHE_H

#include "runtime/Instance.h"

struct torsor_cache {
  torsor::Count count;
  const torsor_instance *instance = nullptr; // keeps contract and scheme alive
  /// By the stream table of the scheme; absent ones have data null.
  torsor::Array<torsor_tensor> streams;
  torsor::Array<void *> owned; // memory of the library
  int64_t rows = 0, slots = 0, pinned = 0;
  int32_t layout = TORSOR_CONTIGUOUS;
  /// The last contract that was compared whole and agrees; 0: none.
  mutable std::atomic<uint64_t> agreed{0};

  const torsor_scheme &scheme() const { return *instance->scheme; }
  const torsor_contract &contract() const { return *instance->contract; }
  ~torsor_cache();
};

namespace torsor {
inline void releaseCache(torsor_cache *cache) {
  if (cache->count.release())
    destroy(cache);
}

/// The cache's streams as the table of another scheme that agrees with it
/// numbers them: by name.
const torsor_tensor *findStream(const torsor_cache &cache, const char *name);
} // namespace torsor

#endif // TORSOR_RUNTIME_CACHE_H
