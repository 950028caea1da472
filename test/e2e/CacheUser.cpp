// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host with a cache of its own.
#include "test/e2e/CacheUser.h"

#include <gtest/gtest.h>

namespace torsor::test {

CacheUser::CacheUser(const Kernel &kernel, const CacheShape &shape)
    : kernel(kernel) {
  EXPECT_EQ(torsor_instance_create(kernel.handle(), shape.heads, shape.groups,
                                   nullptr, 0, &instance),
            TORSOR_OK)
      << torsor_error();
  std::vector<torsor_binding> streams;
  for (const std::string &name : shape.streams)
    streams.push_back({name.c_str(), 0, 0, {}});
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.layout = shape.form.layout;
  options.rows = shape.rows;
  options.slots = shape.form.slots;
  options.pinned = shape.form.pinned;
  options.streams = streams.data();
  options.stream_count = int64_t(streams.size());
  EXPECT_EQ(torsor_cache_create(instance, &options, &cache), TORSOR_OK)
      << torsor_error();
}

CacheUser::~CacheUser() {
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
}

torsor_status CacheUser::run(torsor_op op, torsor_call &call,
                             const std::vector<torsor_sequence> &sequences,
                             const std::vector<NamedArray> &tokens,
                             const std::vector<int64_t> &slots) {
  std::vector<TypedTensor> kept;
  std::vector<torsor_binding> bound;
  for (int64_t a = 0; a < kernel.info().arguments; ++a) {
    torsor_argument argument = {};
    argument.size = sizeof argument;
    torsor_scheme_argument(kernel.handle(), a, &argument);
    for (const NamedArray &array : tokens)
      for (bool key : {false, true})
        if (const HostArray &from = key ? array.key : array.query;
            array.name == argument.name && from) {
          kept.push_back(typed(from, torsor_dtype(argument.dtype)));
          bound.push_back({argument.name,
                           uint32_t(key ? TORSOR_KEY : TORSOR_QUERY), 0,
                           kept.back().tensor});
        }
  }
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = int64_t(sequences.size());
  batch.sequences = sequences.data();
  batch.inputs = bound.data();
  batch.input_count = int64_t(bound.size());
  batch.pages = pages.empty() ? nullptr : pages.data();
  batch.page_count = int64_t(pages.size());
  batch.slots = slots.empty() ? nullptr : slots.data();
  call.size = sizeof call;
  call.batch = &batch;
  call.cache = cache;
  return torsor_run(instance, op, &call, nullptr);
}

torsor_status CacheUser::append(const HostArray &k, const HostArray &v,
                                const std::vector<torsor_sequence> &sequences,
                                const std::vector<NamedArray> &tokens,
                                const std::vector<int64_t> &slots) {
  TypedTensor keys = typed(k, torsor_dtype(kernel.info().k)),
              values = typed(v, torsor_dtype(kernel.info().v));
  torsor_call call = {};
  call.k = keys.tensor;
  call.v = values.tensor;
  return run(TORSOR_APPEND, call, sequences, tokens, slots);
}

torsor_status CacheUser::rebase(const std::vector<torsor_sequence> &sequences) {
  torsor_call call = {};
  return run(TORSOR_REBASE, call, sequences, {}, {});
}

RunResult CacheUser::attend(const HostArray &q,
                            const std::vector<torsor_sequence> &sequences,
                            const std::vector<NamedArray> &tokens) {
  TypedTensor queries = typed(q, torsor_dtype(kernel.info().q));
  TypedTensor o =
      output({q.shape[0], q.shape[1], q.shape[2], kernel.info().value},
             torsor_dtype(kernel.info().o));
  TypedTensor lse = output({q.shape[0], q.shape[1], q.shape[2]}, TORSOR_F32);
  torsor_call call = {};
  call.q = queries.tensor;
  call.o = o.tensor;
  call.lse = lse.tensor;
  RunResult result;
  result.status = run(TORSOR_ATTEND, call, sequences, tokens, {});
  if (result.status != TORSOR_OK)
    result.error = torsor_error();
  result.o = elementsOf(o);
  result.lse = elementsOf(lse);
  return result;
}

std::vector<double> CacheUser::stored(const char *stream) const {
  TypedTensor held;
  EXPECT_EQ(torsor_cache_stream(cache, stream, &held.tensor), TORSOR_OK)
      << torsor_error();
  return elementsOf(held);
}

torsor_sequence lastTokens(int64_t row, int64_t keys, int64_t tokens) {
  torsor_sequence s = {};
  s.query_row = s.key_row = row;
  s.query_length = tokens;
  s.key_length = keys;
  s.flags = TORSOR_PLACED;
  s.query_index = keys - tokens;
  s.total = keys;
  return s;
}

torsor_sequence movedKeys(int64_t row, int64_t start, int64_t length,
                          int64_t shift) {
  torsor_sequence s = {};
  s.key_row = row;
  s.key_start = start;
  s.key_length = length;
  s.shift = shift;
  return s;
}

} // namespace torsor::test
