// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a problem of the reference to a call of the C interface.
#include "test/e2e/Kernel.h"

#include <algorithm>
#include <cmath>

namespace torsor::test {

/// One compiler without a cache on disk, for the whole program.
static torsor_compiler *compiler(std::string &error) {
  static torsor_compiler *made = [] {
    torsor_compiler_options options = {};
    options.size = sizeof options;
    options.flags = TORSOR_CACHE_OFF;
    torsor_compiler *handle = nullptr;
    torsor_compiler_create(&options, &handle);
    return handle;
  }();
  if (!made)
    error = "the compiler cannot be created";
  return made;
}

static torsor_library *compileLibrary(const std::string &source,
                                      const KernelOptions &options,
                                      std::string &error) {
  torsor_compiler *with = compiler(error);
  if (!with)
    return nullptr;
  std::vector<torsor_setting> settings;
  for (const auto &[name, value] : options.settings)
    settings.push_back({name.c_str(), value.c_str()});
  torsor_compile_options compile = {};
  compile.size = sizeof compile;
  compile.scheme = options.scheme.empty() ? nullptr : options.scheme.c_str();
  compile.settings = settings.data();
  compile.setting_count = int64_t(settings.size());
  compile.head = options.head;
  compile.value = options.value;
  compile.dtype = options.dtype;
  compile.target = options.target.empty() ? nullptr : options.target.c_str();
  torsor_diagnostics *diagnostics = nullptr;
  torsor_library *library = nullptr;
  torsor_status status =
      torsor_compile(with, source.data(), int64_t(source.size()), "test.torsor",
                     &compile, &diagnostics, &library);
  if (status != TORSOR_OK)
    error = std::string(torsor_status_name(status)) + ": " + torsor_error() +
            "\n" + torsor_diagnostics_text(diagnostics);
  torsor_diagnostics_destroy(diagnostics);
  return library;
}

bool Kernel::describe(std::string &error) {
  description.size = sizeof description;
  if (torsor_scheme_describe(scheme, &description) != TORSOR_OK) {
    error = torsor_error();
    return false;
  }
  for (int64_t n = 0; n < description.arguments; ++n) {
    torsor_argument argument = {};
    argument.size = sizeof argument;
    torsor_scheme_argument(scheme, n, &argument);
    arguments.push_back(argument);
  }
  return true;
}

std::unique_ptr<Kernel> Kernel::compile(const std::string &source,
                                        const KernelOptions &options,
                                        std::string &error) {
  std::unique_ptr<Kernel> kernel(new Kernel);
  kernel->library = compileLibrary(source, options, error);
  if (!kernel->library)
    return nullptr;
  if (torsor_library_find(kernel->library, nullptr, TORSOR_ANY,
                          &kernel->scheme) != TORSOR_OK) {
    error = torsor_error();
    return nullptr;
  }
  return kernel->describe(error) ? std::move(kernel) : nullptr;
}

std::unique_ptr<Kernel> Kernel::compileLayer(const std::string &source,
                                             const KernelOptions &options,
                                             int64_t layer, int64_t attention,
                                             std::string &error) {
  std::unique_ptr<Kernel> kernel(new Kernel);
  kernel->library = compileLibrary(source, options, error);
  int64_t index = 0;
  if (!kernel->library)
    return nullptr;
  if (torsor_library_layer(kernel->library, layer, attention, &index) !=
          TORSOR_OK ||
      torsor_library_at(kernel->library, index, &kernel->scheme) != TORSOR_OK) {
    error = torsor_error();
    return nullptr;
  }
  return kernel->describe(error) ? std::move(kernel) : nullptr;
}

Kernel::~Kernel() {
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
}

static const NamedArray *find(const Problem &problem, const char *name) {
  for (const NamedArray &array : problem.arguments)
    if (array.name == name)
      return &array;
  return nullptr;
}

Problem Kernel::rounded(const Problem &problem) const {
  Problem result = problem;
  auto round = [](HostArray &array, int32_t dtype) {
    if (array)
      array = torsor::test::rounded(array, torsor_dtype(dtype));
  };
  round(result.q, description.q);
  round(result.k, description.k);
  round(result.v, description.v);
  for (const torsor_argument &argument : arguments)
    for (NamedArray &array : result.arguments)
      if (array.name == argument.name) {
        round(array.value, argument.dtype);
        round(array.query, argument.dtype);
        round(array.key, argument.dtype);
      }
  return result;
}

/// Everything that one call holds on to.
struct Kernel::Call {
  const Kernel &kernel;
  const Problem &problem;
  const RunOptions &options;
  std::vector<TypedTensor> kept;
  torsor_instance *instance = nullptr;
  torsor_cache *cache = nullptr;
  RunResult result;

  ~Call() {
    torsor_cache_destroy(cache);
    torsor_instance_destroy(instance);
  }

  bool failed(torsor_status status) {
    if (status == TORSOR_OK)
      return false;
    result.status = status;
    result.error =
        std::string(torsor_status_name(status)) + ": " + torsor_error();
    return true;
  }
  torsor_tensor keep(TypedTensor tensor) {
    kept.push_back(tensor);
    return tensor.tensor;
  }
  torsor_tensor keep(const HostArray &array, int32_t dtype) {
    return keep(typed(array, torsor_dtype(dtype)));
  }

  torsor_sequence sequence(const SequenceRun &run) const {
    torsor_sequence s = {};
    s.query_row = run.queryRow;
    s.query_start = run.queryStart;
    s.query_length = run.queryLength;
    s.key_row = run.keyRow;
    s.key_start = run.keyStart;
    s.key_length = run.keyLength;
    if (run.placed) {
      s.flags |= TORSOR_PLACED;
      s.query_index = run.queryIndex;
      s.key_index = run.keyIndex;
      s.total = run.total;
    }
    if (run.partial)
      s.flags |= TORSOR_PARTIAL;
    return s;
  }

  bool bindParams() {
    std::vector<torsor_binding> params;
    for (const torsor_argument &argument : kernel.arguments)
      if (argument.stage == TORSOR_LOADED)
        if (const NamedArray *array = find(problem, argument.name))
          params.push_back(
              {argument.name, 0, 0, keep(array->value, argument.dtype)});
    return !failed(torsor_instance_create(kernel.scheme, problem.heads,
                                          problem.groups, params.data(),
                                          int64_t(params.size()), &instance));
  }

  /// Clocks and inputs: of an append, the keys' as those of the tokens it
  /// brings; of attention over a cache, the queries' alone.
  std::vector<torsor_binding> inputs(bool append, int64_t sequence = 0) {
    std::vector<torsor_binding> bound;
    for (const torsor_argument &argument : kernel.arguments) {
      const NamedArray *array = find(problem, argument.name);
      if (argument.stage == TORSOR_LOADED || !array)
        continue;
      if (argument.stage != TORSOR_PER_TOKEN) {
        HostArray value = array->value;
        if (append && argument.stage == TORSOR_PER_SEQUENCE) {
          // An append is a batch of one sequence.
          int64_t skipped = sequence * value.strides[0];
          value.shape[0] = 1;
          if (value.reals)
            value.reals += skipped;
          if (value.integers)
            value.integers += skipped;
        }
        bound.push_back({argument.name, 0, 0, keep(value, argument.dtype)});
        continue;
      }
      if (append) {
        bound.push_back(
            {argument.name, TORSOR_QUERY, 0, keep(array->key, argument.dtype)});
        continue;
      }
      if (argument.sides & TORSOR_QUERY)
        bound.push_back({argument.name, TORSOR_QUERY, 0,
                         keep(array->query, argument.dtype)});
      if ((argument.sides & TORSOR_KEY) && !options.appended)
        bound.push_back(
            {argument.name, TORSOR_KEY, 0, keep(array->key, argument.dtype)});
    }
    return bound;
  }

  bool makeCache() {
    std::vector<torsor_binding> streams;
    std::vector<torsor_argument> described(kernel.description.streams);
    for (int64_t n = 0; n < kernel.description.streams; ++n) {
      described[n].size = sizeof(torsor_argument);
      torsor_scheme_stream(kernel.scheme, n, &described[n]);
      // Without data: the library is asked for the memory.
      if (n >= 2)
        streams.push_back({described[n].name, 0, 0, {}});
    }
    torsor_cache_options cacheOptions = {};
    cacheOptions.size = sizeof cacheOptions;
    cacheOptions.rows = problem.k.shape[0];
    cacheOptions.slots = problem.k.shape[2];
    cacheOptions.streams = streams.data();
    cacheOptions.stream_count = int64_t(streams.size());
    return !failed(torsor_cache_create(instance, &cacheOptions, &cache));
  }

  bool append(const torsor_call &base, const torsor_executor &executor) {
    for (size_t n = 0; n < problem.sequences.size(); ++n)
      if (!appendRun(problem.sequences[n], inputs(true, int64_t(n)), base,
                     executor))
        return false;
    return true;
  }

  bool appendRun(const SequenceRun &run,
                 const std::vector<torsor_binding> &bound,
                 const torsor_call &base, const torsor_executor &executor) {
    torsor_batch batch = {};
    batch.size = sizeof batch;
    batch.count = 1;
    batch.inputs = bound.data();
    batch.input_count = int64_t(bound.size());
    if (problem.keyIndices)
      batch.query_indices = keep(problem.keyIndices, TORSOR_I32);
    for (int64_t first = 0; first < run.keyLength; first += options.appended) {
      int64_t count = std::min(options.appended, run.keyLength - first);
      torsor_sequence s = {};
      s.query_row = s.key_row = run.keyRow;
      s.query_start = run.keyStart + first;
      s.query_length = count;
      s.key_start = run.keyStart;
      s.key_length = first + count;
      s.flags = TORSOR_PLACED;
      s.key_index = run.placed ? run.keyIndex : 0;
      s.query_index = s.key_index + first;
      s.total = s.query_index + count;
      batch.sequences = &s;
      torsor_call call = {};
      call.size = sizeof call;
      call.batch = &batch;
      call.k = base.k;
      call.v = base.v;
      call.cache = cache;
      if (failed(torsor_run(instance, TORSOR_APPEND, &call, &executor)))
        return false;
    }
    return true;
  }

  void attend();
};

void Kernel::Call::attend() {
  const torsor_scheme_info &info = kernel.description;
  if (!bindParams())
    return;
  torsor_call call = {};
  call.size = sizeof call;
  call.q = keep(typed(problem.q, torsor_dtype(info.q), options.layout));
  call.k = keep(typed(problem.k, torsor_dtype(info.k), options.layout));
  call.v = keep(typed(problem.v, torsor_dtype(info.v), options.layout));
  const auto &q = problem.q.shape;
  TypedTensor o = output({q[0], q[1], q[2], info.value}, torsor_dtype(info.o),
                         options.layout);
  TypedTensor lse = output({q[0], q[1], q[2]}, TORSOR_F32);
  call.o = o.tensor;
  call.lse = lse.tensor;
  torsor_executor executor = {};
  if (failed(torsor_pool_create(options.threads, &executor)))
    return;
  bool good = true;
  if (options.appended) {
    good = makeCache() && append(call, executor);
    call.cache = cache;
    call.k = call.v = {};
  }
  std::vector<torsor_sequence> sequences;
  for (const SequenceRun &run : problem.sequences)
    sequences.push_back(sequence(run));
  std::vector<torsor_binding> bound = inputs(false);
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = int64_t(sequences.size());
  batch.sequences = sequences.data();
  batch.inputs = bound.data();
  batch.input_count = int64_t(bound.size());
  if (problem.queryIndices)
    batch.query_indices = keep(problem.queryIndices, TORSOR_I32);
  if (problem.keyIndices)
    batch.key_indices = keep(problem.keyIndices, TORSOR_I32);
  call.batch = &batch;
  if (good && !failed(torsor_run(instance, options.op, &call, &executor))) {
    result.o = elementsOf(o);
    result.lse = elementsOf(lse);
    result.gapsUntouched = gapsAreUntouched(o);
  }
  torsor_pool_destroy(&executor);
}

RunResult Kernel::run(const Problem &problem, const RunOptions &options) const {
  Call call{*this, problem, options, {}, nullptr, nullptr, {}};
  call.attend();
  return call.result;
}

} // namespace torsor::test
