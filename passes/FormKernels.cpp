// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that turns every scheme of a module into kernels and an interface.
#include "passes/FormKernels.h"

#include "passes/Legality.h"
#include "passes/NormalizeAction.h"
#include "passes/Passes.h"
#include "passes/PlainScheme.h"
#include "passes/ScalarCode.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Passes.h.inc"

namespace {

Type elementType(StringRef name, MLIRContext *context) {
  return llvm::StringSwitch<Type>(name)
      .Case("f32", Float32Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Case("f16", Float16Type::get(context))
      .Default(Type());
}

/// The elements of a vector as a list.
Value listOf(OpBuilder &b, Value vector) {
  Location loc = vector.getLoc();
  int64_t count = cast<RankedTensorType>(vector.getType()).getDimSize(0);
  SmallVector<Value> elements;
  for (int64_t p = 0; p < count; ++p) {
    Value index = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(p));
    elements.push_back(
        ElementOp::create(b, loc, b.getF64Type(), vector, index));
  }
  return ListOp::create(b, loc, vector.getType(), elements);
}

/// Gives an action without clock the position, and turns the frequencies that
/// are not constant into lists of scalars.
void spellOut(SchemeOp scheme) {
  for (TurnOp turn :
       llvm::make_early_inc_range(scheme.getBody().getOps<TurnOp>())) {
    Value vector = turn.getFrequencies();
    if (constantReal(vector) || vector.getDefiningOp<ListOp>())
      continue;
    OpBuilder b(turn);
    turn.getFrequenciesMutable().assign(listOf(b, vector));
  }
  for (PlaneOp plane :
       llvm::make_early_inc_range(scheme.getBody().getOps<PlaneOp>()))
    for (unsigned n : {1, 2}) {
      OpBuilder b(plane);
      if (!plane->getOperand(n).getDefiningOp<ListOp>())
        plane->setOperand(n, listOf(b, plane->getOperand(n)));
    }
  for (NormOp norm : scheme.getBody().getOps<NormOp>())
    for (bool key : {false, true}) {
      Value vector = key ? norm.getK() : norm.getQ();
      if (!vector || vector.getDefiningOp<ListOp>())
        continue;
      OpBuilder b(norm);
      Value list = listOf(b, vector);
      (key ? norm.getKMutable() : norm.getQMutable()).assign(list);
    }
  listTerms(scheme);
  placeAtPosition(scheme, false);
}

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    bool ok = true;
    for (SchemeOp scheme :
         llvm::make_early_inc_range(getOperation().getOps<SchemeOp>()))
      ok &= succeeded(form(scheme));
    if (!ok)
      signalPassFailure();
  }

  LogicalResult form(SchemeOp scheme);
  LogicalResult setTypes(SchemePlan &plan);
  LogicalResult formOperations(SchemePlan &plan);
};

LogicalResult FormKernels::setTypes(SchemePlan &plan) {
  for (auto [name, type] : {std::pair(&q, &plan.q), std::pair(&k, &plan.k),
                            std::pair(&v, &plan.v), std::pair(&o, &plan.o)}) {
    *type = elementType(*name, &getContext());
    if (!*type)
      return plan.scheme.emitError("elements are f32, bf16 or f16, but '")
             << *name << "' was asked for";
  }
  if (plan.scheme.getValueLow()) // v is read from k
    plan.v = plan.k;
  return success();
}

LogicalResult FormKernels::form(SchemeOp scheme) {
  if (failed(checkDeclarations(scheme)))
    return failure();
  spellOut(scheme);
  if (failed(makePlain(scheme)) || failed(liftDots(scheme)) ||
      failed(makePlain(scheme)) || failed(refuseTerms(scheme)))
    return failure();
  SchemePlan plan(scheme);
  if (failed(planScans(plan)))
    return failure();
  plan.f32Reference = f32Reference;
  EmbedOp embed = encodingOf(scheme);
  if (failed(setTypes(plan)))
    return failure();
  if (embed ? failed(planEncoding(plan, embed))
            : failed(planTerms(plan, head, value)) ||
                  failed(planBlocks(plan)) || failed(planLanes(plan)))
    return failure();
  if (!embed)
    planKept(plan);
  plan.slotsByHead &= !plan.keysByHead;
  if (!embed) {
    planValueInKey(plan);
    planRebase(plan);
  }
  if (!embed)
    remarkDecisions(plan);
  if (failed(formOperations(plan)))
    return failure();
  scheme.erase();
  return success();
}

/// What adds to an embedding does nothing else.
SmallVector<KernelOperation> operationsOf(SchemePlan &plan) {
  if (encodingOf(plan.scheme))
    return {KernelOperation::Embed};
  SmallVector<KernelOperation> operations = {
      KernelOperation::Prefill, KernelOperation::Decode,
      KernelOperation::Append, KernelOperation::Merge};
  if (plan.whyNoRebase.empty())
    operations.push_back(KernelOperation::Rebase);
  return operations;
}

/// The kernels of the plan, what fills its tables, and the interface that names
/// them.
LogicalResult FormKernels::formOperations(SchemePlan &plan) {
  OpBuilder module(plan.scheme);
  SmallVector<NamedAttribute> operations;
  auto name = [&](func::FuncOp function) {
    StringAttr operation =
        function->getAttrOfType<StringAttr>("torsor.operation");
    operations.emplace_back(operation,
                            FlatSymbolRefAttr::get(function.getSymNameAttr()));
  };
  for (KernelOperation operation : operationsOf(plan)) {
    FailureOr<func::FuncOp> kernel = operation == KernelOperation::Embed
                                         ? formEmbedding(plan, module)
                                     : operation == KernelOperation::Rebase
                                         ? formRebase(plan, module)
                                         : formKernel(plan, module, operation);
    if (failed(kernel))
      return failure();
    name(*kernel);
  }
  for (bool perSequence : {false, true}) {
    FailureOr<func::FuncOp> fill = fillTables(plan, module, perSequence);
    if (failed(fill))
      return failure();
    if (*fill)
      name(*fill);
  }
  formInterface(plan, module, module.getDictionaryAttr(operations));
  return success();
}

} // namespace
} // namespace torsor
