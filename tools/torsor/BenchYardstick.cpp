// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hand-written kernel beside the one that is timed.
#include "tools/torsor/BenchYardstick.h"

#include <bit>

using namespace torsor;

bool torsor::canYardstick(const BenchShape &shape) {
  return !shape.decode && shape.threads == 1 && shape.batch == 1 &&
         shape.queries == shape.keys && shape.head == shape.value &&
         (shape.head == 64 || shape.head == 128);
}

// With bf16 each float of q, k, v and o stands for two, of which the kernel
// uses half: 1/2 is 0x3f00, 1/4 is 0x3e80.
BenchYardstick::BenchYardstick(const BenchShape &shape, bool causal, bool bf16,
                               bool narrow)
    : q(shape.heads * shape.keys * shape.head,
        bf16 ? std::bit_cast<float>(0x3f003f00) : 0.5f),
      k(shape.groups * shape.keys * shape.head,
        bf16 ? std::bit_cast<float>(0x3e803e80) : 0.25f),
      v(k), o(q), cosine(shape.keys * shape.head / 2, 1.0f),
      sine(cosine.size(), 0.0f),
      problem{q.data(),      k.data(),    v.data(),    o.data(),
              cosine.data(), sine.data(), shape.heads, shape.groups,
              shape.keys,    shape.head,  causal},
      memory(problem), isa(narrow ? YardstickIsa::Avx2
                           : bf16 ? YardstickIsa::Avx512Bf16
                                  : getBestYardstick()) {}

Subject BenchYardstick::makeSubject(bool inPieces) {
  Subject subject = {"yardstick",
                     [this] { runYardstick(isa, problem, memory); }};
  if (inPieces)
    for (int64_t n = 0, e = countYardstickPieces(problem); n < e; ++n)
      subject.pieces.emplace_back(
          [this, n] { runYardstickPiece(isa, problem, memory, n); });
  return subject;
}
