// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last steps of a compilation: targets, the key in the cache, the object.
#include "runtime/jit/CompilationState.h"
#include "runtime/jit/Identity.h"

#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace torsor;

/// The levels that the target names; empty, and an error, if it names none.
llvm::SmallVector<const Target *> Compilation::findTargets() {
  llvm::SmallVector<const Target *> targets;
  const std::string &name = options.target;
  const Target *one = name.empty() ? findHostTarget() : findTarget(name);
  if (one)
    return {one};
  std::string names;
  for (const Target &target : getTargets()) {
    targets.push_back(&target);
    names += ", " + target.name.str();
  }
  if (name == "x86-64")
    return targets;
  if (name.empty())
    diagnostics.error({}, "target",
                      "this CPU lacks AVX2, FMA or F16C; no kernel runs here");
  else if (llvm::StringRef(name).starts_with("sm_") || name == "cuda")
    diagnostics.error({}, "target",
                      fmt::format("no kernel for the target '{}' yet", name));
  else
    diagnostics.error({}, "target",
                      fmt::format("there is no target '{}'; write x86-64 (all "
                                  "levels in one object){}",
                                  name, names));
  return {};
}

Digest Compilation::computeKey(llvm::ArrayRef<const Target *> targets) {
  std::string text = printOperation(*state->schemes);
  const KernelOptions &kernel = options.kernel;
  std::string rest = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {}", kernel.q, kernel.k, kernel.v,
      kernel.o, kernel.head, kernel.value, kernel.f32Reference,
      options.operations, options.moduleName, options.entry,
      options.addressSanitizer, options.threadSanitizer);
  const TileSizes &tiles = options.tiles;
  rest += fmt::format(" {} {} {} {}", tiles.rows, tiles.keys, tiles.split,
                      getCacheBytes());
  for (const Target *target : targets)
    rest += " " + target->name.str();
  return computeDigest({getCompilerIdentity(), text, rest});
}

bool Compilation::makeObject(std::string &object, ObjectCache *cache) {
  if (!emitSchemes())
    return false;
  llvm::SmallVector<const Target *> targets = findTargets();
  if (targets.empty())
    return false;
  std::string warning;
  Digest key = {};
  auto warn = [&] {
    if (!warning.empty())
      diagnostics.warning({}, "cache", warning);
  };
  if (cache && cache->isOn()) {
    Stopwatch watch(seconds);
    mlir::TimingScope timing = total.nest("look into the cache");
    key = computeKey(targets);
    if (auto found = cache->load(key, warning)) {
      object = std::move(*found);
      cached = true;
    }
  }
  // Remarks and what observers see are made anew.
  if (cached && !options.remarks && !observer)
    return true;
  if (!formKernels())
    return false;
  if (cached && !observer)
    return true;
  cached = false;
  Stopwatch watch(seconds);
  if (!generate(targets, object))
    return false;
  // An object from the cache would bring no warnings with it.
  if (cache && silent && warning.empty())
    cache->store(key, object, warning);
  warn();
  return true;
}

bool Compilation::generate(llvm::ArrayRef<const Target *> targets,
                           std::string &object) {
  mlir::TimingScope timing = total.nest("generate code");
  CodegenOptions codegen;
  codegen.timing = &timing;
  codegen.name = options.moduleName;
  codegen.targets.assign(targets.begin(), targets.end());
  codegen.entry = options.entry;
  codegen.sanitizers = {options.addressSanitizer, options.threadSanitizer};
  std::string emitted, llvmIr, assembly;
  llvm::raw_string_ostream emittedOut(emitted), llvmOut(llvmIr),
      assemblyOut(assembly);
  if (observer) {
    codegen.emitted = &emittedOut;
    codegen.llvmIr = &llvmOut;
    codegen.assembly = &assemblyOut;
  }
  bool done = runStep("generating code", false, [&] {
    auto bytes = compileToObject(*state->kernels, codegen);
    if (succeeded(bytes))
      object.assign(bytes->begin(), bytes->end());
    return succeeded(bytes);
  });
  if (done && observer) {
    observer("emitted", emitted);
    observer("llvm", llvmIr);
    observer("asm", assembly);
  }
  return done;
}
