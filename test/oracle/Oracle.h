// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The numbers of oracle.json, and how a case asks the product for them.
#ifndef TORSOR_TEST_ORACLE_ORACLE_H
#define TORSOR_TEST_ORACLE_ORACLE_H

#include "test/support/Calls.h"
#include "test/support/SchemeSource.h"

#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace torsor::test {

using nlohmann::json;
using Numbers = std::vector<double>;

/// The file, by id.
const json &oracleCase(const std::string &id);
std::vector<std::string> oracleIds();

/// A case: what the product gives, to stand beside what was expected. Both
/// flat. A tolerance of 0 is that of the file.
struct Comparison {
  Numbers got, want;
  double absolute = 0;
};
struct OracleEntry {
  std::string id;
  Comparison (*run)(const json &entry);
};

/// Cases of one file each.
std::vector<OracleEntry> spectrumCases();
std::vector<OracleEntry> biasCases();
std::vector<OracleEntry> maskCases();
std::vector<OracleEntry> actionCases();
std::vector<OracleEntry> attentionCases();
std::vector<OracleEntry> readoutCases();
/// All of them.
std::vector<OracleEntry> allCases();
/// The id as the name of a test.
std::string testName(const testing::TestParamInfo<OracleEntry> &info);

// What cases ask. Errors of the source or of the evaluation fail the test.

/// All numbers in a value, in order; of an object, its values.
Numbers flat(const json &value);
Numbers expected(const json &entry, const char *key);
/// The elements that the case's list "pairs" names.
Numbers picked(const Numbers &from, const json &entry);

/// The frequencies of `action split(rotation(TEXT))`.
Numbers frequencies(const std::string &text);
/// An expression of constants.
double number(const std::string &text);
/// Elements 0 … count - 1 of a list of constants.
Numbers elements(const std::string &list, int64_t count);

/// A call with zero q, k and v: `heads` heads, tokens at the given indices.
Problem probe(std::vector<int64_t> queries, std::vector<int64_t> keys,
              int64_t heads = 1, int64_t width = 1);
/// Evaluates a text with one scheme.
Output evaluateSource(const std::string &text, Problem problem);
/// Evaluates a scheme of the source `text`, read with these options.
Output evaluateScheme(SchemeOp scheme, Problem problem, const std::string &text,
                      const SourceOptions &options = {});

/// Evaluates once more what the reference has evaluated, and puts what came
/// out in place of the reference's numbers.
using SecondEvaluator =
    std::function<void(const std::string &text, const SourceOptions &options,
                       const Problem &problem, Output &output)>;
void setSecondEvaluator(SecondEvaluator evaluator);
/// The logits [head][query][key]; hidden pairs are left out.
Numbers logitsOf(const std::string &text, const Problem &problem);
Numbers scoresOf(const std::string &text, const Problem &problem);
/// A tensor from a JSON list of any depth.
HostArray tensorOf(const json &value);
/// Replaces q, k or v of a probe (one head, one group) by rows of a list.
void setRows(HostArray &tensor, const json &rows);

} // namespace torsor::test

#endif
