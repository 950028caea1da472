// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of the example schemes and of the wrong programs, token by token and
// byte by byte, always the same ones: the front end accepts or refuses each.
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <gtest/gtest.h>
#include <map>

#include "Exercise.h"
#include "Mutator.h"

using namespace torsor;

namespace {

/// The mutant at work, for a crash.
std::string current;

void printCurrent(void *) {
  llvm::errs() << "the front end died on this text:\n" << current << "\n";
}

TEST(Mutation, EveryMutantIsAcceptedOrRefused) {
  llvm::sys::AddSignalHandler(printCurrent, nullptr);
  constexpr uint64_t seed = 20261;
  constexpr int count = 30000;
  Mutator mutator(seed);
  std::map<Outcome, int> outcomes;
  for (int n = 0; n < count && !HasFailure(); ++n) {
    current = mutator.next();
    std::string failure;
    auto start = std::chrono::steady_clock::now();
    ++outcomes[exerciseFrontend(current, failure)];
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    EXPECT_EQ(failure, "") << "seed " << seed << ", mutant " << n << ":\n"
                           << current;
    EXPECT_LT(took.count(), 20.0)
        << "seed " << seed << ", mutant " << n << ":\n"
        << current;
  }
  // Each kind of end is reached often, or the mutants test nothing.
  EXPECT_GT(outcomes[Outcome::SyntaxError], count / 10);
  EXPECT_GT(outcomes[Outcome::CheckError], count / 10);
  EXPECT_GT(outcomes[Outcome::Accepted], count / 50);
}

} // namespace
