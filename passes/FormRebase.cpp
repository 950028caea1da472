// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forms the kernel that moves cached keys to other positions.
#include "passes/FormBlocks.h"
#include "passes/FormKernels.h"

using namespace mlir;

namespace torsor {

FailureOr<func::FuncOp> formRebase(SchemePlan &plan, OpBuilder &module) {
  Location loc = plan.scheme.getLoc();
  int64_t any = ShapedType::kDynamic;
  Type keys = MemRefType::get(
      {any, any, any, plan.head}, plan.k,
      StridedLayoutAttr::get(module.getContext(), any, {any, any, any, 1}));
  Type sequences = MemRefType::get({any, 12}, module.getI64Type());
  auto function = func::FuncOp::create(
      module, loc, (plan.scheme.getSymName() + ".rebase").str(),
      module.getFunctionType({keys, sequences}, {}));
  function->setAttr("torsor.operation", module.getStringAttr("rebase"));
  OpBuilder b = OpBuilder::atBlockEnd(function.addEntryBlock());
  KernelFunction kernel(function);
  ArrayAttr blocks = b.getArrayAttr({});
  if (plan.keysActed) {
    FailureOr<ArrayAttr> formed =
        formShift(plan, kernel, plan.branches.front());
    if (failed(formed))
      return failure();
    blocks = *formed;
  }
  RebaseOp::create(b, loc, function.getArgument(0), function.getArgument(1),
                   kernel.tables, b.getArrayAttr(kernel.info), blocks,
                   b.getStrArrayAttr(shiftedStreams(plan)));
  func::ReturnOp::create(b, loc);
  return function;
}

} // namespace torsor
