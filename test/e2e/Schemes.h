// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schemes and shapes of the differential tests.
#ifndef TORSOR_TEST_E2E_SCHEMES_H
#define TORSOR_TEST_E2E_SCHEMES_H

#include "test/e2e/Compare.h"
#include "test/support/Calls.h"

#include <string>
#include <vector>

namespace torsor::test {

/// A scheme of any head width.
struct SchemeCase {
  const char *name;
  /// The text for head width d; one scheme `x`.
  std::string (*source)(int64_t d);
  Magnitude (*magnitude)(int64_t d);
  /// Gives clocks, inputs and params to a call whose sequences stand.
  void (*fill)(Problem &problem, Random &random);
};
std::vector<SchemeCase> schemeCases();
/// Of norms, gains by lane and terms that read vectors (part of schemeCases).
std::vector<SchemeCase> termCases();
/// Of sums over paths: keys come in one piece.
std::vector<SchemeCase> pathCases();
/// Of actions beyond rotations of constant frequencies (part of schemeCases).
std::vector<SchemeCase> actionCases();

/// Of regions of displacement some of which fade (part of actionCases).
std::vector<SchemeCase> fadingRegionCases();
/// Of planes and changes of basis (part of actionCases).
std::vector<SchemeCase> planeCases();

/// Of keys that decode acts on by tables, for heads of 64 lanes and more, in
/// fours and threes.
std::vector<SchemeCase> rawKeyCases();

/// Where the tokens of a call lie and how it is made.
struct ShapeCase {
  const char *name;
  int64_t heads, groups;
  /// Query and key lengths, one sequence each.
  std::vector<std::pair<int64_t, int64_t>> lengths;
  Layout layout = Layout::Dense;
  bool ragged = false;  ///< All sequences in one row; else one row each.
  int64_t firstKey = 0; ///< Index of the first key (placed).
  torsor_op op = TORSOR_ATTEND;
  int64_t threads = 1;
  int64_t appended = 0;
  int64_t parts = 0; ///< As RunOptions has it.
  /// NaN, infinities, -0 and subnormal numbers among q and k.
  bool special = false;
};
std::vector<ShapeCase> shapeCases();

/// A call of that shape with q, k, v drawn from [-1, 1).
Problem makeCall(const ShapeCase &shape, int64_t head, int64_t value,
                 Random &random);
/// Adds an array per token [rows, tokens, extents…], with `draw` called for
/// every element of the keys' tokens and read at the queries where those are
/// the same tokens (the last of the keys).
void addPerToken(Problem &problem, const char *name,
                 std::vector<int64_t> extents, bool integers,
                 const std::function<double(int64_t row, int64_t token)> &draw);
/// Gives the clock pos positions with gaps.
void addPositionsWithGaps(Problem &problem);
/// Adds a param of reals drawn from [low, high).
void addParam(Problem &problem, const char *name, std::vector<int64_t> shape,
              double low, double high, Random &random);

} // namespace torsor::test

#endif
