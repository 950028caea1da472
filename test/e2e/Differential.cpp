// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles and evaluates the same text.
#include "test/e2e/Differential.h"

#include <gtest/gtest.h>

namespace torsor::test {

Compiled compileBoth(const std::string &source, KernelOptions options,
                     std::string &error) {
  Compiled result;
  result.dtype = options.dtype;
  result.f32Reference = options.f32Reference;
  SourceOptions check;
  check.scheme = options.scheme;
  check.settings = options.settings;
  check.head = options.head;
  check.value = options.value;
  result.module = parseSource(source, check);
  error = result.module.error;
  if (error.empty())
    result.kernel = Kernel::compile(source, options, error);
  return result;
}

Compiled compileText(const std::string &source, torsor_dtype dtype,
                     int64_t width, const char *target) {
  KernelOptions options;
  options.head = options.value = width;
  options.dtype = dtype;
  options.target = target;
  std::string error;
  Compiled compiled = compileBoth(source, options, error);
  EXPECT_TRUE(compiled.kernel) << source << "\n" << error;
  return compiled;
}

std::string differential(const Compiled &compiled, const Problem &problem,
                         const RunOptions &run, Magnitude magnitude) {
  Problem rounded = compiled.kernel->rounded(problem);
  rounded.f32Phases = compiled.f32Reference;
  mlir::ModuleOp module = compiled.module.module.get();
  auto reference = evaluate(*module.getOps<SchemeOp>().begin(), rounded);
  if (!reference)
    return "reference: " + toString(reference.takeError());
  RunResult result = compiled.kernel->run(problem, run);
  return compare(result, *reference, rounded, compiled.dtype, magnitude);
}

bool isUnsupported(const std::string &error) {
  return error.rfind("unsupported", 0) == 0;
}

} // namespace torsor::test
