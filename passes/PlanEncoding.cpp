// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme that only adds to embeddings.
#include "passes/FormKernels.h"
#include "passes/KernelRegions.h"
#include "passes/PlainScheme.h"

using namespace mlir;

namespace torsor {

EmbedOp encodingOf(SchemeOp scheme) {
  EmbedOp found;
  for (Operation &op : scheme.getBody().front()) {
    if (isa<ActionTermOp, ValueActionOp, ScaleOp, SoftcapOp, LogitOp, BiasOp,
            SinkOp, MaskOp, ValueBiasOp, NormOp, ReadoutOp>(op))
      return {};
    if (auto embed = dyn_cast<EmbedOp>(op))
      found = embed;
  }
  return found;
}

LogicalResult planEncoding(SchemePlan &plan, EmbedOp embed) {
  Value vector = embed.getOperand();
  int64_t width = cast<RankedTensorType>(vector.getType()).getDimSize(0);
  if (ShapedType::isDynamic(width) || width < 1)
    return noKernel(embed.getLoc(), "an encoding whose width is open");
  if (plan.varies.of(vector).has(VarySet::Query | VarySet::Content |
                                 VarySet::Path | VarySet::Score |
                                 VarySet::Head | VarySet::Group))
    return noKernel(embed.getLoc(),
                    "an encoding that reads more than its token");
  plan.head = plan.value = width;
  OpBuilder b(embed);
  auto list = vector.getDefiningOp<ListOp>();
  if (list && width <= maxTerms) {
    llvm::append_range(plan.encoding, list.getElements());
    return success();
  }
  plan.encodingLane = CountedOp::create(b, embed.getLoc(), b.getI64Type());
  plan.encoding.push_back(laneOf(b, embed.getLoc(), vector, plan.encodingLane));
  return success();
}

FailureOr<func::FuncOp> formEmbedding(SchemePlan &plan, OpBuilder &module) {
  Location loc = plan.scheme.getLoc();
  MLIRContext *context = module.getContext();
  int64_t any = ShapedType::kDynamic;
  Type o =
      MemRefType::get({any, any, any, plan.value}, plan.o,
                      StridedLayoutAttr::get(context, any, {any, any, any, 1}));
  Type sequences = MemRefType::get({any, 12}, module.getI64Type());
  auto function = func::FuncOp::create(
      module, loc, (plan.scheme.getSymName() + ".embed").str(),
      module.getFunctionType({o, sequences}, {}));
  function->setAttr("torsor.operation", module.getStringAttr("embed"));
  Block *body = function.addEntryBlock();
  KernelFunction kernel(function);

  Region element;
  element.push_back(new Block());
  SideCode code(plan, kernel, Side::Key, &element.front(), loc);
  code.isAddressedAsQuery = true;
  Value lane = element.front().addArgument(module.getI64Type(), loc);
  if (plan.encodingLane)
    code.define(plan.encodingLane, lane);
  SmallVector<Value> lanes;
  for (Value value : plan.encoding) {
    // The same value may stand in several lanes.
    int64_t slot = code.slot(value, module.getF32Type());
    if (slot < 0)
      return failure();
    lanes.push_back(code.slots[slot].here);
  }
  YieldOp::create(code.builder(), loc, lanes);
  OpBuilder b = OpBuilder::atBlockEnd(body);
  auto op =
      EmbeddingOp::create(b, loc, body->getArgument(0), body->getArgument(1),
                          kernel.tables, b.getArrayAttr(kernel.info));
  op.getElement().takeBody(element);
  func::ReturnOp::create(b, loc);
  return function;
}

} // namespace torsor
