// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What values read of a call: times, running sums, elements of tensors.
#include "reference/Evaluator.h"

#include <algorithm>

namespace torsor::reference {

int64_t Evaluator::tokenOf(TokenRef token) const {
  switch (token.kind) {
  case TokenRef::Query:
    return queryToken;
  case TokenRef::Key:
    return keyToken;
  case TokenRef::Path:
    return variables[token.depth];
  }
  return 0;
}

int64_t Evaluator::indexOf(TokenRef token) const {
  return token.kind == TokenRef::Query ? tokens.queryIndex(queryToken)
                                       : tokens.keyIndex(tokenOf(token));
}

void Evaluator::execRunning(int n) {
  const Node &node = program.nodes[n];
  int64_t members = std::max<int64_t>(1, program.clocks[node.clock].members);
  std::vector<double> &table = sums[node.clock];
  table.assign(members, 0.0);
  for (int key : tokens.order()) {
    const Cell &term = runTerm(program.terms[node.term], key);
    for (int64_t m = 0; m < members; ++m)
      table.push_back(table[table.size() - members] +
                      (term.reals.empty() ? term.f : term.reals[m]));
  }
}

void Evaluator::execTime(const Node &node, Cell &out) {
  const Clock &clock = program.clocks[node.clock];
  int64_t members = std::max<int64_t>(1, clock.members);
  int64_t first = node.number < 0 ? 0 : node.number;
  int64_t count = node.length < 0 ? 1 : node.length;
  out.reals.clear();
  out.integers.clear();
  auto put = [&](Number value) {
    if (node.length < 0)
      static_cast<Number &>(out) = value;
    else if (clock.real)
      out.reals.push_back(value.f);
    else
      out.integers.push_back(value.i);
  };
  if (clock.running >= 0) {
    int64_t end = tokens.countUpTo(indexOf(node.token) -
                                   program.nodes[clock.running].flag);
    for (int64_t m = first; m < first + count; ++m)
      put({0, sums[node.clock][end * members + m]});
    return;
  }
  bool query = node.token.kind == TokenRef::Query;
  const NamedArray *given = tokens.find(clock.argument);
  const HostArray *array = !given  ? nullptr
                           : query ? &given->query
                                   : &given->key;
  for (int64_t m = first; m < first + count; ++m) {
    if (!array || !*array) {
      put({indexOf(node.token), double(indexOf(node.token))});
      continue;
    }
    int64_t offset = tokens.offset(*array, query, tokenOf(node.token)) +
                     (clock.members ? m * array->strides[2] : 0);
    put({clock.real ? 0 : array->integer(offset), array->real(offset)});
  }
}

void Evaluator::execRead(const Node &node, Cell &out) {
  const Argument &argument = program.arguments[node.number];
  const NamedArray &given = *tokens.find(int(node.number));
  bool query = node.token.kind == TokenRef::Query;
  bool perToken = argument.kind == Argument::Token;
  const HostArray &array = !perToken ? given.value
                           : query   ? given.query
                                     : given.key;
  int64_t axis = 0, offset = 0;
  if (perToken) {
    offset = tokens.offset(array, query, tokenOf(node.token));
    axis = 2;
  } else if (argument.kind == Argument::Sequence) {
    offset = tokens.number() * array.strides[0];
    axis = 1;
  }
  bool outside = false;
  for (auto [n, in] : llvm::enumerate(node.in)) {
    int64_t extent = array.shape[axis], index = cell(in).i;
    outside |= extent <= 0 || (argument.open[n] && index >= extent);
    index = std::clamp<int64_t>(index, 0, std::max<int64_t>(extent - 1, 0));
    offset += index * array.strides[axis++];
  }
  auto element = [&](int64_t from) -> Number {
    if (outside)
      return {};
    Number number{node.real ? 0 : array.integer(from), array.real(from)};
    if (node.bits == 1)
      number.i = number.i != 0;
    return number;
  };
  if (node.code == Code::Read) {
    static_cast<Number &>(out) = element(offset);
    return;
  }
  out.reals.clear();
  out.integers.clear();
  int64_t length = array.shape[axis];
  for (int64_t n = 0; n < length; ++n) {
    Number number = element(offset + n * array.strides[axis]);
    node.real ? out.reals.push_back(number.f)
              : out.integers.push_back(number.i);
  }
}

Eigen::MatrixXd Evaluator::matrix(int argument, int64_t width) const {
  // Axes in front of the last two say whose matrix it is: the head's or the
  // group's.
  const HostArray &array = tokens.find(argument)->value;
  int64_t offset = 0, rank = array.rank();
  for (int64_t axis = 0; axis + 2 < rank; ++axis)
    offset += (array.shape[axis] == problem.heads ? head : group) *
              array.strides[axis];
  Eigen::MatrixXd result(width, width);
  for (int64_t r = 0; r < width; ++r)
    for (int64_t c = 0; c < width; ++c)
      result(r, c) = array.real(offset + r * array.strides[rank - 2] +
                                c * array.strides[rank - 1]);
  return result;
}

} // namespace torsor::reference
