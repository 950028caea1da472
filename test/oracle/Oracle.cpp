// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the front end and the reference for numbers.
#include "test/oracle/Oracle.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

namespace torsor::test {

static const json &file() {
  static const json whole = [] {
    std::ifstream stream(TORSOR_TEST_ORACLE "/oracle.json");
    return json::parse(stream);
  }();
  return whole;
}

const json &oracleCase(const std::string &id) {
  static const json none;
  for (const json &entry : file()["cases"])
    if (entry["id"] == id)
      return entry;
  ADD_FAILURE() << "the file has no case " << id;
  return none;
}

std::vector<std::string> oracleIds() {
  std::vector<std::string> ids;
  for (const json &entry : file()["cases"])
    ids.push_back(entry["id"]);
  return ids;
}

Numbers flat(const json &value) {
  if (value.is_number())
    return {value.get<double>()};
  Numbers result;
  if (value.is_structured())
    for (const json &element : value) {
      Numbers inner = flat(element);
      result.insert(result.end(), inner.begin(), inner.end());
    }
  return result;
}

Numbers expected(const json &entry, const char *key) {
  return flat(entry["expected"][key]);
}

Numbers picked(const Numbers &from, const json &entry) {
  Numbers result;
  for (const json &pair : entry["inputs"]["pairs"])
    result.push_back(from.at(pair.get<size_t>()));
  return result;
}

Numbers frequencies(const std::string &text) {
  SchemeModule module = parseSource("scheme x { action split(rotation(" + text +
                                    ")) mask causal }");
  EXPECT_EQ(module.error, "");
  Numbers result;
  if (!module.module)
    return result;
  module.module->walk([&](TurnOp turn) {
    mlir::DenseElementsAttr values;
    if (!mlir::matchPattern(turn.getFrequencies(), mlir::m_Constant(&values)))
      ADD_FAILURE() << "frequencies that are not folded: " << text;
    else
      for (double frequency : values.getValues<double>())
        result.push_back(frequency);
  });
  return result;
}

double number(const std::string &text) {
  return logitsOf("scheme x { head 1 bias " + text + " mask all }",
                  probe({0}, {0}))
      .at(0);
}

Numbers elements(const std::string &list, int64_t count) {
  std::vector<int64_t> indices(count);
  for (int64_t n = 0; n < count; ++n)
    indices[n] = n;
  return logitsOf("scheme x { head 1 bias (" + list + ")[clamp(j, 0, " +
                      std::to_string(count - 1) + ")] mask all }",
                  probe({0}, indices));
}

Problem probe(std::vector<int64_t> queries, std::vector<int64_t> keys,
              int64_t heads, int64_t width) {
  auto zero = [](auto, auto, auto) { return 0; };
  Problem problem = makeProblem({heads, heads, int64_t(queries.size()),
                                 int64_t(keys.size()), width, width},
                                zero, zero, zero);
  int64_t last = *std::max_element(keys.begin(), keys.end());
  place(problem, 0, 0, last + 1);
  problem.queryIndices = HostArray::of({1, int64_t(queries.size())}, queries);
  problem.keyIndices = HostArray::of({1, int64_t(keys.size())}, keys);
  problem.trace = true;
  return problem;
}

static SecondEvaluator second;
void setSecondEvaluator(SecondEvaluator evaluator) {
  second = std::move(evaluator);
}

Output evaluateScheme(SchemeOp scheme, Problem problem, const std::string &text,
                      const SourceOptions &options) {
  if (!scheme) {
    ADD_FAILURE() << "there is no scheme to evaluate";
    return {};
  }
  auto output = evaluate(scheme, problem);
  if (!output) {
    ADD_FAILURE() << toString(output.takeError());
    return {};
  }
  if (second)
    second(text, options, problem, *output);
  return std::move(*output);
}

Output evaluateSource(const std::string &given, Problem problem) {
  // The value is as wide as the head unless the text says otherwise.
  std::string text = given;
  int64_t value = problem.v.shape[3];
  if (value != problem.q.shape[3] && text.find(" value ") == std::string::npos)
    text.insert(text.find('{') + 1, " value " + std::to_string(value));
  SchemeModule module = parseSource(text);
  EXPECT_EQ(module.error, "") << text;
  if (!module.module)
    return {};
  return evaluateScheme(module.scheme(), std::move(problem), text);
}

static Numbers tracesOf(const std::string &text, const Problem &problem,
                        double PairTrace::*what) {
  Numbers result;
  Problem traced = problem;
  traced.trace = true;
  for (auto &block : evaluateSource(text, traced).pairs)
    for (const PairTrace &pair : block)
      if (pair.visible)
        result.push_back(pair.*what);
  return result;
}

Numbers logitsOf(const std::string &text, const Problem &problem) {
  return tracesOf(text, problem, &PairTrace::logit);
}

Numbers scoresOf(const std::string &text, const Problem &problem) {
  return tracesOf(text, problem, &PairTrace::score);
}

HostArray tensorOf(const json &value) {
  std::vector<int64_t> shape;
  for (const json *at = &value; at->is_array(); at = &at->front())
    shape.push_back(int64_t(at->size()));
  return HostArray::of(shape, flat(value));
}

void setRows(HostArray &tensor, const json &rows) {
  tensor = tensorOf(rows);
  tensor.shape.insert(tensor.shape.begin(), {1, 1});
  tensor.strides.insert(tensor.strides.begin(), {0, 0});
}

} // namespace torsor::test
