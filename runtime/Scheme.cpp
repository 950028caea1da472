// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds schemes in a library and describes them.

#include "runtime/Library.h"

using namespace torsor;

static int64_t findField(const Array<torsor_field> &fields, const char *name) {
  for (int64_t n = 0; n < fields.size(); ++n)
    if (!std::strcmp(fields[n].name, name))
      return n;
  return -1;
}

int64_t torsor_scheme::findArgument(const char *name) const {
  return findField(arguments, name);
}

int64_t torsor_scheme::findStream(const char *name) const {
  return findField(streams, name);
}

static torsor_status handleTo(torsor_scheme &scheme, torsor_scheme **out) {
  scheme.library->count.retain();
  *out = &scheme;
  return TORSOR_OK;
}

static void appendScheme(Text &text, const torsor_scheme &scheme) {
  const torsor_descriptor &d = scheme.descriptor;
  text.appendf("%s'%s' (%s, D = %lld)", text.size() ? ", " : "",
               orEmpty(d.name), dtypeName(d.q), (long long)d.head);
}

static torsor_status findScheme(torsor_library *library, const char *name,
                                int32_t dtype, torsor_scheme **out) {
  torsor_scheme *found = nullptr;
  Text matches, all;
  int64_t count = 0;
  for (int64_t n = 0; n < library->schemeCount; ++n) {
    torsor_scheme &scheme = library->schemes[n];
    appendScheme(all, scheme);
    if ((name && std::strcmp(name, orEmpty(scheme.descriptor.name))) ||
        (dtype != TORSOR_ANY && dtype != scheme.descriptor.q))
      continue;
    appendScheme(matches, scheme);
    found = &scheme;
    ++count;
  }
  if (count == 1)
    return handleTo(*found, out);
  if (count)
    return fail(TORSOR_NAME,
                "%lld schemes match: %s; choose by name and type, "
                "or by index",
                (long long)count, matches.get());
  return fail(TORSOR_NAME, "no scheme '%s' of type %s; the library has %s",
              name ? name : "(any name)", dtypeName(dtype),
              all.size() ? all.get() : "none");
}

extern "C" {

int64_t torsor_library_schemes(const torsor_library *library) {
  return library ? library->schemeCount : 0;
}

torsor_status torsor_library_at(torsor_library *library, int64_t index,
                                torsor_scheme **out) {
  if (!out)
    return fail(TORSOR_INVALID, "library: out is null");
  *out = nullptr;
  if (!library)
    return fail(TORSOR_INVALID, "library is null");
  if (index < 0 || index >= library->schemeCount)
    return fail(TORSOR_NAME, "there is no scheme %lld; the library has %lld",
                (long long)index, (long long)library->schemeCount);
  return handleTo(library->schemes[index], out);
}

torsor_status torsor_library_find(torsor_library *library, const char *name,
                                  torsor_dtype dtype, torsor_scheme **out) {
  if (!out)
    return fail(TORSOR_INVALID, "library: out is null");
  *out = nullptr;
  if (!library)
    return fail(TORSOR_INVALID, "library is null");
  return findScheme(library, name, numberOf(dtype), out);
}

int64_t torsor_library_layers(const torsor_library *library) {
  return library ? library->module.layers : 0;
}

torsor_status torsor_library_layer(const torsor_library *library, int64_t layer,
                                   int64_t attention, int64_t *index) {
  if (!index)
    return fail(TORSOR_INVALID, "library: index is null");
  *index = 0;
  if (!library)
    return fail(TORSOR_INVALID, "library is null");
  const torsor_module &m = library->module;
  if (!m.layers)
    return fail(TORSOR_NAME, "the library has no stack");
  if (layer < 0 || layer >= m.layers)
    return fail(TORSOR_NAME, "there is no layer %lld; the stack has %u",
                (long long)layer, m.layers);
  uint32_t scheme = UINT32_MAX;
  if (attention >= 0 && attention < m.attentions)
    scheme = m.layer_schemes[layer * m.attentions + attention];
  if (scheme >= uint64_t(library->schemeCount))
    return fail(TORSOR_NAME, "layer %lld has no attention %lld",
                (long long)layer, (long long)attention);
  *index = scheme;
  return TORSOR_OK;
}

torsor_status torsor_scheme_describe(const torsor_scheme *scheme,
                                     torsor_scheme_info *info) {
  if (!scheme)
    return fail(TORSOR_INVALID, "scheme is null");
  const torsor_descriptor &d = scheme->descriptor;
  torsor_scheme_info out = {};
  out.ops = scheme->ops;
  out.name = orEmpty(d.name);
  out.variant = orEmpty(scheme->variant.name);
  out.canonical = orEmpty(d.canonical);
  out.manifest = orEmpty(d.manifest);
  out.head = d.head, out.value = d.value;
  out.q = d.q, out.k = d.k, out.v = d.v, out.o = d.o;
  out.arguments = scheme->arguments.size();
  out.streams = scheme->streams.size();
  out.decode_queries = scheme->kernel(TORSOR_DECODE) ? d.decode_queries : 0;
  out.window = d.window, out.first = d.first;
  return writeStruct(out, info, "scheme info");
}

static torsor_status describeField(const Array<torsor_field> &fields,
                                   int64_t index, const char *kind,
                                   torsor_argument *out) {
  if (index < 0 || index >= fields.size())
    return fail(TORSOR_NAME, "there is no %s %lld; the scheme has %lld", kind,
                (long long)index, (long long)fields.size());
  const torsor_field &f = fields[index];
  torsor_argument a = {};
  a.flags = f.flags, a.name = f.name, a.stage = f.stage, a.sides = f.sides;
  a.dtype = f.dtype, a.rank = f.rank, a.low = f.low, a.high = f.high;
  std::memcpy(a.shape, f.shape, sizeof a.shape);
  return writeStruct(a, out, kind);
}

torsor_status torsor_scheme_argument(const torsor_scheme *scheme, int64_t index,
                                     torsor_argument *argument) {
  if (!scheme)
    return fail(TORSOR_INVALID, "scheme is null");
  return describeField(scheme->arguments, index, "argument", argument);
}

torsor_status torsor_scheme_stream(const torsor_scheme *scheme, int64_t index,
                                   torsor_argument *stream) {
  if (!scheme)
    return fail(TORSOR_INVALID, "scheme is null");
  return describeField(scheme->streams, index, "stream", stream);
}

void torsor_scheme_destroy(torsor_scheme *scheme) {
  if (scheme)
    releaseLibrary(scheme->library);
}

} // extern "C"
