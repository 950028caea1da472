// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Appends keys through the C interface and reads the cache.
#include "test/e2e/AppendedKeys.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace torsor::test {

Appender::Appender(const Kernel &kernel, const std::vector<NamedArray> &params)
    : kernel(kernel) {
  std::vector<torsor_binding> bound;
  for (const NamedArray &param : params) {
    kept.push_back(typed(param.value, TORSOR_F32));
    bound.push_back({param.name.c_str(), 0, 0, kept.back().tensor});
  }
  EXPECT_EQ(torsor_instance_create(kernel.handle(), 1, 1, bound.data(),
                                   int64_t(bound.size()), &instance),
            TORSOR_OK)
      << torsor_error();
}

Appender::~Appender() { torsor_instance_destroy(instance); }

std::vector<double> Appender::keys(const HostArray &k,
                                   const std::vector<int64_t> &positions,
                                   int64_t piece) const {
  int64_t tokens = int64_t(positions.size());
  torsor_dtype dtype = torsor_dtype(kernel.info().k);
  TypedTensor fresh = typed(k, dtype), keys = output(k.shape, dtype),
              values = output(k.shape, dtype),
              pos = typed(HostArray::of({1, tokens}, positions), TORSOR_I32);
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.k = keys.tensor;
  options.v = values.tensor;
  torsor_cache *cache = nullptr;
  EXPECT_EQ(torsor_cache_create(instance, &options, &cache), TORSOR_OK)
      << torsor_error();
  torsor_binding clock = {"pos", TORSOR_QUERY, 0, pos.tensor};
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = 1;
  batch.inputs = &clock;
  batch.input_count = 1;
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.k = call.v = fresh.tensor;
  call.cache = cache;
  int64_t step = piece ? piece : std::max<int64_t>(tokens, 1);
  for (int64_t first = 0; first < tokens; first += step) {
    torsor_sequence s = {};
    s.query_start = first;
    s.query_length = std::min(step, tokens - first);
    s.key_length = first + s.query_length;
    batch.sequences = &s;
    EXPECT_EQ(torsor_run(instance, TORSOR_APPEND, &call, nullptr), TORSOR_OK)
        << torsor_error();
  }
  torsor_cache_destroy(cache);
  return elementsOf(keys);
}

HostArray unitKeys(int64_t tokens, int64_t width) {
  std::vector<double> data(tokens * width, 0.0);
  for (int64_t n = 0; n < tokens; ++n)
    std::fill_n(data.begin() + n * width, width / 2, 1.0);
  return HostArray::of({1, 1, tokens, width}, std::move(data));
}

} // namespace torsor::test
