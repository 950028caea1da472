// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a compiled scheme on the arrays of `torsor run`.
#include "tools/torsor/RunKernel.h"

#include "tools/torsor/Failure.h"

#include <algorithm>
#include <fmt/format.h>

using namespace torsor;

torsor_scheme *torsor::findAttention(torsor_library *library) {
  for (int64_t n = 0; n < torsor_library_schemes(library); ++n) {
    torsor_scheme *scheme = nullptr;
    torsor_scheme_info info = {};
    info.size = sizeof info;
    checkStatus(torsor_library_at(library, n, &scheme), "find");
    checkStatus(torsor_scheme_describe(scheme, &info), "describe");
    if (!(info.ops >> TORSOR_EMBED & 1))
      return scheme;
    torsor_scheme_destroy(scheme);
  }
  failUser("the scheme adds to embeddings and attends to nothing, so there is "
           "no kernel to run on q, k and v; call TORSOR_EMBED from a program "
           "(docs/embedding.md)");
}

KernelRun::KernelRun(torsor_library *library, const RunInputs &inputs,
                     int64_t threads)
    : inputs(inputs), scheme(findAttention(library)) {
  readNames();
  for (const NamedInput &input : inputs.named)
    if (input.param && reads(input.name))
      params.push_back({input.name.c_str(), 0, 0, input.queryTensor});
  checkStatus(torsor_instance_create(scheme, inputs.heads, inputs.groups,
                                     params.data(), params.size(), &instance),
              "cannot bind the params");
  pool.size = sizeof pool;
  checkStatus(torsor_pool_create(threads, &pool), "cannot make threads");
}

KernelRun::~KernelRun() {
  if (pool.loop)
    torsor_pool_destroy(&pool);
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
}

/// What the compiled scheme takes; it leaves out what it does not read.
void KernelRun::readNames() {
  torsor_scheme_info info = {};
  info.size = sizeof info;
  checkStatus(torsor_scheme_describe(scheme, &info), "describe");
  decodeQueries = info.decode_queries;
  for (int64_t n = 0; n < info.arguments; ++n) {
    torsor_argument argument = {};
    argument.size = sizeof argument;
    checkStatus(torsor_scheme_argument(scheme, n, &argument), "describe");
    names.push_back(argument.name);
  }
}

bool KernelRun::reads(const std::string &name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The cache stores this with each key, so the call must not bring it.
bool KernelRun::isStored(const char *name) const {
  torsor_tensor stream = {};
  return cache && torsor_cache_stream(cache, name, &stream) == TORSOR_OK &&
         stream.data;
}

/// `append`: the tokens of the call are the keys.
void KernelRun::fillBatch(bool append) {
  bindings.clear();
  for (const NamedInput &input : inputs.named) {
    if (input.param || !reads(input.name))
      continue;
    const char *name = input.name.c_str();
    if (!input.perToken) {
      bindings.push_back({name, 0, 0, input.queryTensor});
      continue;
    }
    bindings.push_back(
        {name, TORSOR_QUERY, 0, append ? input.keyTensor : input.queryTensor});
    if (!append && !isStored(name))
      bindings.push_back({name, TORSOR_KEY, 0, input.keyTensor});
  }
  sequences = inputs.sequences;
  for (torsor_sequence &sequence : sequences)
    if (append) {
      sequence.query_length = sequence.key_length;
      sequence.query_index = sequence.key_index;
    }
  batch = {};
  batch.size = sizeof batch;
  batch.flags = TORSOR_CHECK_VALUES;
  batch.count = static_cast<int64_t>(sequences.size());
  batch.sequences = sequences.data();
  batch.query_indices = append ? inputs.keyIndices : inputs.queryIndices;
  if (!append && !isStored("index"))
    batch.key_indices = inputs.keyIndices;
  batch.inputs = bindings.data();
  batch.input_count = static_cast<int64_t>(bindings.size());
}

void KernelRun::append() {
  torsor_cache_options options = {};
  options.size = sizeof options;
  options.rows = inputs.batch;
  options.slots = inputs.keys;
  checkStatus(torsor_cache_create(instance, &options, &cache),
              "cannot make a cache");
  fillBatch(/*append=*/true);
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.k = inputs.k.tensor();
  call.v = inputs.v.tensor();
  call.cache = cache;
  checkStatus(torsor_run(instance, TORSOR_APPEND, &call, &pool), "append");
}

void KernelRun::attend(torsor_op op, Array &o, Array *lse) {
  fillBatch(/*append=*/false);
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.q = inputs.q.tensor();
  if (cache) {
    call.cache = cache;
  } else {
    call.k = inputs.k.tensor();
    call.v = inputs.v.tensor();
  }
  call.o = o.tensor();
  if (lse)
    call.lse = lse->tensor();
  checkStatus(torsor_run(instance, op, &call, &pool),
              op == TORSOR_DECODE   ? "decode"
              : op == TORSOR_ATTEND ? "attend"
                                    : "prefill");
}
