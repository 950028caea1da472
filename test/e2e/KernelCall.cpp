// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a problem of the reference to a call of the C interface.
#include "test/e2e/KernelCall.h"

#include <algorithm>
#include <cstring>

namespace torsor::test {

static const NamedArray *find(const Problem &problem, const char *name) {
  for (const NamedArray &array : problem.arguments)
    if (array.name == name)
      return &array;
  return nullptr;
}

Kernel::Call::~Call() {
  torsor_pool_destroy(&executor);
  torsor_cache_destroy(cache);
  torsor_instance_destroy(instance);
}

bool Kernel::Call::failed(torsor_status status) {
  if (status == TORSOR_OK)
    return false;
  result.status = status;
  result.error =
      std::string(torsor_status_name(status)) + ": " + torsor_error();
  return true;
}

torsor_tensor Kernel::Call::keep(TypedTensor tensor) {
  kept.push_back(tensor);
  return tensor.tensor;
}

torsor_tensor Kernel::Call::keep(const HostArray &array, int32_t dtype) {
  return keep(typed(array, torsor_dtype(dtype), options.layout));
}

torsor_sequence Kernel::Call::sequence(const SequenceRun &run) const {
  torsor_sequence s = {};
  s.query_row = run.queryRow;
  s.query_start = run.queryStart;
  s.query_length = run.queryLength;
  s.key_row = run.keyRow;
  s.key_start = run.keyStart;
  s.key_length = run.keyLength;
  place(run, s);
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

/// Where the run's keys lie in the cache: of pages those of its own, of a ring
/// behind some turns.
void Kernel::Call::place(const SequenceRun &run, torsor_sequence &s) const {
  const CacheForm &form = options.cache;
  if (!cache || form.layout == TORSOR_CONTIGUOUS)
    return;
  if (form.layout == TORSOR_RING) {
    s.key_start += form.turns * (slotsOfRow() - form.pinned);
    return;
  }
  s.key_row = 0;
  for (const SequenceRun &other : problem.sequences) {
    if (&other == &run)
      break;
    s.key_row += pagesOf(other);
  }
}

int64_t Kernel::Call::pagesOf(const SequenceRun &run) const {
  int64_t page = options.cache.slots;
  return (run.keyStart + run.keyLength + page - 1) / page;
}

int64_t Kernel::Call::slotsOfRow() const {
  const CacheForm &form = options.cache;
  return form.slots ? form.slots : problem.k.shape[2] + form.pinned;
}

/// The tables one behind the other; the pages in no order, and none where a
/// sequence has no key.
void Kernel::Call::fillPages() {
  int64_t count = 0, page = options.cache.slots;
  for (const SequenceRun &run : problem.sequences)
    count += pagesOf(run);
  for (const SequenceRun &run : problem.sequences)
    for (int64_t n = 0; n < pagesOf(run); ++n)
      pages.push_back((n + 1) * page <= run.keyStart
                          ? -1
                          : int32_t(count - 1 - int64_t(pages.size())));
}

void Kernel::Call::givePages(torsor_batch &batch) const {
  if (!cache || options.cache.layout != TORSOR_PAGED)
    return;
  batch.pages = pages.data();
  batch.page_count = int64_t(pages.size());
}

bool Kernel::Call::bindParams() {
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

int64_t Kernel::Call::shiftOf(int64_t sequence) const {
  return options.shift ? options.shift + 3 * sequence : 0;
}

bool Kernel::Call::isPosition(const torsor_argument &argument) const {
  if (!(argument.flags & TORSOR_ARG_CLOCK))
    return false;
  bool hasPos = false;
  for (const torsor_argument &other : kernel.arguments)
    hasPos |= !std::strcmp(other.name, "pos");
  return hasPos ? !std::strcmp(argument.name, "pos")
                : argument.dtype == TORSOR_I32 || argument.dtype == TORSOR_I64;
}

/// Every element with `shift` added.
static HostArray plus(const HostArray &array, int64_t shift) {
  if (!shift)
    return array;
  int64_t count = 1;
  for (int64_t extent : array.shape)
    count *= extent;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<int64_t> at(array.shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n;
    for (size_t axis = at.size(); axis-- > 0; rest /= array.shape[axis])
      at[axis] = rest % array.shape[axis];
    if (array.integers)
      integers.push_back(array.integers[array.offset(at)] + shift);
    else
      reals.push_back(array.reals[array.offset(at)] + double(shift));
  }
  return array.integers ? HostArray::of(array.shape, std::move(integers))
                        : HostArray::of(array.shape, std::move(reals));
}

/// Clocks and inputs. Of an append, the keys' as those of the tokens it brings;
/// of attention over a cache, the queries' alone; of a step, the queries', for
/// they are the new keys, too.
std::vector<torsor_binding> Kernel::Call::inputs(Bring bring,
                                                 int64_t sequence) {
  std::vector<torsor_binding> bound;
  for (const torsor_argument &argument : kernel.arguments) {
    const NamedArray *array = find(problem, argument.name);
    if (argument.stage == TORSOR_LOADED || !array)
      continue;
    if (argument.stage != TORSOR_PER_TOKEN) {
      HostArray value = array->value;
      if (bring == Bring::NewKeys && argument.stage == TORSOR_PER_SEQUENCE) {
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
    auto bind = [&](uint32_t side, const HostArray &from) {
      bound.push_back({argument.name, side, 0, keep(from, argument.dtype)});
    };
    if (bring == Bring::NewKeys)
      bind(TORSOR_QUERY, isPosition(argument)
                             ? plus(array->key, shiftOf(sequence))
                             : array->key);
    else if (bring == Bring::NewTokens || (argument.sides & TORSOR_QUERY))
      bind(TORSOR_QUERY, array->query);
    if (bring == Bring::Both && (argument.sides & TORSOR_KEY))
      bind(TORSOR_KEY, array->key);
  }
  return bound;
}

bool Kernel::Call::makeCache() {
  std::vector<torsor_binding> streams;
  std::vector<torsor_argument> described(kernel.description.streams);
  for (int64_t n = 0; n < kernel.description.streams; ++n) {
    described[n].size = sizeof(torsor_argument);
    torsor_scheme_stream(kernel.scheme, n, &described[n]);
    // Without data: the library is asked for the memory. A ring that loses
    // keys must count their indices itself.
    bool counts = options.cache.layout == TORSOR_RING && options.cache.slots &&
                  !std::strcmp(described[n].name, "index");
    if (n >= (problem.v ? 2 : 1) && !counts)
      streams.push_back({described[n].name, 0, 0, {}});
  }
  torsor_cache_options cacheOptions = {};
  cacheOptions.size = sizeof cacheOptions;
  cacheOptions.layout = options.cache.layout;
  cacheOptions.pinned = options.cache.pinned;
  cacheOptions.rows = problem.k.shape[0];
  cacheOptions.slots = slotsOfRow();
  if (options.cache.layout == TORSOR_PAGED) {
    fillPages();
    cacheOptions.rows = int64_t(pages.size());
  }
  cacheOptions.streams = streams.data();
  cacheOptions.stream_count = int64_t(streams.size());
  return !failed(torsor_cache_create(instance, &cacheOptions, &cache));
}

bool Kernel::Call::append(const torsor_call &base, bool allButQueries) {
  for (size_t n = 0; n < problem.sequences.size(); ++n) {
    const SequenceRun &run = problem.sequences[n];
    int64_t length = run.keyLength - (allButQueries ? run.queryLength : 0);
    if (!appendRun(int64_t(n), length, base))
      return false;
  }
  return !options.shift || rebase(allButQueries);
}

bool Kernel::Call::rebase(bool allButQueries) {
  std::vector<torsor_sequence> sequences;
  for (size_t n = 0; n < problem.sequences.size(); ++n) {
    const SequenceRun &run = problem.sequences[n];
    torsor_sequence s = {};
    s.key_row = run.keyRow;
    s.key_start = run.keyStart;
    s.key_length = run.keyLength - (allButQueries ? run.queryLength : 0);
    place(run, s);
    s.shift = -shiftOf(int64_t(n));
    sequences.push_back(s);
  }
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = int64_t(sequences.size());
  batch.sequences = sequences.data();
  givePages(batch);
  torsor_call call = {};
  call.size = sizeof call;
  call.batch = &batch;
  call.cache = cache;
  return !failed(torsor_run(instance, TORSOR_REBASE, &call, &executor));
}

bool Kernel::Call::appendRun(int64_t number, int64_t length,
                             const torsor_call &base) {
  const SequenceRun &run = problem.sequences[number];
  std::vector<torsor_binding> bound = inputs(Bring::NewKeys, number);
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = 1;
  batch.inputs = bound.data();
  batch.input_count = int64_t(bound.size());
  if (problem.keyIndices)
    batch.query_indices =
        keep(plus(problem.keyIndices, shiftOf(number)), TORSOR_I32);
  givePages(batch);
  for (int64_t first = 0; first < length; first += options.appended) {
    int64_t count = std::min(options.appended, length - first);
    torsor_sequence s = {};
    s.query_row = s.key_row = run.keyRow;
    s.query_start = run.keyStart + first;
    s.query_length = count;
    s.key_start = run.keyStart;
    s.key_length = first + count;
    place(run, s);
    s.flags = TORSOR_PLACED;
    s.key_index = (run.placed ? run.keyIndex : 0) + shiftOf(number);
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

bool Kernel::Call::runBatch(torsor_op op, torsor_call &call,
                            const std::vector<torsor_sequence> &sequences,
                            Bring bring) {
  std::vector<torsor_binding> bound = inputs(bring);
  torsor_batch batch = {};
  batch.size = sizeof batch;
  batch.count = int64_t(sequences.size());
  batch.sequences = sequences.data();
  batch.inputs = bound.data();
  batch.input_count = int64_t(bound.size());
  if (problem.queryIndices)
    batch.query_indices = keep(problem.queryIndices, TORSOR_I32);
  if (problem.keyIndices && bring == Bring::Both)
    batch.key_indices = keep(problem.keyIndices, TORSOR_I32);
  if (call.cache)
    givePages(batch);
  call.batch = &batch;
  bool good = !failed(torsor_run(instance, op, &call, &executor));
  call.batch = nullptr;
  return good;
}

bool Kernel::Call::attend(torsor_call &call) {
  if (options.appended) {
    if (!makeCache() || !append(call, false))
      return false;
    call.cache = cache;
    call.k = call.v = {};
  }
  if (options.parts)
    return attendInParts(call);
  std::vector<torsor_sequence> sequences;
  for (const SequenceRun &run : problem.sequences)
    sequences.push_back(sequence(run));
  return runBatch(options.op, call, sequences,
                  options.appended ? Bring::QueriesOnly : Bring::Both);
}

void Kernel::Call::run() {
  const torsor_scheme_info &info = kernel.description;
  if (!bindParams())
    return;
  torsor_call call = {};
  call.size = sizeof call;
  call.q = keep(typed(problem.q, torsor_dtype(info.q), options.layout));
  call.k = keep(typed(problem.k, torsor_dtype(info.k), options.layout));
  if (problem.v) // else a part of k
    call.v = keep(typed(problem.v, torsor_dtype(info.v), options.layout));
  const auto &q = problem.q.shape;
  TypedTensor o = output({q[0], q[1], q[2], info.value}, torsor_dtype(info.o),
                         options.layout);
  TypedTensor lse = output({q[0], q[1], q[2]}, TORSOR_F32, options.layout);
  call.o = o.tensor;
  call.lse = lse.tensor;
  if (failed(torsor_pool_create(options.threads, &executor)))
    return;
  if (options.op == TORSOR_STEP ? step(call) : attend(call)) {
    result.o = elementsOf(o);
    result.lse = elementsOf(lse);
    result.gapsUntouched = gapsAreUntouched(o);
  }
}

} // namespace torsor::test
