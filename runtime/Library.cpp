// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links, opens and looks into libraries of compiled schemes.

#include "runtime/Library.h"

#include "runtime/Cpu.h"
#include "runtime/torsor_private.h"

#include <dlfcn.h>

using namespace torsor;

namespace torsor {

const char *opName(uint32_t op) {
  static const char *const names[] = {
      "no operation", "attend", "prefill", "decode",    "append",   "merge",
      "rebase",       "embed",  "chunk",   "recurrent", "backward", "step"};
  return op < uint32_t(opLimit) ? names[op] : "unknown operation";
}

namespace {

/// Copies an element of an object's array, or a struct with its own size.
template <class T>
void readElementOf(const void *base, int64_t index, uint32_t size, T &out) {
  std::memset(&out, 0, sizeof out);
  std::memcpy(&out, static_cast<const char *>(base) + index * size,
              size < sizeof out ? size : sizeof out);
}

template <class T>
bool readArray(const void *base, uint32_t count, uint32_t size, Array<T> &out) {
  if (!out.resize(count))
    return false;
  for (uint32_t n = 0; n < count; ++n)
    readElementOf(base, n, size, out[n]);
  return true;
}

/// The code that a scheme may run, and that which is preferred where there is
/// some.
struct Choice {
  Features allowed, preferred;
};

/// Takes the first variant that needs no other features than these.
bool takeVariant(torsor_scheme &scheme, const Features &features) {
  const torsor_descriptor &d = scheme.descriptor;
  for (uint32_t n = 0; n < d.variant_count; ++n) {
    readElementOf(d.variants, n, d.variant_size, scheme.variant);
    if (features.contains(scheme.variant.features))
      return true;
  }
  return false;
}

torsor_status chooseVariant(torsor_scheme &scheme, const Choice &choice) {
  if (takeVariant(scheme, choice.preferred) ||
      takeVariant(scheme, choice.allowed))
    return TORSOR_OK;
  const torsor_descriptor &d = scheme.descriptor;
  Text offered;
  for (uint32_t n = 0; n < d.variant_count; ++n) {
    readElementOf(d.variants, n, d.variant_size, scheme.variant);
    if (n)
      offered.append(", ");
    offered.append(orEmpty(scheme.variant.name));
  }
  Text level;
  describeFeatures(choice.allowed.bits, level);
  return fail(TORSOR_MACHINE,
              "scheme '%s': the object has code for %s, but the CPU (or the "
              "level asked for) is %s",
              orEmpty(d.name), d.variant_count ? offered.get() : "no CPU",
              level.get());
}

torsor_status malformed(const torsor_scheme &scheme, const char *what) {
  return fail(TORSOR_INVALID, "the object is malformed: scheme '%s': %s",
              orEmpty(scheme.descriptor.name), what);
}

torsor_status checkFields(const torsor_scheme &scheme) {
  const auto &arguments = scheme.arguments;
  for (int64_t a = 0; a < arguments.size(); ++a) {
    const torsor_field &f = arguments[a];
    if (!f.name || f.rank < 0 || f.rank > TORSOR_MAX_RANK - 2 ||
        !elementBytes(f.dtype) || f.stage < TORSOR_LOADED ||
        f.stage > TORSOR_PER_TOKEN)
      return malformed(scheme, "an argument has no name, a wrong rank, type or "
                               "stage");
    if ((f.stage == TORSOR_LOADED) != (a >= scheme.firstParam))
      return malformed(scheme, "params must be the last arguments");
  }
  for (int64_t s = 0; s < scheme.streams.size(); ++s) {
    const torsor_field &f = scheme.streams[s];
    if (!f.name || f.rank < 0 || f.rank > TORSOR_MAX_RANK - 2 ||
        !elementBytes(f.dtype) || (scheme.perGroup(s) && f.rank != 2))
      return malformed(scheme, "a stream has no name, a wrong rank or type");
  }
  return TORSOR_OK;
}

void countOps(torsor_scheme &scheme) {
  for (int op = 1; op < opLimit; ++op)
    if (scheme.kernel(op))
      scheme.ops |= 1u << op;
  if (scheme.ops & (1u << TORSOR_PREFILL | 1u << TORSOR_DECODE))
    scheme.ops |= 1u << TORSOR_ATTEND;
  if (scheme.ops & 1u << TORSOR_ATTEND && scheme.ops & 1u << TORSOR_APPEND)
    scheme.ops |= 1u << TORSOR_STEP;
}

torsor_status readScheme(torsor_scheme &scheme, const torsor_descriptor *from,
                         const Choice &choice) {
  if (!from || from->size < sizeof(uint32_t))
    return fail(TORSOR_INVALID, "the object is malformed: a scheme is null");
  torsor_descriptor &d = scheme.descriptor;
  readElementOf(from, 0, from->size, d);
  if (torsor_status status = chooseVariant(scheme, choice))
    return status;
  if (!readArray(d.arguments, d.argument_count, d.argument_size,
                 scheme.arguments) ||
      !readArray(d.streams, d.stream_count, d.stream_size, scheme.streams))
    return failMemory(int64_t(sizeof(torsor_field)) *
                      (int64_t(d.argument_count) + d.stream_count));
  scheme.firstParam = scheme.arguments.size();
  while (scheme.firstParam &&
         scheme.arguments[scheme.firstParam - 1].stage == TORSOR_LOADED)
    --scheme.firstParam;
  if (torsor_status status = checkFields(scheme))
    return status;
  for (uint32_t n = 0; n < scheme.variant.op_count; ++n) {
    torsor_kernel_op op;
    readElementOf(scheme.variant.ops, n, scheme.variant.op_size, op);
    if (op.op < uint32_t(opLimit) && op.op != TORSOR_ATTEND &&
        op.op != TORSOR_STEP && op.plan && op.run)
      scheme.kernels[op.op] = op;
  }
  countOps(scheme);
  log(TORSOR_DEBUG, "scheme '%s': variant %s", orEmpty(d.name),
      orEmpty(scheme.variant.name));
  return TORSOR_OK;
}

torsor_status checkModule(const torsor_module *module) {
  if (!module)
    return fail(TORSOR_INVALID, "module is null");
  if (module->magic != TORSOR_MAGIC)
    return fail(TORSOR_INVALID, "this is no module of compiled schemes: it "
                                "begins with the wrong bytes");
  if (module->abi != TORSOR_KERNEL_ABI_MAJOR ||
      module->needs > TORSOR_KERNEL_ABI_MINOR)
    return fail(TORSOR_VERSION,
                "the object, made by %s, speaks ABI %u and needs at least "
                "%u.%u, but this core speaks %u.%u; compile it again",
                orEmpty(module->producer), module->abi, module->abi,
                module->needs, TORSOR_KERNEL_ABI_MAJOR,
                TORSOR_KERNEL_ABI_MINOR);
  return TORSOR_OK;
}

torsor_status readChoice(const torsor_load_options *options, Choice &choice) {
  choice = {cpuFeatures(), fastFeatures()};
  if (!options)
    return TORSOR_OK;
  torsor_load_options read;
  if (torsor_status status = readStruct(options, read, "load options"))
    return status;
  if (read.flags)
    return fail(TORSOR_INVALID, "load options: unknown flags 0x%x", read.flags);
  if (!read.cpu)
    return TORSOR_OK;
  Features wanted;
  if (torsor_status status = parseCpu(read.cpu, wanted))
    return status;
  if (!choice.allowed.contains(wanted.bits))
    return fail(TORSOR_MACHINE,
                "load options: cpu '%s' does not run here; "
                "this CPU is %s",
                read.cpu, torsor_cpu());
  choice = {wanted, wanted};
  return TORSOR_OK;
}

void destroySchemes(torsor_library *library) {
  for (int64_t n = 0; n < library->schemeCount; ++n) {
    library->schemes[n].arguments.~Array();
    library->schemes[n].streams.~Array();
  }
  std::free(library->schemes);
}

torsor_status load(const torsor_module *module,
                   const torsor_load_options *options, torsor_library **out) {
  if (torsor_status status = checkModule(module))
    return status;
  Choice choice;
  if (torsor_status status = readChoice(options, choice))
    return status;
  torsor_library *library = make<torsor_library>();
  if (!library)
    return failMemory(sizeof(torsor_library));
  readElementOf(module, 0, module->size, library->module);
  int64_t count = library->module.scheme_count;
  // All zero is a scheme without fields.
  library->schemes = static_cast<torsor_scheme *>(
      std::calloc(size_t(count ? count : 1), sizeof(torsor_scheme)));
  if (!library->schemes) {
    destroy(library);
    return failMemory(count * int64_t(sizeof(torsor_scheme)));
  }
  library->schemeCount = count;
  torsor_status status = TORSOR_OK;
  for (int64_t n = 0; n < count && !status; ++n) {
    library->schemes[n].library = library;
    status =
        readScheme(library->schemes[n], library->module.schemes[n], choice);
  }
  if (status)
    releaseLibrary(library);
  else
    *out = library;
  return status;
}

} // namespace

void releaseLibrary(torsor_library *library) {
  if (!library->count.release())
    return;
  destroySchemes(library);
  if (library->release)
    library->release(library->context);
  if (library->handle)
    dlclose(library->handle);
  destroy(library);
}

} // namespace torsor

static torsor_status openFile(const char *path,
                              const torsor_load_options *options,
                              torsor_library **out) {
  Text full; // without a slash dlopen would search the system's folders
  full.append(std::strchr(path, '/') ? "" : "./");
  full.append(path);
  if (!full.complete())
    return failMemory(full.size());
  void *handle = dlopen(full.get(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(TORSOR_IO, "cannot load '%s': %s", path, orEmpty(dlerror()));
  auto entry =
      static_cast<const torsor_module *const *>(dlsym(handle, "torsor_entry"));
  torsor_status status = TORSOR_OK;
  if (!entry)
    status = fail(TORSOR_IO,
                  "'%s' has no torsor_entry: it was not made by "
                  "torsor compile --shared",
                  path);
  else
    status = load(*entry, options, out);
  if (status)
    dlclose(handle);
  else
    (*out)->handle = handle;
  return status;
}

extern "C" {

torsor_status torsor_library_link(const torsor_module *module,
                                  const torsor_load_options *options,
                                  torsor_library **out) {
  return torsor_library_adopt(module, options, nullptr, nullptr, out);
}

torsor_status torsor_library_adopt(const torsor_module *module,
                                   const torsor_load_options *options,
                                   void (*release)(void *), void *context,
                                   torsor_library **out) {
  if (!out)
    return fail(TORSOR_INVALID, "library: out is null");
  *out = nullptr;
  if (torsor_status status = load(module, options, out))
    return status;
  (*out)->release = release;
  (*out)->context = context;
  return TORSOR_OK;
}

torsor_status torsor_library_open(const char *path,
                                  const torsor_load_options *options,
                                  torsor_library **out) {
  if (!out)
    return fail(TORSOR_INVALID, "library: out is null");
  *out = nullptr;
  if (!path)
    return fail(TORSOR_INVALID, "library: path is null");
  return openFile(path, options, out);
}

void torsor_library_destroy(torsor_library *library) {
  if (library)
    releaseLibrary(library);
}

} // extern "C"
