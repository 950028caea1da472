// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are more than one: a step over a cache, and a merge of parts.
#include "test/e2e/KernelCall.h"
#include "test/support/Calls.h"

#include <algorithm>

namespace torsor::test {

/// The last tokens of the keys, laid as the queries are.
static HostArray newTokens(const Problem &problem, const HostArray &keys) {
  std::vector<int64_t> shape = {problem.q.shape[0], keys.shape[1],
                                problem.q.shape[2], keys.shape[3]};
  int64_t heads = shape[1], tokens = shape[2], width = shape[3];
  std::vector<double> data(shape[0] * heads * tokens * width, 0.0);
  for (const SequenceRun &run : problem.sequences)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t n = 0; n < run.queryLength; ++n)
        for (int64_t c = 0; c < width; ++c) {
          int64_t key = run.keyStart + run.keyLength - run.queryLength + n;
          int64_t to = (run.queryRow * heads + h) * tokens + run.queryStart + n;
          data[to * width + c] =
              keys.real(keys.offset({run.keyRow, h, key, c}));
        }
  return HostArray::of(shape, std::move(data));
}

bool Kernel::Call::step(torsor_call &call) {
  const torsor_scheme_info &info = kernel.description;
  if (!makeCache() || !append(call, true))
    return false;
  call.k = keep(typed(newTokens(problem, problem.k), torsor_dtype(info.k),
                      options.layout));
  if (problem.v)
    call.v = keep(typed(newTokens(problem, problem.v), torsor_dtype(info.v),
                        options.layout));
  call.cache = cache;
  std::vector<torsor_sequence> sequences;
  for (const SequenceRun &run : problem.sequences)
    sequences.push_back(sequence(run));
  return runBatch(TORSOR_STEP, call, sequences, Bring::NewTokens);
}

bool Kernel::Call::attendInParts(torsor_call &call) {
  const torsor_scheme_info &info = kernel.description;
  Random random(options.seed);
  // Where the parts of each sequence begin; some are empty.
  std::vector<std::vector<int64_t>> cuts;
  for (const SequenceRun &run : problem.sequences) {
    std::vector<int64_t> at = {0, run.keyLength};
    for (int64_t n = 1; n < options.parts; ++n)
      at.push_back(random.chance(0.2) ? 0 : random.between(0, run.keyLength));
    std::sort(at.begin(), at.end());
    cuts.push_back(at);
  }
  torsor_call whole = call;
  std::vector<torsor_part> parts;
  for (int64_t part = 0; part < options.parts; ++part) {
    std::vector<torsor_sequence> sequences;
    for (size_t n = 0; n < cuts.size(); ++n) {
      torsor_sequence s = sequence(problem.sequences[n]);
      if (!(s.flags & TORSOR_PLACED)) {
        s.query_index = s.key_length - s.query_length;
        s.total = s.key_length;
      }
      s.flags |= TORSOR_PLACED | TORSOR_PARTIAL;
      s.key_start += cuts[n][part];
      s.key_index += cuts[n][part];
      s.key_length = cuts[n][part + 1] - cuts[n][part];
      sequences.push_back(s);
    }
    const auto &q = problem.q.shape;
    TypedTensor o = output({q[0], q[1], q[2], info.value}, torsor_dtype(info.o),
                           options.layout),
                lse = output({q[0], q[1], q[2]}, TORSOR_F32);
    call.o = keep(o);
    call.lse = keep(lse);
    if (!runBatch(options.op, call, sequences,
                  options.appended ? Bring::QueriesOnly : Bring::Both))
      return false;
    // Parts may also come in f32, whatever the type of o.
    if (random.chance(0.5))
      call.o = keep(
          typed(HostArray::of({q[0], q[1], q[2], info.value}, elementsOf(o)),
                TORSOR_F32));
    parts.push_back({call.o, call.lse});
  }
  std::vector<torsor_sequence> sequences;
  for (const SequenceRun &run : problem.sequences)
    sequences.push_back(sequence(run));
  torsor_call merge = {};
  merge.size = sizeof merge;
  merge.q = whole.q;
  merge.o = whole.o;
  merge.lse = whole.lse;
  merge.parts = parts.data();
  merge.part_count = int64_t(parts.size());
  return runBatch(TORSOR_MERGE, merge, sequences, Bring::QueriesOnly);
}

} // namespace torsor::test
