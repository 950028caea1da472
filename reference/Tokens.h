// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tokens of one sequence of a call, and where their tensors lie.
#ifndef TORSOR_REFERENCE_TOKENS_H
#define TORSOR_REFERENCE_TOKENS_H

#include "reference/Program.h"
#include "reference/Reference.h"

namespace torsor::reference {

/// One sequence. Tokens are numbered within their run; `order` lists those
/// keys that exist by rising index.
class Tokens {
public:
  Tokens(const Program &program, const Problem &problem, size_t sequence);

  const SequenceRun &run() const { return sequence; }
  int64_t number() const { return place; }
  int64_t queries() const { return sequence.queryLength; }
  int64_t keys() const { return sequence.keyLength; }
  /// The index of a token; below 0: it does not exist.
  int64_t queryIndex(int64_t query) const { return queryIndices[query]; }
  int64_t keyIndex(int64_t key) const { return keyIndices[key]; }
  int64_t total() const { return length; }
  const std::vector<int> &order() const { return sorted; }
  /// The number of keys in `order` whose index is at most `index`.
  int64_t countUpTo(int64_t index) const;

  /// The tensor of an argument; null if the call does not give it.
  const NamedArray *find(int argument) const { return arrays[argument]; }
  /// Offset of a token's first element in a tensor per token.
  int64_t offset(const HostArray &array, bool query, int64_t token) const {
    return query ? sequence.queryRow * array.strides[0] +
                       (sequence.queryStart + token) * array.strides[1]
                 : sequence.keyRow * array.strides[0] +
                       (sequence.keyStart + token) * array.strides[1];
  }
  /// Offset of row (head, token) of q [rows, H, tokens, D].
  int64_t queryOffset(const HostArray &q, int64_t head, int64_t token) const {
    return sequence.queryRow * q.strides[0] + head * q.strides[1] +
           (sequence.queryStart + token) * q.strides[2];
  }
  int64_t keyOffset(const HostArray &k, int64_t group, int64_t token) const {
    return sequence.keyRow * k.strides[0] + group * k.strides[1] +
           (sequence.keyStart + token) * k.strides[2];
  }

private:
  SequenceRun sequence;
  int64_t place, length = 0;
  std::vector<int64_t> queryIndices, keyIndices;
  std::vector<int> sorted;
  std::vector<const NamedArray *> arrays;
};

/// Checks that the call fits the program: shapes, runs, names.
llvm::Error check(const Program &program, const Problem &problem);
/// The second half of it: clocks, inputs and params.
llvm::Error checkArguments(const Program &program, const Problem &problem);

} // namespace torsor::reference

#endif
