// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remarks of form-kernels.
#ifndef TORSOR_PASSES_FORMREMARKS_H
#define TORSOR_PASSES_FORMREMARKS_H

#include "passes/FormKernels.h"

#include "mlir/IR/Remarks.h"

namespace torsor {

/// Says of one scheme which rewrites were applied and which refused, and why. A
/// rewrite has the same name either way.
class SchemeRemarks {
public:
  explicit SchemeRemarks(const SchemePlan &plan) : plan(plan) {}

  void keys();
  void rebase();
  void phases();
  void lanes();
  void blocks();
  void scale();
  void bias();
  void mask();
  void contents();
  void forms();

private:
  void applied(mlir::Location loc, llvm::StringRef name,
               const std::string &text) {
    mlir::remark::passed(loc, options(name)) << text;
  }
  void refused(mlir::Location loc, llvm::StringRef name,
               const std::string &text) {
    mlir::remark::missed(loc, options(name)) << text;
  }
  mlir::remark::RemarkOpts options(llvm::StringRef name) const {
    return mlir::remark::RemarkOpts::name(name)
        .category("torsor-form-kernels")
        .function(SchemeOp(plan.scheme).getSymName());
  }

  /// The first term of this kind; null if there is none.
  template <typename Term> Term term() const {
    for (Term found : SchemeOp(plan.scheme).getBody().getOps<Term>())
      return found;
    return {};
  }
  /// The place of such a term, or else of the scheme.
  template <typename Term> mlir::Location find() const {
    Term found = term<Term>();
    return found ? found.getLoc() : SchemeOp(plan.scheme).getLoc();
  }

  std::optional<mlir::Location> biasPlace() const;
  std::string whyPerPair() const;

  const SchemePlan &plan;
};

} // namespace torsor

#endif // TORSOR_PASSES_FORMREMARKS_H
