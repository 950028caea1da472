// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes up the data of a benchmark: normal q, k, v; params and inputs inside
// their declared ranges.
#include "tools/torsor/BenchData.h"

#include "tools/torsor/Failure.h"
#include "tools/torsor/RunKernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace torsor;

static Array makeNormal(torsor_dtype dtype, std::vector<int64_t> shape,
                        unsigned seed) {
  Array array(dtype, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t n = 0, e = array.count(); n < e; ++n)
    array.set(n, normal(random));
  return array;
}

/// Integers are 0 or number segments, reals spread over a tenth, both moved
/// into the range: reals from its ends a little further, since f32 rounds them.
torsor_tensor BenchCall::makeArgument(const torsor_argument &argument,
                                      int64_t tokens) {
  std::vector<int64_t> extents;
  if (argument.stage == TORSOR_PER_TOKEN)
    extents = {shape.batch, tokens};
  else if (argument.stage == TORSOR_PER_SEQUENCE)
    extents = {shape.batch};
  for (int32_t axis = 0; axis < argument.rank; ++axis) {
    int64_t extent = argument.shape[axis];
    extents.push_back(extent == TORSOR_EXTENT_H     ? shape.heads
                      : extent == TORSOR_EXTENT_G   ? shape.groups
                      : extent == TORSOR_EXTENT_ANY ? 64
                                                    : extent);
  }
  arrays.emplace_back(static_cast<torsor_dtype>(argument.dtype),
                      std::move(extents));
  Array &array = arrays.back();
  bool clock = argument.flags & TORSOR_ARG_CLOCK;
  // No two arguments are the same: two vectors may span a plane.
  auto own = static_cast<double>(arrays.size());
  bool real = argument.dtype == TORSOR_F32 || argument.dtype == TORSOR_F64 ||
              argument.dtype == TORSOR_F16 || argument.dtype == TORSOR_BF16;
  for (int64_t n = 0, e = array.count(); n < e; ++n) {
    // Clocks run with the tokens; a batch row's queries are its last.
    int64_t token = tokens ? n % tokens + shape.keys - tokens : 0;
    double value = clock  ? static_cast<double>(token)
                   : real ? 0.1 * std::sin(static_cast<double>(n) + own)
                   : shape.segment ? static_cast<double>(token / shape.segment)
                                   : 0;
    if (real && !clock && value <= argument.low)
      value = argument.low + 0.1 + std::fabs(value);
    array.set(n, std::clamp(value, argument.low, argument.high));
  }
  return array.tensor();
}

bool BenchCall::isStream(std::string_view name) const {
  torsor_scheme_info info = {};
  info.size = sizeof info;
  checkStatus(torsor_scheme_describe(scheme, &info), "describe");
  for (int64_t n = 0; n < info.streams; ++n) {
    torsor_argument stream = {};
    stream.size = sizeof stream;
    checkStatus(torsor_scheme_stream(scheme, n, &stream), "describe");
    if (name == stream.name)
      return true;
  }
  return false;
}

void BenchCall::makeArguments() {
  torsor_scheme_info info = {};
  info.size = sizeof info;
  checkStatus(torsor_scheme_describe(scheme, &info), "describe");
  variant = info.variant;
  if (!isStream("v")) // values are lanes of the keys
    v = Array();
  for (int64_t n = 0; n < info.arguments; ++n) {
    torsor_argument argument = {};
    argument.size = sizeof argument;
    checkStatus(torsor_scheme_argument(scheme, n, &argument), "describe");
    if (argument.flags & TORSOR_ARG_OPTIONAL)
      continue;
    names.push_back(argument.name);
    const char *name = names.back().c_str();
    if (argument.stage == TORSOR_LOADED) {
      params.push_back({name, 0, 0, makeArgument(argument, 0)});
    } else if (argument.stage == TORSOR_PER_TOKEN) {
      torsor_tensor keys = makeArgument(argument, shape.keys);
      inputs.push_back(
          {name, TORSOR_QUERY, 0, makeArgument(argument, shape.queries)});
      inputs.push_back({name, TORSOR_KEY, 0, keys});
      keyInputs.push_back({name, TORSOR_QUERY, 0, keys});
    } else {
      inputs.push_back({name, 0, 0, makeArgument(argument, 0)});
      keyInputs.push_back(inputs.back());
    }
  }
}

/// Page tables that name the pages of all sequences in a random order.
void BenchCall::makePages() {
  int64_t each = (shape.keys + shape.page - 1) / shape.page;
  pages.resize(each * shape.batch);
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(4));
  for (size_t n = 0; n < sequences.size(); ++n)
    sequences[n].key_row = each * static_cast<int64_t>(n);
  batch.pages = pages.data();
  batch.page_count = static_cast<int64_t>(pages.size());
}

/// Decode reads a cache: append all keys to one of the library's own.
void BenchCall::fillCache() {
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.rows = shape.batch;
  options.slots = shape.keys;
  if (shape.page) {
    options.layout = TORSOR_PAGED;
    options.rows = static_cast<int64_t>(pages.size());
    options.slots = shape.page;
  }
  checkStatus(torsor_cache_create(instance, &options, &cache), "cache");
  std::vector<torsor_sequence> all = sequences;
  for (torsor_sequence &sequence : all)
    sequence.query_length = shape.keys;
  torsor_batch tokens = batch;
  tokens.sequences = all.data();
  tokens.inputs = keyInputs.data();
  tokens.input_count = static_cast<int64_t>(keyInputs.size());
  torsor_call append = {};
  append.size = sizeof append;
  append.batch = &tokens;
  append.k = k.tensor();
  append.v = v.tensor();
  append.cache = cache;
  checkStatus(torsor_run(instance, TORSOR_APPEND, &append, &pool), "append");
  // What the cache stores with each key must not be given again, and what has
  // no stream is not read of cached keys.
  std::erase_if(inputs, [&](const torsor_binding &input) {
    torsor_tensor stream = {};
    bool isStored =
        torsor_cache_stream(cache, input.name, &stream) == TORSOR_OK;
    return input.side == TORSOR_KEY && (isStored || !isStream(input.name));
  });
  batch.inputs = inputs.data();
  batch.input_count = static_cast<int64_t>(inputs.size());
}

BenchCall::BenchCall(torsor_library *library, const BenchShape &given)
    : shape(given),
      q(makeNormal(shape.dtype,
                   {shape.batch, shape.heads, shape.queries, shape.head}, 1)),
      k(makeNormal(shape.dtype,
                   {shape.batch, shape.groups, shape.keys, shape.head}, 2)),
      v(makeNormal(shape.dtype,
                   {shape.batch, shape.groups, shape.keys, shape.value}, 3)),
      o(shape.dtype, {shape.batch, shape.heads, shape.queries, shape.value}) {
  scheme = findAttention(library);
  makeArguments();
  checkStatus(
      torsor_instance_create(scheme, shape.heads, shape.groups, params.data(),
                             static_cast<int64_t>(params.size()), &instance),
      "bind");
  pool.size = sizeof pool;
  checkStatus(torsor_pool_create(shape.threads, &pool), "threads");
  for (int64_t b = 0; b < shape.batch; ++b) {
    torsor_sequence sequence = {};
    sequence.query_row = sequence.key_row = b;
    sequence.query_length = shape.queries;
    sequence.key_length = shape.keys;
    sequences.push_back(sequence);
  }
  everyInput = inputs;
  batch.size = sizeof batch;
  batch.count = shape.batch;
  batch.sequences = sequences.data();
  batch.inputs = inputs.data();
  batch.input_count = static_cast<int64_t>(inputs.size());
  if (shape.page)
    makePages();
  if (shape.decode)
    fillCache();
  call.size = sizeof call;
  call.batch = &batch;
  call.q = q.tensor();
  call.o = o.tensor();
  if (cache) {
    call.cache = cache;
  } else {
    call.k = k.tensor();
    call.v = v.tensor();
  }
}

BenchCall::~BenchCall() {
  if (pool.loop)
    torsor_pool_destroy(&pool);
  torsor_plan_destroy(plan);
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
}

void BenchCall::run() {
  checkStatus(torsor_run(instance,
                         shape.decode ? TORSOR_DECODE : TORSOR_PREFILL, &call,
                         &pool),
              "run");
}

std::vector<std::function<void()>> BenchCall::cut(double seconds,
                                                  double pieceSeconds) {
  torsor_plan_info info = {};
  info.size = sizeof info;
  checkStatus(torsor_plan_create(&plan), "plan");
  checkStatus(torsor_plan_set(plan, instance, TORSOR_PREFILL, &call, 1, &info),
              "plan");
  std::vector<std::function<void()>> pieces;
  for (uint32_t phase = 0; phase < info.phases; ++phase) {
    int64_t items = info.items[phase];
    auto count = static_cast<int64_t>(seconds / pieceSeconds);
    count = std::min(std::max<int64_t>(count, 1), items);
    for (int64_t n = 0; n < count; ++n)
      pieces.emplace_back([this, phase, begin = items * n / count,
                           end = items * (n + 1) / count] {
        checkStatus(torsor_plan_run(plan, phase, begin, end, 0), "run");
      });
  }
  return pieces;
}
