// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices of tokens, and the checks of a call.
#include "reference/Tokens.h"

#include "reference/Builder.h"

#include <algorithm>
#include <numeric>

namespace torsor::reference {

static const NamedArray *findArray(const Problem &problem,
                                   const std::string &name) {
  for (const NamedArray &array : problem.arguments)
    if (array.name == name)
      return &array;
  return nullptr;
}

/// The indices of a run: given, or counted from `first`.
static std::vector<int64_t> indices(const HostArray &given, int64_t row,
                                    int64_t start, int64_t count,
                                    int64_t first) {
  std::vector<int64_t> result(count);
  for (int64_t n = 0; n < count; ++n)
    result[n] = given ? given.integer(row * given.strides[0] +
                                      (start + n) * given.strides[1])
                      : first + n;
  return result;
}

Tokens::Tokens(const Program &program, const Problem &problem, size_t number)
    : sequence(problem.sequences[number]), place(int64_t(number)) {
  int64_t firstKey = sequence.placed ? sequence.keyIndex : 0;
  int64_t firstQuery = sequence.placed
                           ? sequence.queryIndex
                           : sequence.keyLength - sequence.queryLength;
  queryIndices = indices(problem.queryIndices, sequence.queryRow,
                         sequence.queryStart, sequence.queryLength, firstQuery);
  keyIndices = indices(problem.keyIndices, sequence.keyRow, sequence.keyStart,
                       sequence.keyLength, firstKey);
  length = sequence.placed ? sequence.total : sequence.keyLength;
  for (int64_t n = 0; n < sequence.keyLength; ++n)
    if (keyIndices[n] >= 0)
      sorted.push_back(int(n));
  std::sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    return std::pair(keyIndices[a], a) < std::pair(keyIndices[b], b);
  });
  for (const Argument &argument : program.arguments)
    arrays.push_back(findArray(problem, argument.name));
}

int64_t Tokens::countUpTo(int64_t index) const {
  auto end =
      std::upper_bound(sorted.begin(), sorted.end(), index,
                       [&](int64_t i, int key) { return i < keyIndices[key]; });
  return end - sorted.begin();
}

namespace {

bool fits(int64_t row, int64_t start, int64_t length, int64_t rows,
          int64_t tokens) {
  return row >= 0 && row < std::max<int64_t>(rows, 1) && start >= 0 &&
         length >= 0 && start + length <= tokens && (length == 0 || rows > 0);
}

llvm::Error checkRank(const HostArray &array, const std::string &name,
                      int64_t rank) {
  if (array && array.rank() != rank)
    return fail("'" + name + "' has " + llvm::Twine(array.rank()) +
                " axes, but the reference needs " + llvm::Twine(rank));
  return llvm::Error::success();
}

llvm::Error checkArgument(const Argument &argument, int64_t axes,
                          const Problem &problem) {
  const NamedArray *given = findArray(problem, argument.name);
  if (!given || (!given->value && !given->query && !given->key))
    return argument.required
               ? fail("the call does not give '" + argument.name + "'")
               : llvm::Error::success();
  if (argument.kind == Argument::Token) {
    if (llvm::Error error = checkRank(given->query, argument.name, axes + 2))
      return error;
    return checkRank(given->key, argument.name, axes + 2);
  }
  return checkRank(given->value, argument.name,
                   axes + (argument.kind == Argument::Sequence));
}

/// Every side that a value reads must be there, for every token of the runs.
llvm::Error checkSide(const Node &node, int number, const Program &program,
                      const Problem &problem) {
  const Argument &argument = program.arguments[number];
  const NamedArray *given = findArray(problem, argument.name);
  if (argument.kind != Argument::Token)
    return given && given->value
               ? llvm::Error::success()
               : fail("the call does not give '" + argument.name + "'");
  if (!given)
    return llvm::Error::success(); // `pos` left out is the index.
  bool query = node.token.kind == TokenRef::Query;
  const HostArray &array = query ? given->query : given->key;
  if (!array)
    return argument.required || given->query || given->key
               ? fail("the call gives '" + argument.name +
                      "' on one side only, but the scheme reads the other")
               : llvm::Error::success();
  for (const SequenceRun &run : problem.sequences)
    if (!fits(query ? run.queryRow : run.keyRow,
              query ? run.queryStart : run.keyStart,
              query ? run.queryLength : run.keyLength, array.shape[0],
              array.shape[1]))
      return fail("'" + argument.name + "' does not cover the tokens");
  return llvm::Error::success();
}

llvm::Error checkTensors(const Program &program, const Problem &problem) {
  bool separate = program.valueLow < 0;
  if (problem.q.rank() != 4 || problem.k.rank() != 4 ||
      (separate && problem.v.rank() != 4))
    return fail("q, k and v need the axes [rows, heads, tokens, width]");
  if (problem.groups < 1 || problem.heads % problem.groups)
    return fail("the number of heads is no multiple of the groups");
  auto extents = [](const HostArray &x, int64_t heads, int64_t width) {
    return x.shape[1] == heads && x.shape[3] == width;
  };
  if (!extents(problem.q, problem.heads, program.head) ||
      !extents(problem.k, problem.groups, program.head) ||
      (separate && !extents(problem.v, problem.groups, program.value)))
    return fail("q, k or v has another number of heads or another width");
  for (const SequenceRun &run : problem.sequences) {
    const auto &q = problem.q.shape, &k = problem.k.shape;
    if (!fits(run.queryRow, run.queryStart, run.queryLength, q[0], q[2]) ||
        !fits(run.keyRow, run.keyStart, run.keyLength, k[0], k[2]))
      return fail("a sequence lies outside q or k");
    if (separate && !fits(run.keyRow, run.keyStart, run.keyLength,
                          problem.v.shape[0], problem.v.shape[2]))
      return fail("a sequence lies outside v");
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error check(const Program &program, const Problem &problem) {
  if (llvm::Error error = checkTensors(program, problem))
    return error;
  return checkArguments(program, problem);
}

llvm::Error checkArguments(const Program &program, const Problem &problem) {
  for (const Node &node : program.nodes) {
    int number = -1;
    int64_t axes = 0;
    if (node.code == Code::Read || node.code == Code::Row)
      number = int(node.number);
    else if (node.code == Code::Time &&
             program.clocks[node.clock].running < 0) {
      number = program.clocks[node.clock].argument;
      axes = program.clocks[node.clock].members ? 1 : 0;
    }
    if (number < 0)
      continue;
    axes = std::max<int64_t>(axes, program.arguments[number].open.size());
    if (llvm::Error error =
            checkArgument(program.arguments[number], axes, problem))
      return error;
    if (llvm::Error error = checkSide(node, number, program, problem))
      return error;
  }
  return llvm::Error::success();
}

} // namespace torsor::reference
