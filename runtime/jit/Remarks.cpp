// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's remarks as MLIR's diagnostics.
#include "runtime/jit/Remarks.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"

using namespace torsor;
namespace remark = mlir::remark;

namespace {

class Streamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    for (const auto &arg : remark.getArgs()) {
      if (!text.empty())
        text += ", ";
      text += arg.key == "Remark" ? arg.val : arg.key + " " + arg.val;
    }
    llvm::StringRef pass = remark.getCategoryName();
    pass.consume_front("torsor-");
    mlir::emitRemark(remark.getLocation()) << text << " [" << pass << "]";
  }
};

} // namespace

void torsor::reportRemarks(mlir::MLIRContext &context) {
  // `all` alone would only widen filters that are set.
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*";
  categories.analysis = categories.failed = ".*";
  // Fails only without a streamer.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<Streamer>(),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
