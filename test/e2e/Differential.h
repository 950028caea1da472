// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One comparison: a text, a call, a kernel and the reference.
#ifndef TORSOR_TEST_E2E_DIFFERENTIAL_H
#define TORSOR_TEST_E2E_DIFFERENTIAL_H

#include "test/e2e/Compare.h"
#include "test/support/SchemeSource.h"

namespace torsor::test {

/// A scheme compiled for one choice of widths and types, beside its IR.
struct Compiled {
  std::unique_ptr<Kernel> kernel;
  SchemeModule module;
  torsor_dtype dtype = TORSOR_F32;
  bool f32Reference = false;
};

/// Null kernel: `error` says why.
Compiled compileBoth(const std::string &source, KernelOptions options,
                     std::string &error);
/// Compiles a text, and fails the test if there is no kernel. Width 0: the
/// scheme's own.
Compiled compileText(const std::string &source, torsor_dtype dtype = TORSOR_F32,
                     int64_t width = 0, const char *target = "");
/// "case_f32", of a parameter of a test that is a case and a type first.
template <typename Info> std::string nameOfParam(const Info &info) {
  return std::string(std::get<0>(info.param).name) + "_" +
         nameOf(std::get<1>(info.param));
}
/// Runs a call both ways; "" if they agree.
std::string differential(const Compiled &compiled, const Problem &problem,
                         const RunOptions &run, Magnitude magnitude);
/// True for the status of a combination that there is no kernel for yet.
bool isUnsupported(const std::string &error);

} // namespace torsor::test

#endif
