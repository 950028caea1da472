// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates a call sequence by sequence, head by head.
#include "reference/Reference.h"

#include "reference/Builder.h"
#include "reference/HeadRun.h"

#include <cmath>

using llvm::Error;
using llvm::Expected;

namespace torsor {

using namespace reference;

Expected<Output> evaluate(SchemeOp scheme, const Problem &problem) {
  Expected<Program> program = build(scheme, problem);
  if (!program)
    return program.takeError();
  if (Error error = check(*program, problem))
    return std::move(error);
  Output output;
  output.shape = {problem.q.shape[0], problem.heads, problem.q.shape[2],
                  program->value};
  int64_t rows = output.shape[0] * output.shape[1] * output.shape[2];
  output.o.assign(rows * program->value, std::nan(""));
  if (program->readout != Program::Delta)
    output.lse.assign(rows, std::nan(""));
  if (program->readout == Program::Linear && program->divisor >= 0)
    output.condition.assign(rows, 0);
  for (size_t n = 0; n < problem.sequences.size(); ++n) {
    Tokens tokens(*program, problem, n);
    Evaluator values(*program, problem, tokens);
    if (problem.trace)
      output.pairs.emplace_back();
    for (int64_t head = 0; head < problem.heads; ++head)
      HeadRun(*program, problem, tokens, values, head)
          .run(output, problem.trace ? &output.pairs.back() : nullptr);
  }
  return output;
}

Expected<std::vector<std::vector<double>>>
evaluateEmbedding(SchemeOp scheme, const Problem &problem) {
  Expected<Program> program = build(scheme, problem);
  if (!program)
    return program.takeError();
  if (program->embed < 0)
    return fail("the scheme has no clause 'embed'");
  if (Error error = checkArguments(*program, problem))
    return std::move(error);
  std::vector<std::vector<double>> result;
  for (size_t n = 0; n < problem.sequences.size(); ++n) {
    Tokens tokens(*program, problem, n);
    Evaluator values(*program, problem, tokens);
    values.startHead(0);
    result.emplace_back();
    for (int64_t key = 0; key < tokens.keys(); ++key) {
      values.startKey(key);
      const std::vector<double> &row = values.cell(program->embed).reals;
      result.back().insert(result.back().end(), row.begin(), row.end());
    }
  }
  return result;
}

} // namespace torsor
