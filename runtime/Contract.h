// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cache contracts: what cached keys are, as a text that can be compared.
#ifndef TORSOR_RUNTIME_CONTRACT_H
#define TORSOR_RUNTIME_CONTRACT_H

#include "runtime/Tensor.h"

/// `contract 1 groups G <structure>`: words, punctuation, integers, reals (with
/// a point or an exponent), and params as $name:<digest>. Immutable.
struct torsor_contract {
  torsor::Count count;
  torsor::Text text;
  uint64_t fingerprint = 0;
};

namespace torsor {

/// 128 bits over a param's type, extents and elements, however they lie.
class Digest {
public:
  void add(uint64_t word);
  void add(const torsor_tensor &tensor);
  void append(Text &text) const; // 32 hexadecimal digits

private:
  uint64_t a = 0x243f6a8885a308d3, b = 0x13198a2e03707344;
};

/// The contract of `structure` for G groups; `params` (with `names`, `count` of
/// them) take the place of $name. A name that is none of them is
/// TORSOR_INVALID: the object is malformed.
torsor_status makeContract(const char *structure, int64_t groups,
                           const char *const *names,
                           const torsor_tensor *params, int64_t count,
                           torsor_contract **out);

/// TORSOR_OK if a and b agree, else TORSOR_CONTRACT with a text that calls
/// them `nameA` and `nameB`.
torsor_status compareContracts(const torsor_contract &a,
                               const torsor_contract &b, const char *nameA,
                               const char *nameB);

inline void releaseContract(const torsor_contract *contract) {
  if (contract->count.release())
    destroy(const_cast<torsor_contract *>(contract));
}

} // namespace torsor

#endif // TORSOR_RUNTIME_CONTRACT_H
