// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of one sequence and one head, from scores to outputs.
#ifndef TORSOR_REFERENCE_HEADRUN_H
#define TORSOR_REFERENCE_HEADRUN_H

#include "reference/Evaluator.h"

namespace torsor::reference {

/// The rows of one sequence and one head.
class HeadRun {
public:
  HeadRun(const Program &program, const Problem &problem, const Tokens &tokens,
          Evaluator &values, int64_t head);

  void run(Output &output, std::vector<PairTrace> *trace);

private:
  void actOnKey(const Action &action, int64_t key);
  void actOnQuery(const Action &action);
  double score(const Action &action, int64_t key, double &addend);
  double scoreOfPair(const Action &action, int64_t key);
  double logit(int64_t key, PairTrace &trace);
  void attend(double *o, double *lse, double *condition,
              std::vector<PairTrace> &row);
  void softmax(const std::vector<double> &z, double *o, double *lse);
  void linear(const std::vector<double> &z, double *o, double *lse,
              double *condition);
  double divide(double total, double size);
  void delta(Output &output);
  void loadValue(int64_t key, double *to) const;
  std::vector<double> gather(const Action &action, const double *from) const;

  const Program &program;
  const Problem &problem;
  const Tokens &tokens;
  Evaluator &values;
  Applier applier;
  int64_t head, group;
  std::vector<double> actedKeys, actedQuery, valueRows, biasRows;
  std::vector<int> seen;
  std::vector<char> visible;
};

} // namespace torsor::reference

#endif
