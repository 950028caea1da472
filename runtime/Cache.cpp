// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes caches: checks or allocates the storage of each stream.

#include "runtime/Cache.h"

using namespace torsor;

torsor_cache::~torsor_cache() {
  for (void *memory : owned)
    std::free(memory);
  if (instance)
    releaseInstance(instance);
}

const torsor_tensor *torsor::findStream(const torsor_cache &cache,
                                        const char *name) {
  int64_t s = cache.scheme().findStream(name);
  return s >= 0 && cache.streams[s].data ? &cache.streams[s] : nullptr;
}

namespace {

TensorRule streamRule(const torsor_scheme &scheme, int64_t s, int64_t heads,
                      int64_t groups, int64_t rows, int64_t slots) {
  const torsor_field &field = scheme.streams[s];
  TensorRule rule = {"cache", field.name, field.dtype, field.rank + 2,
                     {},      {},         true};
  int64_t shape[TORSOR_MAX_RANK];
  const char *what[TORSOR_MAX_RANK];
  resolveShape(field, heads, groups, shape, what);
  rule.shape[0] = rows, rule.what[0] = "the rows of k";
  int32_t slotAxis = scheme.slotAxis(s);
  rule.shape[slotAxis] = slots, rule.what[slotAxis] = "the slots of k";
  for (int32_t a = 0; a < field.rank; ++a) {
    int32_t axis = scheme.streamAxis(s, a);
    rule.shape[axis] = shape[a], rule.what[axis] = what[a];
  }
  return rule;
}

/// Bytes of a stream for rows × slots, or -1 beyond 63 bits.
int64_t streamBytes(const TensorRule &rule) {
  int64_t bytes = elementBytes(rule.dtype);
  for (int32_t a = 0; a < rule.rank; ++a)
    if (rule.shape[a] < 0 ||
        __builtin_mul_overflow(bytes, rule.shape[a], &bytes))
      return -1;
  return bytes;
}

struct Maker {
  torsor_cache &cache;
  const torsor_cache_options &options;
  Array<char> wanted; // by stream: the library allocates it

  const torsor_scheme &scheme() const { return cache.scheme(); }
  TensorRule rule(int64_t s) const {
    return streamRule(scheme(), s, cache.instance->heads,
                      cache.instance->groups, cache.rows, cache.slots);
  }

  torsor_status checkOptions();
  torsor_status takeKeys();
  torsor_status checkRing() const;
  torsor_status takeStreams();
  torsor_status checkAliases() const;
  torsor_status takeStream(const torsor_binding &binding);
  torsor_status allocate(int64_t s);
  torsor_status make();
};

torsor_status Maker::checkOptions() {
  static const char *const layouts[] = {"contiguous", "paged", "ring", "state"};
  int32_t layout = options.layout;
  if (layout < TORSOR_CONTIGUOUS || layout > TORSOR_STATE)
    return fail(TORSOR_INVALID, "cache: %d is no layout", layout);
  if (layout == TORSOR_STATE)
    return fail(TORSOR_UNSUPPORTED,
                "cache: %s storage is not in this version; scheme '%s' keeps "
                "keys",
                layouts[layout], orEmpty(scheme().descriptor.name));
  if (scheme().streams.size() < 1)
    return fail(TORSOR_UNSUPPORTED, "cache: scheme '%s' keeps no keys",
                orEmpty(scheme().descriptor.name));
  if (options.device != TORSOR_HOST)
    return fail(TORSOR_UNSUPPORTED,
                "cache: memory of device %d is not in this "
                "version; use TORSOR_HOST",
                options.device);
  if (options.pinned && layout != TORSOR_RING)
    return fail(TORSOR_INVALID,
                "cache: pinned is %lld, but only a ring has "
                "pinned slots",
                (long long)options.pinned);
  cache.layout = layout, cache.pinned = options.pinned;
  if (options.stream_count < 0 || (options.stream_count && !options.streams))
    return fail(TORSOR_INVALID,
                "cache: streams is null or their count, %lld, "
                "is negative",
                (long long)options.stream_count);
  if (options.written)
    return compareContracts(*options.written, cache.contract(),
                            "the memory of the cache", "the instance");
  return TORSOR_OK;
}

/// The caller's k and v give rows and slots; else the options do.
torsor_status Maker::takeKeys() {
  bool hasV = scheme().streams.size() > 1 && scheme().perGroup(1);
  cache.rows = options.rows, cache.slots = options.slots;
  if (!present(options.k)) {
    if (present(options.v))
      return fail(TORSOR_INVALID, "cache: v is given without k");
    constexpr int64_t limit = INT32_MAX;
    if (cache.rows < 0 || cache.slots < 0 || cache.rows > limit ||
        cache.slots > limit)
      return fail(TORSOR_RANGE,
                  "cache: rows %lld and slots %lld must be 0 to "
                  "2^31 - 1",
                  (long long)cache.rows, (long long)cache.slots);
    wanted[0] = 1;
    if (hasV)
      wanted[1] = 1;
    return TORSOR_OK;
  }
  cache.rows = cache.slots = -1;
  TensorRule keys = rule(0);
  cache.streams[0] = options.k;
  if (torsor_status status = checkTensor(keys, cache.streams[0]))
    return status;
  cache.rows = cache.streams[0].shape[0];
  cache.slots = cache.streams[0].shape[2];
  if (cache.rows > INT32_MAX || cache.slots > INT32_MAX)
    return fail(TORSOR_RANGE,
                "cache: rows and slots must be below 2^31, but k "
                "has %lld and %lld",
                (long long)cache.rows, (long long)cache.slots);
  if ((options.rows && options.rows != cache.rows) ||
      (options.slots && options.slots != cache.slots))
    return fail(TORSOR_SHAPE,
                "cache: rows and slots are %lld and %lld, but k "
                "has %lld and %lld; leave them 0",
                (long long)options.rows, (long long)options.slots,
                (long long)cache.rows, (long long)cache.slots);
  if (hasV != present(options.v))
    return fail(TORSOR_INVALID, hasV
                                    ? "cache: k is given, but v is not"
                                    : "cache: v is given, but it is part of k");
  if (!hasV)
    return TORSOR_OK;
  cache.streams[1] = options.v;
  return checkTensor(rule(1), cache.streams[1]);
}

/// Something must turn in a ring.
torsor_status Maker::checkRing() const {
  if (cache.layout != TORSOR_RING || !cache.rows ||
      (cache.pinned >= 0 && cache.pinned < cache.slots))
    return TORSOR_OK;
  return fail(TORSOR_RANGE,
              "cache: pinned is %lld, but it must be 0 to %lld: one of the "
              "ring's %lld slots has to turn",
              (long long)cache.pinned, (long long)cache.slots - 1,
              (long long)cache.slots);
}

torsor_status Maker::takeStream(const torsor_binding &binding) {
  if (!binding.name)
    return fail(TORSOR_INVALID, "cache: the name of a stream is null");
  int64_t s = scheme().findStream(binding.name);
  if (s < 0) {
    Text names;
    for (const torsor_field &field : scheme().streams)
      names.appendf("%s'%s'", names.size() ? ", " : "", field.name);
    return fail(TORSOR_NAME, "cache: scheme '%s' has no stream '%s'; it has %s",
                orEmpty(scheme().descriptor.name), binding.name, names.get());
  }
  if (scheme().perGroup(s))
    return fail(TORSOR_NAME,
                "cache: '%s' is given by its own field, not among "
                "the streams",
                binding.name);
  if (cache.streams[s].data || wanted[s])
    return fail(TORSOR_NAME, "cache: stream '%s' is given twice", binding.name);
  if (!binding.tensor.data) {
    wanted[s] = 1;
    return TORSOR_OK;
  }
  cache.streams[s] = binding.tensor;
  return checkTensor(rule(s), cache.streams[s]);
}

torsor_status Maker::takeStreams() {
  for (int64_t n = 0; n < options.stream_count; ++n)
    if (torsor_status status = takeStream(options.streams[n]))
      return status;
  for (int64_t s = 0; s < scheme().streams.size(); ++s) {
    const torsor_field &field = scheme().streams[s];
    if (scheme().perGroup(s) || cache.streams[s].data || wanted[s] ||
        field.flags & TORSOR_ARG_OPTIONAL)
      continue;
    if (!wanted[0])
      return fail(TORSOR_NAME,
                  "cache: stream '%s' is missing; scheme '%s' "
                  "keeps it beside k",
                  field.name, orEmpty(scheme().descriptor.name));
    wanted[s] = 1;
  }
  return TORSOR_OK;
}

torsor_status Maker::allocate(int64_t s) {
  TensorRule r = rule(s);
  int64_t bytes = streamBytes(r);
  // Zeroed by the system page by page, when it is first touched.
  void *memory = bytes < 0 || bytes > INT64_MAX - 64
                     ? nullptr
                     : std::calloc(1, size_t(bytes) + 64);
  if (!memory || !cache.owned.push(memory)) {
    std::free(memory);
    return fail(TORSOR_MEMORY,
                "cache: cannot allocate %lld rows of %lld slots "
                "for '%s'",
                (long long)cache.rows, (long long)cache.slots, r.name);
  }
  torsor_tensor &tensor = cache.streams[s];
  tensor.data = reinterpret_cast<void *>(
      alignUp(int64_t(reinterpret_cast<uintptr_t>(memory))));
  tensor.rank = r.rank, tensor.dtype = r.dtype;
  int64_t stride = 1;
  for (int32_t a = r.rank - 1; a >= 0; --a) {
    tensor.shape[a] = r.shape[a], tensor.strides[a] = stride;
    stride *= r.shape[a] ? r.shape[a] : 1;
  }
  return TORSOR_OK;
}

/// Streams of the caller's memory that begin at one address overlap.
torsor_status Maker::checkAliases() const {
  for (int64_t s = 0; s < cache.streams.size(); ++s)
    for (int64_t other = 0; other < s; ++other)
      if (cache.streams[s].data && cache.slots &&
          cache.streams[s].data == cache.streams[other].data)
        return fail(TORSOR_STRIDE,
                    "cache: %s lies at the address of %s; each stream needs "
                    "memory of its own",
                    scheme().streams[s].name, scheme().streams[other].name);
  return TORSOR_OK;
}

torsor_status Maker::make() {
  int64_t count = scheme().streams.size();
  if (!cache.streams.resize(count) || !wanted.resize(count))
    return failMemory(count * int64_t(sizeof(torsor_tensor)));
  for (int64_t s = 0; s < count; ++s)
    cache.streams[s] = torsor_tensor(), wanted[s] = 0;
  torsor_status status = checkOptions();
  if (!status)
    status = takeKeys();
  if (!status)
    status = checkRing();
  if (!status)
    status = takeStreams();
  if (!status)
    status = checkAliases();
  for (int64_t s = 0; s < count && !status; ++s)
    if (wanted[s])
      status = allocate(s);
  return status;
}

} // namespace

extern "C" {

torsor_status torsor_cache_create(const torsor_instance *instance,
                                  const torsor_cache_options *options,
                                  torsor_cache **out) {
  if (!out)
    return fail(TORSOR_INVALID, "cache: out is null");
  *out = nullptr;
  if (!instance)
    return fail(TORSOR_INVALID, "instance is null");
  torsor_cache_options read;
  if (torsor_status status = readStruct(options, read, "cache options"))
    return status;
  torsor_cache *cache = make<torsor_cache>();
  if (!cache)
    return failMemory(sizeof(torsor_cache));
  cache->instance = retain(instance);
  Maker maker{*cache, read, {}};
  torsor_status status = maker.make();
  if (status)
    releaseCache(cache);
  else
    *out = cache;
  return status;
}

torsor_status torsor_cache_stream(const torsor_cache *cache, const char *name,
                                  torsor_tensor *out) {
  if (!out)
    return fail(TORSOR_INVALID, "cache: out is null");
  *out = torsor_tensor();
  if (!cache || !name)
    return fail(TORSOR_INVALID, "cache: %s is null", cache ? "name" : "cache");
  const torsor_tensor *stream = findStream(*cache, name);
  if (!stream)
    return fail(TORSOR_NAME, "cache: it has no stream '%s'", name);
  *out = *stream;
  return TORSOR_OK;
}

torsor_status torsor_cache_bytes(const torsor_instance *instance, int64_t rows,
                                 int64_t slots, int64_t *bytes) {
  if (!bytes)
    return fail(TORSOR_INVALID, "cache: bytes is null");
  *bytes = 0;
  if (!instance)
    return fail(TORSOR_INVALID, "instance is null");
  if (rows < 0 || slots < 0)
    return fail(TORSOR_INVALID,
                "cache: rows %lld and slots %lld must not be "
                "negative",
                (long long)rows, (long long)slots);
  int64_t sum = 0;
  const torsor_scheme &scheme = *instance->scheme;
  for (int64_t s = 0; s < scheme.streams.size(); ++s) {
    int64_t one = streamBytes(
        streamRule(scheme, s, instance->heads, instance->groups, rows, slots));
    if (one < 0 || __builtin_add_overflow(sum, one, &sum))
      return fail(TORSOR_RANGE,
                  "cache: %lld rows of %lld slots need more than "
                  "2^63 bytes",
                  (long long)rows, (long long)slots);
  }
  *bytes = sum;
  return TORSOR_OK;
}

const torsor_contract *torsor_cache_contract(const torsor_cache *cache) {
  return cache ? cache->instance->contract : nullptr;
}

void torsor_cache_destroy(torsor_cache *cache) {
  if (cache)
    releaseCache(cache);
}

} // extern "C"
