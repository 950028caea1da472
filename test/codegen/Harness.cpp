// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles kernel-level MLIR, loads the object and runs its operations.
#include "Harness.h"

#include "dialect/TorsorDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace torsor::test {

llvm::SmallVector<char> compile(const std::string &text,
                                const CodegenOptions &options) {
  mlir::DialectRegistry registry;
  registerCodegenDialects(registry);
  registry.insert<TorsorDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {};
  auto object = compileToObject(*module, options);
  return mlir::failed(object) ? llvm::SmallVector<char>() : *object;
}

Loaded::Loaded(const std::string &text, const Target &target) {
  CodegenOptions options;
  options.name = "test";
  options.targets = {&target};
  std::error_code error;
  std::optional<llvm::raw_fd_ostream> assembly;
  if (const char *path = std::getenv("TORSOR_TEST_ASM"))
    options.assembly = &assembly.emplace(path, error);
  auto seconds = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  double start = seconds();
  llvm::SmallVector<char> object = compile(text, options);
  compileSeconds = seconds() - start;
  if (object.empty()) {
    std::fprintf(stderr, "a test kernel does not compile\n%s\n", text.c_str());
    std::abort();
  }
  jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()))));
  module = llvm::cantFail(jit->lookup("torsor_module_test"))
               .toPtr<const torsor_module *>();
}

Loaded::~Loaded() = default;

const torsor_kernel_op &Loaded::operation(torsor_op op) const {
  for (uint32_t n = 0; n < variant().op_count; ++n)
    if (variant().ops[n].op == uint32_t(op))
      return variant().ops[n];
  std::fprintf(stderr, "no operation %d\n", int(op));
  std::abort();
}

CallData::CallData(const Loaded &code, int64_t heads, int64_t groups) {
  args.size = sizeof args;
  args.heads = heads;
  args.groups = groups;
  tensors.resize(TORSOR_AT_SCHEME + 2 * code.scheme().argument_count +
                 code.scheme().stream_count);
  const torsor_variant &variant = code.variant();
  if (!variant.tables)
    return;
  tables = std::make_unique<Memory>(variant.tables(heads, groups, nullptr));
  variant.bind(heads, groups, nullptr, tables->data());
  args.tables = tables->data();
}

torsor_tensor &CallData::tensor(size_t number) { return tensors[number]; }

void CallData::add(const torsor_sequence &sequence) {
  sequences.push_back(sequence);
  sequences.back().reserved = sequences.size() - 1;
}

const torsor_kernel_args &CallData::prepare(const torsor_kernel_op &operation,
                                            torsor_kernel_plan &plan) {
  args.sequences = sequences.data();
  args.count = sequences.size();
  args.tensors = tensors.data();
  args.tensor_count = tensors.size();
  args.parts = parts.data();
  args.part_count = parts.size();
  args.workspace = nullptr;
  plan = {};
  plan.size = sizeof plan;
  operation.plan(&args, &plan);
  workspace = std::make_unique<Memory>(plan.workspace_bytes);
  scratchMemory = std::make_unique<Memory>(plan.scratch_bytes);
  args.workspace = workspace->data();
  return args;
}

void CallData::run(const torsor_kernel_op &operation, int pieces) {
  torsor_kernel_plan plan;
  prepare(operation, plan);
  for (uint32_t phase = 0; phase < plan.phases; ++phase)
    for (int64_t piece = pieces; piece-- > 0;) {
      int64_t items = plan.items[phase];
      operation.run(&args, &plan, phase, items * piece / pieces,
                    items * (piece + 1) / pieces, scratch());
    }
}

} // namespace torsor::test
