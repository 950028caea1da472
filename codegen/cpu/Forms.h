// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The forms in which a kernel holds q and k: one for each distinct action.
#ifndef TORSOR_CODEGEN_CPU_FORMS_H
#define TORSOR_CODEGEN_CPU_FORMS_H

#include "dialect/TorsorDialect.h"

namespace torsor {

/// What acts on q and k in each branch; equal lists are one form.
struct Forms {
  explicit Forms(AttentionOp op);

  struct Branch {
    int64_t query, key; // numbers of forms
  };
  using Blocks = llvm::SmallVector<BlockAttr>;
  llvm::SmallVector<Blocks> queries, keys;
  llvm::SmallVector<Branch> branches;

  /// What acts on v, undone by the query on the output (`value_blocks`).
  Blocks values;

  bool isOne() const { return branches.size() == 1; }
};

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_FORMS_H
