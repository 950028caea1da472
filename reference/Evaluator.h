// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the values of a program, each as seldom as it changes.
#ifndef TORSOR_REFERENCE_EVALUATOR_H
#define TORSOR_REFERENCE_EVALUATOR_H

#include "reference/Action.h"
#include "reference/Program.h"
#include "reference/Tokens.h"

namespace torsor::reference {

/// The values of one sequence and one head. Call the `start` functions in
/// order, then read cells; values of the key stand in tables.
class Evaluator : public Values {
public:
  Evaluator(const Program &program, const Problem &problem,
            const Tokens &tokens);

  void startHead(int64_t head);
  /// Computes the query's values; `index` is that of the token.
  void startQuery(int64_t query);
  /// Moves to a key: its values are at hand.
  void startKey(int64_t key);
  /// Is the pair in hand seen?
  bool computeMask();
  void computePair();
  void computeScore(double score);
  void computeTotal(double total);
  /// Tells path sums which keys the query sees.
  void setVisible(const std::vector<char> &keys) { visible = &keys; }

  const Cell &cell(int node) const override { return *at[node]; }
  /// The value at a key, of a node that changes with the key alone or less.
  const Cell &cellAtKey(int node, int64_t key) const {
    return tables[node].empty() ? cell(node) : tables[node][key];
  }
  Eigen::MatrixXd matrix(int argument, int64_t width) const override;
  /// The vectors after the norm: D lanes of the query's row, of a key.
  const double *query() const { return normedQuery.data(); }
  const double *key(int64_t key) const {
    return normedKeys.data() + key * program.head;
  }

private:
  void run(const std::vector<int> &nodes);
  void exec(int n);
  void execScalar(const Node &node, Cell &out);
  void execTime(const Node &node, Cell &out);
  void execRead(const Node &node, Cell &out);
  void execVector(const Node &node, Cell &out);
  void execRunning(int n);
  void execPathSum(const Node &node, Cell &out);
  void execLoop(const Node &node, Cell &out);
  void execAmbient(const Node &node, Cell &out);
  const Cell &runTerm(const Term &term, int64_t variable);
  int64_t tokenOf(TokenRef token) const;
  int64_t indexOf(TokenRef token) const;
  void normalise(const double *from, double *to, int weights) const;

  const Program &program;
  const Problem &problem;
  const Tokens &tokens;
  std::vector<Cell> cells;
  std::vector<const Cell *> at;
  /// For each keyed node its values at all keys.
  std::vector<std::vector<Cell>> tables;
  /// For each running clock: sums over the first n existing keys, members
  /// together.
  std::vector<std::vector<double>> sums;
  std::vector<double> normedQuery, normedKeys;
  const std::vector<char> *visible = nullptr;
  int64_t head = 0, group = 0, queryToken = 0, keyToken = 0;
  double score = 0, total = 0;
  int64_t variables[maximalDepth + 1] = {};
};

} // namespace torsor::reference

#endif
