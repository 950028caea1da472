// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's remarks as MLIR's diagnostics, and as a list of decisions.
#include "runtime/jit/Remarks.h"

#include "frontend/MlirDiagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"

using namespace torsor;
namespace remark = mlir::remark;

namespace {

class Streamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::vector<Decision> &decisions) : decisions(decisions) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Decision decision;
    for (const auto &arg : remark.getArgs()) {
      if (!decision.text.empty())
        decision.text += ", ";
      decision.text += arg.key == "Remark" ? arg.val : arg.key + " " + arg.val;
    }
    llvm::StringRef pass = remark.getCategoryName();
    pass.consume_front("torsor-");
    mlir::emitRemark(remark.getLocation())
        << decision.text << " [" << pass << "]";
    decision.name = remark.getRemarkName().str();
    decision.pass = pass.str();
    if (llvm::StringRef where = remark.getFunction(); !where.starts_with("<"))
      decision.where = where.str();
    decision.applied = remark.getRemarkType() == llvm::remarks::Type::Passed;
    decision.place = getPlace(remark.getLocation());
    decisions.push_back(std::move(decision));
  }

private:
  std::vector<Decision> &decisions;
};

} // namespace

void torsor::reportRemarks(mlir::MLIRContext &context,
                           std::vector<Decision> &decisions) {
  // `all` alone would only widen filters that are set.
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*";
  categories.analysis = categories.failed = ".*";
  // Fails only without a streamer.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<Streamer>(decisions),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
