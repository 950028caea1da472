// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `torsor explain` says.
#ifndef TORSOR_RUNTIME_JIT_EXPLAIN_H
#define TORSOR_RUNTIME_JIT_EXPLAIN_H

#include "runtime/jit/Facts.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace torsor {

class Compilation;

/// Length of the sequence that counts are given for, unless told otherwise.
constexpr int64_t defaultExplainLength = 4096;

/// What `torsor explain` prints of what the compilation chose, with or without
/// kernels: a scheme that has none yet is explained, too, and why it has none
/// is a remark. False: the compilation's messages say why.
/// `trained`: tokens of the training where no scheme says it; 0: unknown.
bool explain(Compilation &compilation, bool json, int64_t length,
             std::string &text, int64_t trained = 0);

/// All schemes that a compilation chose, from its two levels of IR; `kernels`
/// may be null.
std::vector<SchemeFacts> gatherAllFacts(const Compilation &compilation,
                                        mlir::ModuleOp schemes,
                                        mlir::ModuleOp kernels, int64_t length,
                                        int64_t trained = 0);

/// What was decided of legality, stability and phases, in plain words.
std::string describeLegality(const SchemeFacts &facts);
/// What the kernels take, and the contract of a cache.
std::string describeKernels(const SchemeFacts &facts);
/// The rewrites that were applied, and those that were refused, with why.
std::string describeRewrites(const SchemeFacts &facts);
/// In plain words.
std::string explainInText(const SchemeFacts &facts);
/// One JSON object. Frequencies are radians per unit of their clock, as the
/// shortest decimals that read back the same doubles.
std::string explainInJson(const SchemeFacts &facts);
/// The JSON of several schemes and stacks: {"schemes": […], "stacks": […]};
/// the members of a scheme that is the only one also stand outside the list.
std::string explainInJson(llvm::ArrayRef<SchemeFacts> facts,
                          mlir::ModuleOp schemes);
/// "0 … 3, 7, 9 … 11"
std::string describeRuns(llvm::ArrayRef<int64_t> numbers);
/// The stacks of a module, with the layers that use each scheme and the memory
/// of a layer's caches.
std::string explainStacks(mlir::ModuleOp schemes,
                          llvm::ArrayRef<SchemeFacts> facts);
/// The facts of a scheme of that name; null if there is none.
const SchemeFacts *findFacts(llvm::ArrayRef<SchemeFacts> facts,
                             llvm::StringRef name);

/// Writes the canonical form and the JSON of each scheme into its interface.
void attachManifests(const Compilation &compilation, mlir::ModuleOp schemes,
                     mlir::ModuleOp kernels);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_EXPLAIN_H
