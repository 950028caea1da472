// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a problem of the reference to a call of the C interface.
#include "test/e2e/KernelCall.h"

#include <cstdlib>
#include <cstring>

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

/// In a program with a sanitizer's runtime, kernels are checked as well. The
/// variable is for one that has it preloaded.
static uint32_t sanitizerFlags() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return TORSOR_ADDRESS_SANITIZER;
#elif __has_feature(thread_sanitizer)
  return TORSOR_THREAD_SANITIZER;
#endif
#endif
  const char *name = std::getenv("TORSOR_SANITIZE");
  return name && !std::strcmp(name, "address") ? TORSOR_ADDRESS_SANITIZER : 0;
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
  compile.flags =
      (options.f32Reference ? TORSOR_F32_REFERENCE : 0) | sanitizerFlags();
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
  // An encoding may stand beside attention, as a scheme of its own; the name
  // may be a stack's.
  auto find = [&](const char *name) {
    return torsor_library_find(kernel->library, name, TORSOR_ANY,
                               &kernel->scheme) == TORSOR_OK;
  };
  if (!find(options.scheme.c_str()) && !find(nullptr)) {
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

RunResult Kernel::run(const Problem &problem, const RunOptions &options) const {
  Call call(*this, problem, options);
  call.run();
  return call.result;
}

} // namespace torsor::test
