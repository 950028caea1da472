// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor bench --check`: the timed kernel's error against the reference.
#include "dialect/TorsorDialect.h"
#include "reference/Reference.h"
#include "tools/torsor/BenchData.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/RunReference.h"

#include <algorithm>
#include <cmath>

using namespace torsor;

/// Tokens at which rows are compared: the ends, and what lies between at odd
/// distances.
static std::vector<int64_t> chooseTokens(int64_t queries) {
  std::vector<int64_t> tokens = {0, std::min<int64_t>(1, queries - 1),
                                 queries / 3, queries * 5 / 7, queries - 1};
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

double BenchCall::measureError(SchemeOp scheme) {
  run();
  Problem problem;
  problem.heads = shape.heads;
  problem.groups = shape.groups;
  problem.q = toHost(q.tensor());
  problem.k = toHost(k.tensor());
  if (v.data())
    problem.v = toHost(v.tensor());
  for (const torsor_binding *list : {params.data(), everyInput.data()}) {
    size_t count = list == params.data() ? params.size() : everyInput.size();
    for (size_t n = 0; n < count; ++n) {
      const torsor_binding &binding = list[n];
      auto same = [&](const NamedArray &array) {
        return array.name == binding.name;
      };
      auto at = std::find_if(problem.arguments.begin(), problem.arguments.end(),
                             same);
      if (at == problem.arguments.end()) {
        problem.arguments.emplace_back();
        at = std::prev(problem.arguments.end());
        at->name = binding.name;
      }
      HostArray &side = binding.side == TORSOR_QUERY ? at->query
                        : binding.side == TORSOR_KEY ? at->key
                                                     : at->value;
      side = toHost(binding.tensor);
    }
  }
  int64_t first = shape.keys - shape.queries;
  for (int64_t row = 0; row < shape.batch; ++row)
    for (int64_t token : chooseTokens(shape.queries)) {
      SequenceRun one;
      one.queryRow = one.keyRow = row;
      one.queryStart = token;
      one.queryLength = 1;
      one.keyLength = one.total = shape.keys;
      one.placed = true;
      one.queryIndex = first + token;
      problem.sequences.push_back(one);
    }
  llvm::Expected<Output> output = evaluate(scheme, problem);
  if (!output)
    failUser("the reference: " + llvm::toString(output.takeError()));
  double largest = 0;
  for (const SequenceRun &one : problem.sequences)
    for (int64_t h = 0; h < shape.heads; ++h) {
      int64_t at =
          ((one.queryRow * shape.heads + h) * shape.queries + one.queryStart) *
          shape.value;
      for (int64_t n = at; n < at + shape.value; ++n) {
        double error = std::fabs(o.at(n) - output->o[n]);
        largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
      }
    }
  return largest;
}
