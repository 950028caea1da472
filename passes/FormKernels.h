// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of form-kernels.
#ifndef TORSOR_PASSES_FORMKERNELS_H
#define TORSOR_PASSES_FORMKERNELS_H

#include "passes/SchemePlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace torsor {

/// turns * 2^64 of a frequency in radians per unit, wrapped to one turn.
int64_t turnsOf(double radians);

/// Refuses, at its location, every operation that no kernel computes.
mlir::LogicalResult refuseTerms(SchemeOp scheme);

/// Reads the terms of a scheme into the plan: resolves the action, folds the
/// scale and log2 e. The widths are those of the compile command, 0 if not
/// given.
mlir::LogicalResult planTerms(SchemePlan &plan, int64_t headOption,
                              int64_t valueOption);

/// Gives the terms of running sums that are vectors as lists of scalars.
void listTerms(SchemeOp scheme);

/// Writes the term of every running sum out at the key token, and decides
/// whether keys differ by the query head. To be called on a plain scheme.
mlir::LogicalResult planScans(SchemePlan &plan);

/// Cuts the action into blocks and decides whether a cache holds acted keys.
mlir::LogicalResult planBlocks(SchemePlan &plan);

/// The encoding of a scheme that has nothing else; null for others.
EmbedOp encodingOf(SchemeOp scheme);

/// Takes the lanes of an encoding, and its width as that of the output.
mlir::LogicalResult planEncoding(SchemePlan &plan, EmbedOp embed);

/// Decides what norms, gains by lane and terms that read the contents of keys
/// mean for a cache. To be called behind planBlocks.
mlir::LogicalResult planLanes(SchemePlan &plan);

/// Finds the numbers of keys that a cache keeps, which stand behind all running
/// sums, and decides whether other products make keys differ by the query head.
/// To be called behind planLanes.
void planKept(SchemePlan &plan);

/// Of a value that is a part of the key: whether a cache can hold the key acted
/// on. To be called behind planLanes.
void planValueInKey(SchemePlan &plan);

/// Decides whether cached keys can be moved: whether what the cache would hold
/// at other positions is a function of what it holds and of the shift. To be
/// called behind planLanes.
void planRebase(SchemePlan &plan);
/// The streams that hold positions, which a shift is added to.
llvm::SmallVector<llvm::StringRef> shiftedStreams(const SchemePlan &plan);

/// The frequency of a pair of a turn: a scalar, or the constant vector that
/// holds it at the unit's index. Null for other blocks.
mlir::Value frequencyOf(const ActionUnit &unit);

/// Writes `bind`, or `prepare` if `perSequence`; a null function if no table
/// asks for it. To be called after all kernels are formed.
mlir::FailureOr<mlir::func::FuncOp>
fillTables(SchemePlan &plan, mlir::OpBuilder &module, bool perSequence);

/// Says why keys, scale and bias went where they went.
void remarkDecisions(const SchemePlan &plan);

enum class KernelOperation { Prefill, Decode, Append, Merge, Rebase, Embed };

/// "prefill", "decode", "append", "merge", "rebase", "embed".
llvm::StringRef getName(KernelOperation operation);

/// The most queries of a sequence that `decode` takes.
inline constexpr int64_t decodeQueries = 16;

mlir::FailureOr<mlir::func::FuncOp> formKernel(SchemePlan &plan,
                                               mlir::OpBuilder &module,
                                               KernelOperation operation);

/// The kernel that moves cached keys.
mlir::FailureOr<mlir::func::FuncOp> formRebase(SchemePlan &plan,
                                               mlir::OpBuilder &module);

/// The kernel of a scheme that only adds to embeddings.
mlir::FailureOr<mlir::func::FuncOp> formEmbedding(SchemePlan &plan,
                                                  mlir::OpBuilder &module);

/// The interface of the kernels, with everything a host is shown.
InterfaceOp formInterface(SchemePlan &plan, mlir::OpBuilder &module,
                          mlir::DictionaryAttr operations);

} // namespace torsor

#endif // TORSOR_PASSES_FORMKERNELS_H
