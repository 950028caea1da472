// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of a call's tensors, and where kernels find them.

#include "runtime/Call.h"

namespace torsor {

TensorRule Call::rule(const char *tensor, int32_t dtype, int64_t rows,
                      int64_t heads, int64_t tokens, int64_t width,
                      bool output) const {
  TensorRule r = {name, tensor, dtype, 4, {rows, heads, tokens, width},
                  {},   output};
  r.what[1] = "H";
  return r;
}

torsor_status Call::checkTensors() {
  int64_t count = scheme.tensorCount();
  if (!plan.tensors.resize(count) ||
      (appends() && !plan.appendTensors.resize(count)))
    return failMemory(count * int64_t(sizeof(torsor_tensor)));
  std::memset(plan.tensors.data(), 0, size_t(count) * sizeof(torsor_tensor));
  if (appends())
    std::memset(plan.appendTensors.data(), 0,
                size_t(count) * sizeof(torsor_tensor));
  torsor_status status = TORSOR_OK;
  if (attends())
    status = checkQueries();
  if (!status && (appends() || (attends() && !cached())))
    status = checkFreshKeys();
  if (!status && merges())
    status = checkParts();
  if (!status && embeds())
    status = checkEmbedding();
  if (!status)
    status = takeStreams();
  if (!status)
    status = checkAliases();
  if (!status && present(batch.query_indices))
    status =
        checkIndexTensor("query_indices", batch.query_indices, rows, tokens);
  if (!status && present(batch.key_indices) && !isKeyless() && !rebases())
    status =
        checkIndexTensor("key_indices", batch.key_indices, keyRows, keyTokens);
  return status;
}

/// q, o and lse of attention; they give rows and tokens.
torsor_status Call::checkQueries() {
  const torsor_descriptor &d = scheme.descriptor;
  TensorRule q = rule("q", d.q, -1, instance.heads, -1, d.head, false);
  q.what[3] = "the head width";
  if (torsor_status status = checkTensor(q, call.q))
    return status;
  rows = call.q.shape[0], tokens = call.q.shape[2];
  TensorRule o = rule("o", d.o, rows, instance.heads, tokens, d.value, true);
  o.what[0] = "the rows of q", o.what[2] = "the tokens of q";
  o.what[3] = "the value width";
  if (torsor_status status = checkTensor(o, call.o))
    return status;
  plan.tensors[TORSOR_AT_Q] = call.q;
  plan.tensors[TORSOR_AT_O] = call.o;
  if (!present(call.lse))
    return TORSOR_OK;
  TensorRule lse = o;
  lse.name = "lse", lse.dtype = TORSOR_F32, lse.rank = 3;
  if (torsor_status status = checkTensor(lse, call.lse))
    return status;
  plan.tensors[TORSOR_AT_LSE] = call.lse;
  return TORSOR_OK;
}

/// Keys the call brings: those of attention, or the new ones of an append,
/// which are addressed as queries are.
torsor_status Call::checkFreshKeys() {
  const torsor_descriptor &d = scheme.descriptor;
  bool asQueries = op == TORSOR_STEP;
  TensorRule k = rule("k", d.k, asQueries ? rows : -1, instance.groups,
                      asQueries ? tokens : -1, d.head, false);
  k.what[0] = "the rows of q", k.what[2] = "the tokens of q";
  k.what[1] = "G", k.what[3] = "the head width";
  if (torsor_status status = checkTensor(k, call.k))
    return status;
  keyRows = call.k.shape[0], keyTokens = call.k.shape[2];
  Array<torsor_tensor> &to = appends() ? plan.appendTensors : plan.tensors;
  to[TORSOR_AT_K] = call.k;
  if (appends())
    rows = keyRows, tokens = keyTokens;
  if (scheme.valueInKey())
    return TORSOR_OK;
  TensorRule v =
      rule("v", d.v, keyRows, instance.groups, keyTokens, d.value, false);
  v.what[0] = "the rows of k", v.what[2] = "the tokens of k";
  v.what[1] = "G", v.what[3] = "the value width";
  if (torsor_status status = checkTensor(v, call.v))
    return status;
  to[TORSOR_AT_V] = call.v;
  return TORSOR_OK;
}

/// o [rows, 1, tokens, width] holds embeddings, and takes the sums.
torsor_status Call::checkEmbedding() {
  const torsor_descriptor &d = scheme.descriptor;
  TensorRule o = rule("o", d.o, -1, 1, -1, d.value, true);
  o.what[3] = "the width of the encoding";
  if (torsor_status status = checkTensor(o, call.o))
    return status;
  rows = call.o.shape[0], tokens = call.o.shape[2];
  plan.tensors[TORSOR_AT_O] = call.o;
  return TORSOR_OK;
}

torsor_status Call::checkPartAliases(const torsor_part &part,
                                     const char *owner) const {
  struct Named {
    const char *name;
    const void *data;
  };
  const Named written[] = {{"o", call.o.data}, {"lse", call.lse.data}};
  const Named read[] = {{"o", part.o.data}, {"lse", part.lse.data}};
  for (const Named &to : written)
    for (const Named &from : read)
      if (to.data && to.data == from.data)
        return fail(TORSOR_STRIDE,
                    "%s: %s lies at the address of the merged %s; an output "
                    "must not overlap an input",
                    owner, from.name, to.name);
  return TORSOR_OK;
}

torsor_status Call::checkParts() {
  const torsor_descriptor &d = scheme.descriptor;
  TensorRule o = rule("o", d.o, -1, instance.heads, -1, d.value, true);
  o.what[3] = "the value width";
  if (torsor_status status = checkTensor(o, call.o))
    return status;
  rows = call.o.shape[0], tokens = call.o.shape[2];
  o.shape[0] = rows, o.shape[2] = tokens;
  o.what[0] = "the rows of o", o.what[2] = "the tokens of o";
  TensorRule lse = o;
  lse.name = "lse", lse.dtype = TORSOR_F32, lse.rank = 3;
  if (present(call.lse))
    if (torsor_status status = checkTensor(lse, call.lse))
      return status;
  TensorRule q = o;
  q.name = "q", q.dtype = d.q, q.shape[3] = d.head, q.output = false;
  q.what[3] = "the head width";
  if (present(call.q))
    if (torsor_status status = checkTensor(q, call.q))
      return status;
  if (!plan.parts.resize(call.part_count))
    return failMemory(call.part_count * int64_t(sizeof(torsor_part)));
  o.output = lse.output = false;
  for (int64_t p = 0; p < call.part_count; ++p) {
    torsor_part &part = plan.parts[p] = call.parts[p];
    Text owner;
    owner.appendf("merge: part %lld", (long long)p);
    o.owner = lse.owner = owner.get();
    if (!present(part.o) || !present(part.lse))
      return fail(TORSOR_INVALID, "merge: part %lld: %s is absent",
                  (long long)p, present(part.o) ? "lse" : "o");
    o.dtype = part.o.dtype == TORSOR_F32 ? TORSOR_F32 : d.o;
    torsor_status status = checkTensor(o, part.o);
    if (!status)
      status = checkTensor(lse, part.lse);
    if (!status)
      status = checkPartAliases(part, owner.get());
    if (status)
      return status;
  }
  plan.tensors[TORSOR_AT_O] = call.o;
  plan.tensors[TORSOR_AT_LSE] = call.lse;
  plan.tensors[TORSOR_AT_Q] = call.q;
  return TORSOR_OK;
}

/// A contract names neither H nor the shapes of inputs: the cache of an
/// instance with other query heads agrees, or of a scheme that keeps other rows
/// under the same name, but what lies in it does not.
torsor_status Call::checkStreamShape(int64_t s,
                                     const torsor_tensor &stream) const {
  const torsor_field &field = scheme.streams[s];
  if (stream.rank != field.rank + 2)
    return fail(TORSOR_SHAPE,
                "%s: stream '%s' of the cache has %d axes for each key, but "
                "scheme '%s' reads %d",
                name, field.name, stream.rank - 2,
                orEmpty(scheme.descriptor.name), field.rank);
  for (int32_t a = 0; a < field.rank; ++a) {
    int64_t extent = stream.shape[scheme.streamAxis(s, a)];
    if (field.shape[a] == TORSOR_EXTENT_H && extent != instance.heads)
      return fail(TORSOR_SHAPE,
                  "%s: stream '%s' of the cache is of %lld query heads, but "
                  "the instance has %lld",
                  name, field.name, (long long)extent,
                  (long long)instance.heads);
    if (field.shape[a] >= 0 && extent != field.shape[a])
      return fail(TORSOR_SHAPE,
                  "%s: stream '%s' of the cache has %lld entries along axis %d "
                  "of each key, but scheme '%s' reads %lld",
                  name, field.name, (long long)extent, a,
                  orEmpty(scheme.descriptor.name), (long long)field.shape[a]);
  }
  return TORSOR_OK;
}

/// What lies in the cache beside the keys of another scheme would stay as it
/// was beside new ones.
torsor_status Call::checkAppendsAll() const {
  const torsor_scheme &held = call.cache->scheme();
  for (int64_t s = 0; s < held.streams.size() && &held != &scheme; ++s)
    if (call.cache->streams[s].data &&
        scheme.findStream(held.streams[s].name) < 0)
      return fail(TORSOR_NAME,
                  "%s: the cache holds a stream '%s' beside its keys, which "
                  "scheme '%s' does not write; append by scheme '%s'",
                  name, held.streams[s].name, orEmpty(scheme.descriptor.name),
                  orEmpty(held.descriptor.name));
  return TORSOR_OK;
}

/// Views of the cache's storage: to append as streams, to attention as keys.
/// Another scheme's cache that agrees may hold its streams in another order.
torsor_status Call::takeStreams() {
  if (!cached())
    return TORSOR_OK;
  const torsor_cache &cache = *call.cache;
  keyRows = cache.rows, keyTokens = cache.slots;
  bool same = &cache.scheme() == &scheme;
  for (int64_t s = 0; s < scheme.streams.size(); ++s) {
    const torsor_field &field = scheme.streams[s];
    const torsor_tensor *stream =
        same ? &cache.streams[s] : findStream(cache, field.name);
    if (!stream || !stream->data) {
      if (field.flags & TORSOR_ARG_OPTIONAL || (same && !scheme.perGroup(s)) ||
          keyRows == 0 || keyTokens == 0)
        continue;
      return fail(TORSOR_NAME, "%s: the cache holds no stream '%s'", name,
                  field.name);
    }
    if (stream->dtype != field.dtype)
      return fail(TORSOR_DTYPE,
                  "%s: stream '%s' of the cache is %s, but "
                  "scheme '%s' reads %s",
                  name, field.name, dtypeName(stream->dtype),
                  orEmpty(scheme.descriptor.name), dtypeName(field.dtype));
    if (torsor_status status = checkStreamShape(s, *stream))
      return status;
    if (appends())
      plan.appendTensors[scheme.streamAt(s)] = *stream;
    if (rebases())
      plan.tensors[scheme.streamAt(s)] = *stream;
    if (!attends())
      continue;
    if (scheme.perGroup(s))
      plan.tensors[s == 0 ? TORSOR_AT_K : TORSOR_AT_V] = *stream;
    else if (!std::strcmp(field.name, "index"))
      plan.tensors[TORSOR_AT_KEY_INDICES] = *stream;
    else if (int64_t a = scheme.findArgument(field.name); a >= 0)
      plan.tensors[scheme.keyAt(a)] = *stream;
    else // a running sum, which no argument carries
      plan.tensors[scheme.streamAt(s)] = *stream;
  }
  if (appends())
    if (torsor_status status = checkAppendsAll())
      return status;
  keysIndexed = findStream(cache, "index");
  if (present(batch.key_indices) && keysIndexed)
    return fail(TORSOR_NAME,
                "%s: key_indices are given twice: the cache holds "
                "them as its stream 'index'",
                name);
  return TORSOR_OK;
}

torsor_status Call::checkIndexTensor(const char *what, torsor_tensor &tensor,
                                     int64_t rowCount, int64_t tokenCount) {
  bool wide = tensor.dtype == TORSOR_I64;
  TensorRule r = {
      name, what, wide ? TORSOR_I64 : TORSOR_I32, 2, {rowCount, tokenCount},
      {},   false};
  bool keys = what[0] == 'k';
  r.what[0] = keys ? "the number of rows of the keys" : "the number of rows";
  r.what[1] = !keys      ? "the number of tokens"
              : cached() ? "the number of slots of a row"
                         : "the number of keys";
  if (tensor.dtype != TORSOR_I32 && !wide)
    return fail(TORSOR_DTYPE, "%s: %s is %s, but it must be i32 or i64", name,
                what, dtypeName(tensor.dtype));
  return checkTensor(r, tensor);
}

} // namespace torsor
