// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host with a cache of its own: what it appends, moves and attends to is
// written out sequence by sequence.
#ifndef TORSOR_TEST_E2E_CACHEUSER_H
#define TORSOR_TEST_E2E_CACHEUSER_H

#include "test/e2e/Kernel.h"

namespace torsor::test {

/// What a cache is made for.
struct CacheShape {
  int64_t heads = 1, groups = 1;
  int64_t rows = 1; ///< Of pages: how many there are.
  CacheForm form;   ///< With the slots of a row.
  /// Optional streams that it holds: "index", clocks.
  std::vector<std::string> streams = {};
};

/// An instance and a cache, and calls on it. A token's values per token are
/// given by name, [rows, tokens] as q and k of the call.
class CacheUser {
public:
  CacheUser(const Kernel &kernel, const CacheShape &shape);
  ~CacheUser();
  CacheUser(const CacheUser &) = delete;

  /// The new keys k and values v [rows, G, tokens, width]; `slots` where given:
  /// the place of each in the storage.
  torsor_status append(const HostArray &k, const HostArray &v,
                       const std::vector<torsor_sequence> &sequences,
                       const std::vector<NamedArray> &tokens = {},
                       const std::vector<int64_t> &slots = {});
  torsor_status rebase(const std::vector<torsor_sequence> &sequences);
  /// q [rows, H, tokens, D]. Of `tokens` the arrays `query` belong to these,
  /// the arrays `key`, if they are there, to the storage.
  RunResult attend(const HostArray &q,
                   const std::vector<torsor_sequence> &sequences,
                   const std::vector<NamedArray> &tokens = {});
  /// A stream as it lies.
  std::vector<double> stored(const char *stream) const;

  torsor_instance *instance = nullptr;
  torsor_cache *cache = nullptr;
  std::vector<int32_t> pages; ///< The tables of every batch.

private:
  torsor_status run(torsor_op op, torsor_call &call,
                    const std::vector<torsor_sequence> &sequences,
                    const std::vector<NamedArray> &tokens,
                    const std::vector<int64_t> &slots);

  const Kernel &kernel;
};

/// Tokens start … start + length of a sequence with this many keys in row
/// `row`, all placed: key n has index n, the tokens are the last.
torsor_sequence lastTokens(int64_t row, int64_t keys, int64_t tokens);
/// Keys start … start + length - 1 of a row, moved by `shift`.
torsor_sequence movedKeys(int64_t row, int64_t start, int64_t length,
                          int64_t shift);

} // namespace torsor::test

#endif
