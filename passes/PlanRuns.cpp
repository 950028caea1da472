// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs at lanes in equal steps, as blocks.
#include "passes/PlanBlocks.h"

using namespace mlir;

namespace torsor {

/// Whether `next` stands `step` lanes behind `pair` and may follow it in a
/// block.
static bool follows(const PlannedPair &pair, const PlannedPair &next,
                    int64_t step) {
  return next.first == pair.first + step &&
         (pair.second < 0 || next.second == pair.second + step) &&
         (!next.family || next.member == pair.member + 1);
}

/// Which of `pairs` (by their first lane) make a run from the first of them on.
static SmallVector<size_t> runOf(ArrayRef<PlannedPair> pairs, int64_t step) {
  SmallVector<size_t> run = {0};
  for (size_t n = 1; n < pairs.size(); ++n)
    if (follows(pairs[run.back()], pairs[n], step))
      run.push_back(n);
  return run;
}

void cutRuns(ArrayRef<PlannedPair> group, PlannedBranch &out) {
  SmallVector<PlannedPair> pairs(group);
  while (!pairs.empty()) {
    PlannedBlock block;
    SmallVector<size_t> run = {0};
    block.step = 1;
    constexpr size_t nearest = 8; // further apart no run begins
    for (size_t n = 1; n < std::min(pairs.size(), nearest); ++n) {
      int64_t step = pairs[n].first - pairs[0].first;
      bool isPaired = pairs[0].second >= 0;
      if (step < 1 || (!isPaired && step > 1))
        continue;
      SmallVector<size_t> other = runOf(pairs, step);
      if (other.size() > run.size()) {
        run = std::move(other);
        block.step = step;
      }
    }
    SmallVector<PlannedPair> left;
    for (auto [n, pair] : llvm::enumerate(pairs))
      (llvm::is_contained(run, n) ? block.pairs : left).push_back(pair);
    pairs = std::move(left);
    out.push_back(std::move(block));
  }
}

} // namespace torsor
