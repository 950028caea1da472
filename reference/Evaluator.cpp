// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each value means.
#include "reference/Evaluator.h"

#include "dialect/TorsorDialect.h"

#include <algorithm>
#include <cmath>

namespace torsor::reference {

Evaluator::Evaluator(const Program &program, const Problem &problem,
                     const Tokens &tokens)
    : program(program), problem(problem), tokens(tokens),
      cells(program.nodes.size()), at(program.nodes.size()),
      tables(program.nodes.size()), sums(program.clocks.size()) {
  for (size_t n = 0; n < cells.size(); ++n) {
    cells[n] = program.nodes[n].constant;
    at[n] = &cells[n];
  }
}

void Evaluator::run(const std::vector<int> &nodes) {
  for (int n : nodes)
    exec(n);
}

void Evaluator::normalise(const double *from, double *to, int weights) const {
  const Norm &norm = *program.norm;
  double squares = 0;
  for (int64_t n = 0; n < program.head; ++n)
    squares += from[n] * from[n];
  double by = std::sqrt((norm.rms ? squares / double(program.head) : squares) +
                        norm.eps);
  for (int64_t n = 0; n < program.head; ++n)
    to[n] = from[n] / by * (weights < 0 ? 1.0 : cell(weights).reals[n]);
}

/// Copies a row of q or k.
static void copyRow(const HostArray &array, int64_t offset, double *to) {
  for (int64_t n = 0; n < array.shape[3]; ++n)
    to[n] = array.real(offset + n * array.strides[3]);
}

void Evaluator::startHead(int64_t h) {
  head = h;
  group = h / (problem.heads / problem.groups);
  for (int n : program.keyed)
    at[n] = &cells[n];
  run(program.headNodes);
  int64_t width = program.head;
  normedQuery.resize(width);
  normedKeys.resize(width * tokens.keys());
  for (int64_t key = 0; problem.k && key < tokens.keys(); ++key) {
    double *row = normedKeys.data() + key * width;
    copyRow(problem.k, tokens.keyOffset(problem.k, group, key), row);
    if (program.norm)
      normalise(row, row, program.norm->k);
  }
  for (int n : program.keyed)
    tables[n].resize(tokens.keys());
  for (int64_t key = 0; key < tokens.keys(); ++key) {
    keyToken = key;
    for (int n : program.keyed) {
      exec(n);
      tables[n][key] = cells[n];
    }
  }
}

void Evaluator::startQuery(int64_t query) {
  queryToken = query;
  copyRow(problem.q, tokens.queryOffset(problem.q, head, query),
          normedQuery.data());
  if (program.norm)
    normalise(normedQuery.data(), normedQuery.data(), program.norm->q);
  run(program.queryNodes);
}

void Evaluator::startKey(int64_t key) {
  keyToken = key;
  for (int n : program.keyed)
    at[n] = &tables[n][key];
}

bool Evaluator::computeMask() {
  run(program.maskNodes);
  return program.mask < 0 || cell(program.mask).i != 0;
}
void Evaluator::computePair() { run(program.pairNodes); }
void Evaluator::computeScore(double value) {
  score = value;
  run(program.scoreNodes);
}
void Evaluator::computeTotal(double value) {
  total = value;
  run(program.totalNodes);
}

const Cell &Evaluator::runTerm(const Term &term, int64_t variable) {
  variables[term.depth] = variable;
  run(term.nodes);
  return cell(term.result);
}

void Evaluator::execVector(const Node &node, Cell &out) {
  const double *from = nullptr;
  std::vector<double> other;
  int64_t token = tokenOf(node.token);
  bool ofQuery = node.token.kind == TokenRef::Query;
  if (!node.flag && ofQuery) {
    from = query();
  } else if (node.flag && !ofQuery) {
    from = key(token);
  } else {
    // The query vector of a key token, or the reverse: not in the language.
    other.assign(program.head, std::nan(""));
    from = other.data();
  }
  out.reals.assign(from, from + program.head);
}

void Evaluator::execAmbient(const Node &node, Cell &out) {
  switch (Ambient(node.number)) {
  case Ambient::Head:
    out.i = head;
    break;
  case Ambient::Heads:
    out.i = problem.heads;
    break;
  case Ambient::Group:
    out.i = group;
    break;
  case Ambient::Groups:
    out.i = problem.groups;
    break;
  case Ambient::Width:
    out.i = program.head;
    break;
  case Ambient::ValueWidth:
    out.i = program.value;
    break;
  case Ambient::Length:
    out.i = tokens.total();
    break;
  case Ambient::Score:
    out.f = score;
    break;
  case Ambient::Total:
    out.f = total;
    break;
  }
  if (node.real && Ambient(node.number) != Ambient::Score &&
      Ambient(node.number) != Ambient::Total)
    out.f = double(out.i);
}

void Evaluator::execPathSum(const Node &node, Cell &out) {
  const Term &term = program.terms[node.term];
  int64_t from = tokens.keyIndex(keyToken), to = tokens.queryIndex(queryToken);
  double sum = 0;
  for (int key : tokens.order()) {
    int64_t index = tokens.keyIndex(key);
    if (index > to)
      break;
    if (index < from || (node.flag && index == from) || !(*visible)[key])
      continue;
    sum += runTerm(term, key).f;
  }
  out.f = sum;
}

void Evaluator::execLoop(const Node &node, Cell &out) {
  const Term &term = program.terms[node.term];
  bool sum = node.code == Code::Sum;
  Cell result;
  int64_t count = sum ? node.number : node.length;
  for (int64_t p = 0; p < count; ++p) {
    const Cell &element = runTerm(term, p);
    if (sum) {
      result.i = int64_t(uint64_t(result.i) + uint64_t(element.i));
      result.f += element.f;
    } else if (node.real) {
      result.reals.push_back(element.f);
    } else {
      result.integers.push_back(element.i);
    }
  }
  out = std::move(result);
}

void Evaluator::execScalar(const Node &node, Cell &out) {
  auto operand = [&](size_t n, int64_t lane) -> Number {
    if (n >= node.in.size())
      return {};
    const Node &from = program.nodes[node.in[n]];
    const Cell &cell = this->cell(node.in[n]);
    if (from.length < 0)
      return cell;
    return from.real ? Number{0, cell.reals[lane]}
                     : Number{cell.integers[lane], 0};
  };
  auto value = [&](int64_t lane) {
    return compute(node.scalar, node.number, node.bits, node.fromBits,
                   operand(0, lane), operand(1, lane), operand(2, lane));
  };
  if (node.length < 0) {
    static_cast<Number &>(out) = value(0);
    return;
  }
  out.reals.clear();
  out.integers.clear();
  for (int64_t lane = 0; lane < node.length; ++lane)
    node.real ? out.reals.push_back(value(lane).f)
              : out.integers.push_back(value(lane).i);
}

void Evaluator::exec(int n) {
  const Node &node = program.nodes[n];
  Cell &out = cells[n];
  switch (node.code) {
  case Code::Constant:
    return;
  case Code::Index:
    out.i = indexOf(node.token);
    return;
  case Code::Variable:
    out.i = variables[node.number];
    return;
  case Code::Time:
    return execTime(node, out);
  case Code::Running:
    return execRunning(n);
  case Code::Ambient:
    return execAmbient(node, out);
  case Code::Read:
  case Code::Row:
    return execRead(node, out);
  case Code::Vector:
    return execVector(node, out);
  case Code::Dot: {
    const auto &a = cell(node.in[0]).reals, &b = cell(node.in[1]).reals;
    out.f = 0;
    for (size_t m = 0; m < std::min(a.size(), b.size()); ++m)
      out.f += a[m] * b[m];
    return;
  }
  case Code::List:
    out.reals.clear();
    out.integers.clear();
    for (int in : node.in)
      node.real ? out.reals.push_back(cell(in).f)
                : out.integers.push_back(cell(in).i);
    return;
  case Code::Element: {
    const Cell &from = cell(node.in[0]);
    int64_t size =
        int64_t(node.real ? from.reals.size() : from.integers.size());
    int64_t index = std::clamp<int64_t>(cell(node.in[1]).i, 0,
                                        std::max<int64_t>(size - 1, 0));
    if (size && node.real)
      out.f = from.reals[index];
    else if (size)
      out.i = from.integers[index];
    return;
  }
  case Code::PathSum:
    return execPathSum(node, out);
  case Code::Sum:
  case Code::Tabulate:
    return execLoop(node, out);
  case Code::Scalar:
    return execScalar(node, out);
  }
}

} // namespace torsor::reference
