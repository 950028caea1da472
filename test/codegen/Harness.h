// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles kernel-level MLIR, loads the object and runs its operations.
#ifndef TORSOR_TEST_CODEGEN_HARNESS_H
#define TORSOR_TEST_CODEGEN_HARNESS_H

#include "codegen/Codegen.h"
#include "runtime/torsor_kernel.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace torsor::test {

/// An object in memory, ready to run.
class Loaded {
public:
  /// Parses and compiles `text` for `target`; fails the test on an error.
  Loaded(const std::string &text,
         const Target &target = *findTarget("x86-64-v3"));
  ~Loaded();

  const torsor_descriptor &scheme() const { return *module->schemes[0]; }
  const torsor_variant &variant() const { return scheme().variants[0]; }
  const torsor_kernel_op &operation(torsor_op op) const;
  double compileSeconds = 0;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  const torsor_module *module = nullptr;
};

/// Compiles `text` into an object; empty, with the error printed, if it fails.
llvm::SmallVector<char> compile(const std::string &text,
                                const CodegenOptions &options);

/// Memory at a multiple of 64 bytes, filled with 0xff: what is read without
/// having been written shows as NaN.
class Memory {
public:
  explicit Memory(size_t bytes) : bytes(bytes + 128, 0xff) {}
  void *data() {
    auto at = reinterpret_cast<uintptr_t>(bytes.data());
    return reinterpret_cast<void *>((at + 63) / 64 * 64);
  }

private:
  std::vector<unsigned char> bytes;
};

/// A call of one operation: tensors by number, sequences, tables bound.
class CallData {
public:
  CallData(const Loaded &code, int64_t heads, int64_t groups);

  torsor_tensor &tensor(size_t number);
  void add(const torsor_sequence &sequence);
  /// Runs all phases, each cut into `pieces` runs of items, the last first.
  void run(const torsor_kernel_op &operation, int pieces = 1);
  /// Plans into `plan` and gives the arguments, for timing.
  const torsor_kernel_args &prepare(const torsor_kernel_op &operation,
                                    torsor_kernel_plan &plan);
  void *scratch() { return scratchMemory->data(); }

  torsor_kernel_args args = {};
  std::vector<torsor_part> parts;

private:
  std::vector<torsor_tensor> tensors;
  std::vector<torsor_sequence> sequences;
  std::unique_ptr<Memory> tables, workspace, scratchMemory;
};

} // namespace torsor::test

#endif // TORSOR_TEST_CODEGEN_HARNESS_H
