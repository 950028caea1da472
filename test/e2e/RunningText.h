// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schemes with running clocks, and texts that a host with a cache reads.
#ifndef TORSOR_TEST_E2E_RUNNINGTEXT_H
#define TORSOR_TEST_E2E_RUNNINGTEXT_H

#include "test/e2e/CacheUser.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"

namespace torsor::test {

/// A scheme of head width 16 whose clocks sum the input `gate`, drawn from low
/// … high.
struct Clocked {
  const char *name, *text; ///< But for the mask.
  std::vector<int64_t> extents;
  double low, high, bias; ///< The largest bias.

  std::string source(const std::string &mask) const;
  void fill(Problem &problem, Random &random) const;
};

/// Of query heads, key heads and all heads; with and without the token itself;
/// families; a clock beside another. All for 4 heads of 2 groups.
std::vector<Clocked> clockedSchemes();

/// first … end - 1.
std::vector<int64_t> range(int64_t first, int64_t end);

/// A text of so many tokens, one sequence, with a query for each token.
struct Text {
  Clocked scheme;
  Problem problem;

  Text(const Clocked &scheme, int64_t tokens, uint64_t seed);
  HostArray q(const std::vector<int64_t> &tokens) const;
  /// Another text, of some tokens of this one.
  Text of(const std::vector<int64_t> &tokens) const;
  torsor_status append(CacheUser &user, const std::vector<int64_t> &tokens,
                       const std::vector<torsor_sequence> &sequences,
                       const std::vector<int64_t> &slots = {}) const;
  /// Queries of the text's first `count` tokens, of which those are seen that
  /// `keep` names: what the reference makes of a mask that hides the others.
  std::string compareWith(const Compiled &compiled, const RunResult &result,
                          const std::vector<int64_t> &queries, int64_t count,
                          const std::vector<int64_t> &keep) const;
};

} // namespace torsor::test

#endif
