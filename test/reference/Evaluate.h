// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates IR in a test, failing the test where that fails.
#ifndef TORSOR_TEST_REFERENCE_EVALUATE_H
#define TORSOR_TEST_REFERENCE_EVALUATE_H

#include "test/support/Calls.h"
#include "test/support/SchemeSource.h"

#include <gtest/gtest.h>

namespace torsor::test {

/// Names that every scheme below may use: i, j, ii, jj, pos, s, t, and causal.
inline const char *const preamble = R"(
  %i = torsor.token query
  %j = torsor.token key
  %ii = torsor.index %i
  %jj = torsor.index %j
  %pos = torsor.clock "pos" : !torsor.clock<i32>
  %s = torsor.time %pos of %i : !torsor.clock<i32> -> i64
  %t = torsor.time %pos of %j : !torsor.clock<i32> -> i64
  %causal = arith.cmpi sle, %jj, %ii : i64
)";

inline Output evaluateIr(const std::string &body, const Problem &problem) {
  SchemeModule module =
      parseIr("torsor.scheme @x {" + std::string(preamble) + body + "}");
  EXPECT_EQ(module.error, "");
  if (!module.scheme())
    return {};
  auto output = evaluate(module.scheme(), problem);
  if (!output) {
    ADD_FAILURE() << toString(output.takeError());
    return {};
  }
  return std::move(*output);
}

/// The text of the failure, "" if there is none.
inline std::string evaluateFails(const std::string &body,
                                 const Problem &problem) {
  SchemeModule module =
      parseIr("torsor.scheme @x {" + std::string(preamble) + body + "}");
  EXPECT_EQ(module.error, "");
  auto output = evaluate(module.scheme(), problem);
  return output ? "" : toString(output.takeError());
}

} // namespace torsor::test

#endif
