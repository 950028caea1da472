// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One run of the compiler over one file, step by step.
#ifndef TORSOR_RUNTIME_JIT_COMPILATION_H
#define TORSOR_RUNTIME_JIT_COMPILATION_H

#include "frontend/Check.h"
#include "passes/Pipelines.h"
#include "runtime/jit/ObjectCache.h"
#include "runtime/jit/Remarks.h"
#include "runtime/jit/TileChoice.h"
#include "runtime/torsor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"

#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <memory>
#include <string>

namespace torsor {

struct Formal;
struct Target;

/// "decode" for TORSOR_DECODE; "" for what is not compiled on its own.
llvm::StringRef getOperationName(unsigned op);

/// What a caller fixes of a compilation; see torsor_compile_options.
struct CompileOptions {
  /// A scheme or a stack; "": all schemes without open arguments, and the
  /// stacks.
  std::string scheme;
  CheckOptions check;
  KernelOptions kernel;
  TileSizes tiles;
  /// Bit 1 << torsor_op; 0: all that are made.
  uint32_t operations = 0;
  /// "": the level of this CPU. "x86-64": all levels, in one object.
  std::string target;
  /// The constant in the object is torsor_module_<moduleName>.
  std::string moduleName = "jit";
  /// Also `torsor_entry`, which a shared object needs.
  bool entry = false;
  bool remarks = false, warningsAreErrors = false;
  bool addressSanitizer = false, threadSanitizer = false;
  /// Say on standard error what each step took, when the compilation ends.
  bool timing = false;
  /// null: the standard library built in.
  std::shared_ptr<const SourceFile> prelude;
};

/// Called with a stage's name and its text, for stages that are asked for.
using StageObserver =
    std::function<void(llvm::StringRef stage, llvm::StringRef text)>;

/// Each step does those before it that have not been done. False, or null: the
/// list has errors, or getInternalError() says what broke. Its own MLIR
/// context makes compilations independent of each other; one is used by one
/// thread at a time.
class Compilation {
public:
  Compilation(std::shared_ptr<const SourceFile> source, CompileOptions options);
  ~Compilation();

  /// Parses and checks.
  bool check();
  /// The chosen schemes and stacks as a program in canonical form.
  bool getCanonical(std::string &text);
  /// The scheme level, as the front end emits it.
  mlir::ModuleOp emitSchemes();
  /// The kernel level, each interface with its manifest. With `optional`, what
  /// has no kernel yet is a remark instead of an error.
  mlir::ModuleOp formKernels(bool optional = false);
  /// The object. Takes it from `cache` where that has it.
  bool makeObject(std::string &object, ObjectCache *cache = nullptr);

  /// Sees the IR after each pass, and code as LLVM IR and assembly. A stage:
  /// "scheme", the name of a pass, "emitted" (the loops), "llvm", "asm".
  void observe(StageObserver observer) { this->observer = observer; }

  DiagnosticList &getDiagnostics() { return diagnostics; }
  /// True the first time that it is asked of a message: who prints them after
  /// each step prints each once.
  bool isNews(const Diagnostic *message) {
    return shown.insert(message).second;
  }
  const CheckedFile &getFile() const { return *file; }
  /// After check(): the schemes chosen, and what a chosen stack uses.
  llvm::ArrayRef<const Scheme *> getChosen() const { return chosen; }
  const CompileOptions &getOptions() const { return options; }
  /// After formKernels(): the rewrites that passes applied and refused.
  llvm::ArrayRef<Decision> getDecisions() const { return decisions; }
  /// Not empty after a failure that no source can be blamed for.
  const std::string &getInternalError() const { return internalError; }
  /// Seconds that the steps so far took.
  double getSeconds() const { return seconds; }
  /// True if makeObject found the object in the cache.
  bool wasCached() const { return cached; }

private:
  struct State;
  std::shared_ptr<const SourceFile> source;
  CompileOptions options;
  DiagnosticList diagnostics;
  llvm::DenseSet<const Diagnostic *> shown;
  std::unique_ptr<CheckedFile> file;
  std::vector<const Scheme *> chosen;
  std::vector<const Stack *> chosenStacks;
  /// Above the state, whose context reports to it.
  std::vector<Decision> decisions;
  std::unique_ptr<State> state;
  StageObserver observer;
  std::string internalError;
  double seconds = 0;
  /// `silent`: passes and code generation had nothing but remarks to say.
  bool checked = false, cached = false, silent = true;

  bool isClean() const;
  bool failInternal(const std::string &text);
  void choose();
  const Formal *findOpenArgument() const;
  const SourceFile *findSource(llvm::StringRef name) const;
  bool runStep(llvm::StringRef what, bool optional,
               llvm::function_ref<bool()> step);
  bool keepOperations(mlir::ModuleOp module);
  bool canMove(mlir::ModuleOp module);
  /// The second cache that tiles are made for: this CPU's, if the code is.
  int64_t getCacheBytes() const {
    return options.target.empty() ? getSecondCacheBytes() : int64_t{512} << 10;
  }
  llvm::SmallVector<const Target *> findTargets();
  Digest computeKey(llvm::ArrayRef<const Target *> targets);
  bool generate(llvm::ArrayRef<const Target *> targets, std::string &object);

  /// Prints when it dies, so it outlives all that it measures.
  mlir::DefaultTimingManager timer;
  mlir::TimingScope total;
};

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_COMPILATION_H
