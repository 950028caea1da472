// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipeline from the scheme level to the kernel level.
#ifndef TORSOR_PASSES_PIPELINES_H
#define TORSOR_PASSES_PIPELINES_H

#include <cstdint>
#include <string>

namespace mlir {
class OpPassManager;
}

namespace torsor {

/// What the compile command fixes of every scheme of a module.
struct KernelOptions {
  /// Element types of q, k, v, o: "f32", "bf16" or "f16".
  std::string q = "f32", k = "f32", v = "f32", o = "f32";
  /// Widths where a scheme leaves them open; 0: not given.
  int64_t head = 0, value = 0;
  /// Phases rounded as other libraries round them: the f32 product of the time
  /// and the frequency, both rounded to f32; cos, sin, products and sum in the
  /// storage type.
  bool f32Reference = false;
};

/// Adds the passes that turn every `torsor.scheme` of a module into a
/// `torsor.interface` and its kernels. A scheme that has no kernel yet is an
/// error at the clause ("no kernel for this yet: ..."); decisions are remarks.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         const KernelOptions &options);

} // namespace torsor

#endif // TORSOR_PASSES_PIPELINES_H
