// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One call of the C interface made from a problem of the reference.
#ifndef TORSOR_TEST_E2E_KERNELCALL_H
#define TORSOR_TEST_E2E_KERNELCALL_H

#include "test/e2e/Kernel.h"

namespace torsor::test {

/// Everything that one call holds on to.
struct Kernel::Call {
  const Kernel &kernel;
  const Problem &problem;
  const RunOptions &options;
  std::vector<TypedTensor> kept;
  std::vector<int32_t> pages;
  torsor_instance *instance = nullptr;
  torsor_cache *cache = nullptr;
  torsor_executor executor = {};
  RunResult result;

  Call(const Kernel &kernel, const Problem &problem, const RunOptions &options)
      : kernel(kernel), problem(problem), options(options) {}
  ~Call();
  /// Runs it whole, into `result`.
  void run();

private:
  /// Whose values per token a call brings.
  enum class Bring { Both, QueriesOnly, NewKeys, NewTokens };

  bool failed(torsor_status status);
  torsor_tensor keep(TypedTensor tensor);
  torsor_tensor keep(const HostArray &array, int32_t dtype);
  torsor_sequence sequence(const SequenceRun &run) const;
  void place(const SequenceRun &run, torsor_sequence &s) const;
  int64_t pagesOf(const SequenceRun &run) const;
  int64_t slotsOfRow() const;
  void fillPages();
  void givePages(torsor_batch &batch) const;
  bool bindParams();
  std::vector<torsor_binding> inputs(Bring bring, int64_t sequence = 0);

  bool makeCache();
  /// Appends the keys of every sequence, or all but those of its queries.
  bool append(const torsor_call &base, bool allButQueries);
  /// How far the keys of a sequence are appended behind their positions.
  int64_t shiftOf(int64_t sequence) const;
  /// Whether a clock is a position, which a shift moves.
  bool isPosition(const torsor_argument &argument) const;
  /// Moves the keys of every sequence back.
  bool rebase(bool allButQueries);
  bool appendRun(int64_t number, int64_t length, const torsor_call &base);

  bool attend(torsor_call &call);
  bool step(torsor_call &call);
  /// Attends to parts of the keys and merges what comes out.
  bool attendInParts(torsor_call &call);
  bool runBatch(torsor_op op, torsor_call &call,
                const std::vector<torsor_sequence> &sequences, Bring bring);
};

} // namespace torsor::test

#endif
