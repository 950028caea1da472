// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a scheme just in time and runs calls through the C interface.
#ifndef TORSOR_TEST_E2E_KERNEL_H
#define TORSOR_TEST_E2E_KERNEL_H

#include "reference/Reference.h"
#include "runtime/torsor_jit.h"
#include "test/e2e/Memory.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace torsor::test {

/// What a compilation fixes.
struct KernelOptions {
  std::string scheme; ///< A scheme or a stack; "": the only one.
  std::map<std::string, std::string> settings;
  int64_t head = 0, value = 0;
  torsor_dtype dtype = TORSOR_F32;
  std::string target; ///< "": this machine.
  bool f32Reference = false;
};

/// How a cache lies. The slots of a row, or of a page where it is paged; 0: as
/// many as the keys need.
struct CacheForm {
  torsor_layout layout = TORSOR_CONTIGUOUS;
  int64_t slots = 0;
  int64_t pinned = 0;
  int64_t turns = 0; ///< How often a ring has turned before the first key.
};

/// How a call is made.
struct RunOptions {
  /// STEP: all keys but the queries' are appended before.
  torsor_op op = TORSOR_ATTEND;
  Layout layout = Layout::Dense;
  int64_t threads = 1;
  /// 0: fresh keys. Else keys go through a cache, appended in pieces of so
  /// many tokens.
  int64_t appended = 0;
  CacheForm cache = {};
  /// 0: the keys in one piece. Else in so many, cut by chance, some of them
  /// empty, whose results are merged.
  int64_t parts = 0;
  uint64_t seed = 1;
  /// Not 0: keys are appended so many positions behind their own and then moved
  /// to these, all sequences by amounts of their own.
  int64_t shift = 0;
};

struct RunResult {
  torsor_status status = TORSOR_OK;
  std::string error;
  std::vector<double> o, lse; ///< As Output holds them.
  bool gapsUntouched = true;
};

/// A compiled scheme.
class Kernel {
public:
  /// Null: `error` holds the diagnostics and the status' text.
  static std::unique_ptr<Kernel> compile(const std::string &source,
                                         const KernelOptions &options,
                                         std::string &error);
  /// The scheme of a stack's layer; the library is shared.
  static std::unique_ptr<Kernel> compileLayer(const std::string &source,
                                              const KernelOptions &options,
                                              int64_t layer, int64_t attention,
                                              std::string &error);
  ~Kernel();

  /// The call with q, k, v and real arguments rounded to their storage types:
  /// what the reference must be given.
  Problem rounded(const Problem &problem) const;
  RunResult run(const Problem &problem, const RunOptions &options) const;
  torsor_scheme *handle() const { return scheme; }
  const torsor_scheme_info &info() const { return description; }

private:
  struct Call;
  Kernel() = default;
  bool describe(std::string &error);

  torsor_library *library = nullptr;
  torsor_scheme *scheme = nullptr;
  torsor_scheme_info description = {};
  std::vector<torsor_argument> arguments;
};

} // namespace torsor::test

#endif
