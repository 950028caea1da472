// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds params to a scheme: names, shapes, values, tables, contract.

#include "runtime/Instance.h"

#include "runtime/Plan.h"

using namespace torsor;

torsor_instance::~torsor_instance() {
  for (auto &place : idle)
    if (torsor_plan *plan = place.load())
      destroy(plan);
  std::free(tables);
  if (contract)
    releaseContract(contract);
  if (scheme)
    releaseLibrary(scheme->library);
}

namespace torsor {

void resolveShape(const torsor_field &field, int64_t heads, int64_t groups,
                  int64_t *shape, const char **what) {
  for (int32_t a = 0; a < field.rank; ++a) {
    int64_t extent = field.shape[a];
    shape[a] = extent == TORSOR_EXTENT_H   ? heads
               : extent == TORSOR_EXTENT_G ? groups
               : extent < 0                ? -1
                                           : extent;
    what[a] = extent == TORSOR_EXTENT_H   ? "H"
              : extent == TORSOR_EXTENT_G ? "G"
                                          : nullptr;
  }
}

/// Edits needed to turn one short name into another.
static int64_t distance(const char *a, const char *b) {
  constexpr size_t limit = 31;
  size_t n = strnlen(a, limit), m = strnlen(b, limit);
  int64_t row[limit + 1];
  for (size_t j = 0; j <= m; ++j)
    row[j] = int64_t(j);
  for (size_t i = 1; i <= n; ++i) {
    int64_t diagonal = row[0];
    row[0] = int64_t(i);
    for (size_t j = 1; j <= m; ++j) {
      int64_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      int64_t best = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
      row[j] = best < change ? best : change;
    }
  }
  return row[m];
}

void appendNames(Text &text, const torsor_scheme &scheme, const char *wrong,
                 bool params) {
  int64_t begin = params ? scheme.firstParam : 0;
  int64_t end = params ? scheme.arguments.size() : scheme.firstParam;
  int64_t nearest = -1, best = 3;
  for (int64_t a = begin; a < end; ++a)
    if (int64_t d = distance(scheme.arguments[a].name, wrong); d < best)
      best = d, nearest = a;
  if (nearest >= 0)
    text.appendf("did you mean '%s'?", scheme.arguments[nearest].name);
  else if (begin == end)
    text.append("there are none");
  else
    text.append("there are ");
  for (int64_t a = begin; nearest < 0 && a < end; ++a)
    text.appendf(a == begin ? "'%s'" : ", '%s'", scheme.arguments[a].name);
}

} // namespace torsor

namespace {

struct Binder {
  torsor_instance &instance;
  const torsor_scheme &scheme;
  Array<char> bound;

  torsor_status bind(const torsor_binding &binding, int64_t n);
  torsor_status bindAll(const torsor_binding *params, int64_t count);
  torsor_status checkValues();
  torsor_status makeTables();
  torsor_status makeContractOfParams();
};

torsor_status Binder::bind(const torsor_binding &binding, int64_t n) {
  if (!binding.name)
    return fail(TORSOR_INVALID, "instance: the name of param %lld is null",
                (long long)n);
  int64_t a = scheme.findArgument(binding.name);
  const char *schemeName = orEmpty(scheme.descriptor.name);
  if (a < 0 || a < scheme.firstParam) {
    Text names;
    appendNames(names, scheme, binding.name, true);
    if (a >= 0)
      return fail(TORSOR_NAME,
                  "instance: '%s' is an input of '%s', which each "
                  "call brings; it is no param",
                  binding.name, schemeName);
    return fail(TORSOR_NAME, "instance: scheme '%s' has no param '%s'; %s",
                schemeName, binding.name, names.get());
  }
  if (binding.side || binding.reserved)
    return fail(TORSOR_INVALID,
                "instance: param '%s': side and reserved must "
                "be 0, but they are %u and %u",
                binding.name, binding.side, binding.reserved);
  int64_t p = a - scheme.firstParam;
  if (bound[p])
    return fail(TORSOR_NAME, "instance: param '%s' is given twice",
                binding.name);
  if (!present(binding.tensor))
    return TORSOR_OK; // as if it were not there: then it is missing
  bound[p] = 1;
  const torsor_field &field = scheme.arguments[a];
  TensorRule rule = {"instance", field.name, field.dtype, field.rank,
                     {},         {},         false};
  resolveShape(field, instance.heads, instance.groups, rule.shape, rule.what);
  instance.params[p] = binding.tensor;
  return checkTensor(rule, instance.params[p]);
}

torsor_status Binder::bindAll(const torsor_binding *params, int64_t count) {
  int64_t wanted = scheme.arguments.size() - scheme.firstParam;
  if (!instance.params.resize(wanted) || !bound.resize(wanted))
    return failMemory(wanted * int64_t(sizeof(torsor_tensor)));
  for (int64_t p = 0; p < wanted; ++p)
    instance.params[p] = torsor_tensor(), bound[p] = 0;
  for (int64_t n = 0; n < count; ++n)
    if (torsor_status status = bind(params[n], n))
      return status;
  for (int64_t p = 0; p < wanted; ++p) {
    const torsor_field &field = scheme.arguments[scheme.firstParam + p];
    if (!bound[p] && !(field.flags & TORSOR_ARG_OPTIONAL))
      return fail(TORSOR_NAME, "instance: param '%s' of scheme '%s' is missing",
                  field.name, orEmpty(scheme.descriptor.name));
  }
  return TORSOR_OK;
}

torsor_status Binder::checkValues() {
  for (int64_t p = 0; p < instance.params.size(); ++p) {
    const torsor_field &field = scheme.arguments[scheme.firstParam + p];
    if (!bound[p])
      continue;
    torsor_status status =
        checkRange("instance", "param", field.name, instance.params[p],
                   field.low, field.high);
    if (!status && field.condition > 0)
      status = checkCondition(field.name, instance.params[p], field.condition);
    if (status)
      return status;
  }
  return TORSOR_OK;
}

torsor_status Binder::makeTables() {
  const torsor_variant &variant = scheme.variant;
  if (!variant.tables)
    return TORSOR_OK;
  int64_t bytes =
      variant.tables(instance.heads, instance.groups, instance.params.data());
  if (bytes < 0)
    return fail(TORSOR_INTERNAL, "scheme '%s' wants tables of %lld bytes",
                orEmpty(scheme.descriptor.name), (long long)bytes);
  instance.tables = allocateAligned(bytes);
  if (!instance.tables)
    return failMemory(bytes);
  if (variant.bind)
    variant.bind(instance.heads, instance.groups, instance.params.data(),
                 instance.tables);
  return TORSOR_OK;
}

torsor_status Binder::makeContractOfParams() {
  Array<const char *> names;
  Array<torsor_tensor> read;
  for (int64_t p = 0; p < instance.params.size(); ++p) {
    const torsor_field &field = scheme.arguments[scheme.firstParam + p];
    if (field.contract && bound[p] &&
        !(names.push(field.name) && read.push(instance.params[p])))
      return failMemory(sizeof(torsor_tensor));
  }
  return makeContract(orEmpty(scheme.descriptor.contract), instance.groups,
                      names.data(), read.data(), names.size(),
                      &instance.contract);
}

torsor_status createInstance(torsor_scheme *scheme, int64_t heads,
                             int64_t groups, const torsor_binding *params,
                             int64_t count, torsor_instance **out) {
  constexpr int64_t limit = INT32_MAX;
  if (heads < 1 || groups < 1 || heads > limit || heads % groups)
    return fail(TORSOR_INVALID,
                "instance: H is %lld and G is %lld; both must "
                "be positive and H a multiple of G",
                (long long)heads, (long long)groups);
  if (count < 0 || (count && !params))
    return fail(TORSOR_INVALID,
                "instance: params is null or their count, "
                "%lld, is negative",
                (long long)count);
  torsor_instance *instance = make<torsor_instance>();
  if (!instance)
    return failMemory(sizeof(torsor_instance));
  scheme->library->count.retain();
  instance->scheme = scheme;
  instance->heads = heads, instance->groups = groups;
  Binder binder{*instance, *scheme, {}};
  torsor_status status = binder.bindAll(params, count);
  if (!status)
    status = binder.checkValues();
  if (!status)
    status = binder.makeTables();
  if (!status)
    status = binder.makeContractOfParams();
  if (status)
    releaseInstance(instance);
  else
    *out = instance;
  return status;
}

} // namespace

extern "C" {

torsor_status torsor_instance_create(torsor_scheme *scheme, int64_t heads,
                                     int64_t groups,
                                     const torsor_binding *params,
                                     int64_t count, torsor_instance **out) {
  if (!out)
    return fail(TORSOR_INVALID, "instance: out is null");
  *out = nullptr;
  if (!scheme)
    return fail(TORSOR_INVALID, "scheme is null");
  return createInstance(scheme, heads, groups, params, count, out);
}

void torsor_instance_destroy(torsor_instance *instance) {
  if (instance)
    releaseInstance(instance);
}

const torsor_contract *
torsor_instance_contract(const torsor_instance *instance) {
  return instance ? instance->contract : nullptr;
}

} // extern "C"
