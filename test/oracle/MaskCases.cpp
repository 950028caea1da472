// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which keys a query sees.
#include "test/oracle/Oracle.h"

#include <numeric>

namespace torsor::test {
namespace {

/// The keys 0 … count - 1 that each query sees, one list after another. A
/// shift makes the first tokens padding.
Numbers rows(const std::string &mask, int64_t count,
             std::vector<int64_t> queries, int64_t shift = 0) {
  std::vector<int64_t> keys(count);
  std::iota(keys.begin(), keys.end(), -shift);
  for (int64_t &query : queries)
    query -= shift;
  Problem problem = probe(queries, keys);
  Output output =
      evaluateSource("scheme m { head 1 mask " + mask + " }", problem);
  Numbers seen;
  for (size_t n = 0; n < queries.size() && !output.pairs.empty(); ++n)
    for (int64_t key = 0; key < count; ++key)
      if (output.pairs[0][n * count + key].visible)
        seen.push_back(double(key));
  return seen;
}

Comparison window(const json &e) {
  Comparison c;
  for (auto [mask, key] : {std::pair{"last(4)", "causal_exclusive"},
                           {"window(4)", "causal_inclusive"},
                           {"window(4, right = 4)", "bidir_inclusive"},
                           {"window(2, right = 2)", "bidir_half"}}) {
    Numbers got = rows(mask, 16, {10}), want = expected(e, key);
    c.got.insert(c.got.end(), got.begin(), got.end());
    c.want.insert(c.want.end(), want.begin(), want.end());
  }
  return c;
}

/// Alignment is where the call puts the first query, not a mask.
Comparison alignment(const json &e) {
  Comparison c{rows("causal", 5, {3, 4}), expected(e, "bottom_right")};
  Numbers got = rows("causal", 5, {0, 1}), want = expected(e, "top_left");
  c.got.insert(c.got.end(), got.begin(), got.end());
  c.want.insert(c.want.end(), want.begin(), want.end());
  return c;
}

} // namespace

std::vector<OracleEntry> maskCases() {
  return {
      {"mask.window.W4.q10", window},
      {"mask.chunked.C4",
       [](const json &e) -> Comparison {
         return {rows("causal and chunk(4)", 12, {3, 4, 10}),
                 flat(e["expected"])};
       }},
      {"mask.chunked.C4.leftpad2",
       [](const json &e) -> Comparison {
         return {rows("causal and chunk(4)", 12, {5, 6, 10}, 2),
                 flat(e["expected"])};
       }},
      {"mask.alignment.q2.k5", alignment},
      {"mask.prefix_lm.P3",
       [](const json &e) -> Comparison {
         return {rows("causal or first(3)", 6, {0, 2, 4}), flat(e["expected"])};
       }},
  };
}

} // namespace torsor::test
