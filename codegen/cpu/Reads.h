// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which arguments of the scheme an operation reads, and where.
#ifndef TORSOR_CODEGEN_CPU_READS_H
#define TORSOR_CODEGEN_CPU_READS_H

#include "codegen/cpu/Spec.h"

#include <vector>

namespace torsor {

/// TORSOR_READS_ bits by argument. What only the action on keys reads is
/// needed at fresh keys alone, if the cache holds acted keys.
std::vector<uint8_t> readsOf(const Kernel &kernel, AttentionOp op);
std::vector<uint8_t> readsOf(const Kernel &kernel, AppendOp op);
std::vector<uint8_t> readsOf(const Kernel &kernel, RebaseOp op);
std::vector<uint8_t> readsOf(const Kernel &kernel, MergeOp op);
std::vector<uint8_t> readsOf(const Kernel &kernel, EmbeddingOp op);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_READS_H
