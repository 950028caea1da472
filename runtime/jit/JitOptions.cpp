// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads torsor_compile_options.
#include "runtime/jit/JitOptions.h"

#include <fmt/format.h>

using namespace torsor;

/// The element type of a field; `fallback` where it is TORSOR_ANY.
static bool readType(const char *field, int32_t dtype,
                     const std::string &fallback, std::string &out,
                     std::string &error) {
  switch (dtype) {
  case TORSOR_ANY:
    out = fallback;
    return true;
  case TORSOR_F32:
    out = "f32";
    return true;
  case TORSOR_BF16:
    out = "bf16";
    return true;
  case TORSOR_F16:
    out = "f16";
    return true;
  default:
    error = fmt::format("options.{} is {}, but it must be TORSOR_F32, "
                        "TORSOR_BF16 or TORSOR_F16",
                        field, dtype);
    return false;
  }
}

bool torsor::readOptions(const torsor_compile_options *given,
                         CompileOptions &options, std::string &error) {
  torsor_compile_options in = {};
  if (!readStruct(given, in)) {
    error = fmt::format("options.size must be {}, the size of the struct; what "
                        "a later version adds must be zero",
                        sizeof in);
    return false;
  }
  constexpr uint32_t flags = TORSOR_F32_REFERENCE | TORSOR_REMARKS |
                             TORSOR_WARNINGS_ARE_ERRORS |
                             TORSOR_ADDRESS_SANITIZER | TORSOR_THREAD_SANITIZER;
  constexpr uint32_t operations = (2u << TORSOR_STEP) - 2;
  if (in.reserved)
    error = fmt::format("options.reserved is {}, but must be 0", in.reserved);
  else if (in.flags & ~flags)
    error = fmt::format("unknown flags {}", in.flags & ~flags);
  else if (in.ops & ~operations)
    error =
        fmt::format("options.ops has unknown bits {}", in.ops & ~operations);
  else if (in.setting_count < 0 || (in.setting_count && !in.settings))
    error = "options.settings is null, or setting_count is below 0";
  else if (in.head < 0 || in.value < 0)
    error = "options.head or options.value is below 0";
  if (!error.empty())
    return false;
  if (in.scheme)
    options.scheme = in.scheme;
  for (int64_t n = 0; n < in.setting_count; ++n) {
    if (!in.settings[n].name || !in.settings[n].value) {
      error = fmt::format("options.settings[{}] has a null pointer", n);
      return false;
    }
    for (const Setting &other : options.check.settings)
      if (other.name == in.settings[n].name) {
        error = fmt::format("options.settings gives '{}' two values, {} and {}",
                            other.name, other.value, in.settings[n].value);
        return false;
      }
    options.check.settings.push_back(
        {in.settings[n].name, in.settings[n].value});
  }
  options.check.head = options.kernel.head = in.head;
  options.check.value = options.kernel.value = in.value;
  KernelOptions &kernel = options.kernel;
  if (!readType("dtype", in.dtype, "f32", kernel.q, error) ||
      !readType("k_cache", in.k_cache, kernel.q, kernel.k, error) ||
      !readType("v_cache", in.v_cache, kernel.q, kernel.v, error) ||
      !readType("o", in.o, kernel.q, kernel.o, error))
    return false;
  kernel.f32Reference = in.flags & TORSOR_F32_REFERENCE;
  options.operations = in.ops;
  if (in.target)
    options.target = in.target;
  options.remarks = in.flags & TORSOR_REMARKS;
  options.warningsAreErrors = in.flags & TORSOR_WARNINGS_ARE_ERRORS;
  options.addressSanitizer = in.flags & TORSOR_ADDRESS_SANITIZER;
  options.threadSanitizer = in.flags & TORSOR_THREAD_SANITIZER;
  return true;
}
