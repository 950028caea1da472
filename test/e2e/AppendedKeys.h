// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `append` makes of keys: the action itself, without attention.
#ifndef TORSOR_TEST_E2E_APPENDEDKEYS_H
#define TORSOR_TEST_E2E_APPENDEDKEYS_H

#include "test/e2e/Kernel.h"

namespace torsor::test {

/// An instance of one head that appends keys at given positions.
class Appender {
public:
  /// `params` have the values of problem.arguments, by name. Failures are those
  /// of the test.
  Appender(const Kernel &kernel, const std::vector<NamedArray> &params = {});
  ~Appender();
  Appender(const Appender &) = delete;

  /// The stored keys of k [1, 1, tokens, D], token n at positions[n]; the key
  /// is the value, too. `piece`: tokens of a call, 0: all.
  std::vector<double> keys(const HostArray &k,
                           const std::vector<int64_t> &positions,
                           int64_t piece = 0) const;
  torsor_instance *handle() const { return instance; }

private:
  const Kernel &kernel;
  std::vector<TypedTensor> kept;
  torsor_instance *instance = nullptr;
};

/// Keys [1, 1, tokens, width] whose first `pairs` lanes are 1 and others 0:
/// acted on by `split`, they are cosines and sines.
HostArray unitKeys(int64_t tokens, int64_t width);

} // namespace torsor::test

#endif
