// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes an encoding that stands beside attention a scheme of its own.
#include "passes/SplitEncoding.h"

#include "passes/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_SPLITENCODING
#include "passes/Passes.h.inc"

static bool isAttentionTerm(Operation &op) {
  return isa<ActionTermOp, ValueActionOp, ScaleOp, SoftcapOp, LogitOp, BiasOp,
             SinkOp, MaskOp, ValueBiasOp, NormOp, ReadoutOp>(op);
}

/// Erases terms, and all that they alone read. Declarations that nothing read
/// before stay, and so does the position, whose range is a contract.
static void eraseTerms(SchemeOp scheme,
                       llvm::function_ref<bool(Operation &)> isErased) {
  llvm::SmallPtrSet<Operation *, 8> kept;
  for (Operation &op : scheme.getBody().front()) {
    auto clock = dyn_cast<ClockOp>(op);
    if (op.use_empty() || (clock && clock.getName() == "pos"))
      kept.insert(&op);
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(scheme.getBody().front()))) {
    bool isRead = !op.use_empty() || kept.contains(&op);
    if (isErased(op) ||
        (!isRead &&
         (isOpTriviallyDead(&op) || isa<SumOp, TabulateOp, RunningOp, PathSumOp,
                                        ClockOp, ParamOp, InputOp>(op))))
      op.erase();
  }
}

static StringAttr findFreeName(ModuleOp module, StringRef scheme) {
  std::string name = (scheme + "_embed").str();
  for (int n = 2; module.lookupSymbol(name); ++n)
    name = (scheme + "_embed_" + Twine(n)).str();
  return StringAttr::get(module.getContext(), name);
}

void splitEncodings(ModuleOp module) {
  for (SchemeOp scheme :
       llvm::make_early_inc_range(module.getOps<SchemeOp>())) {
    Block &body = scheme.getBody().front();
    auto embeds = llvm::to_vector(scheme.getBody().getOps<EmbedOp>());
    if (embeds.empty() || llvm::none_of(body, isAttentionTerm))
      continue;
    StringAttr name = findFreeName(module, scheme.getSymName());
    remark::passed(embeds.front().getLoc(),
                   remark::RemarkOpts::name("SplitEncoding")
                       .category("torsor-split-encoding")
                       .function(scheme.getSymName()))
        << ("what is added to embeddings has a kernel of its own, that of the "
            "scheme '" +
            name.getValue() + "'")
               .str();
    OpBuilder b(scheme.getContext());
    b.setInsertionPointAfter(scheme);
    auto encoding = cast<SchemeOp>(b.clone(*scheme));
    encoding.setSymNameAttr(name);
    for (StringRef width : {"head", "value", "value_low", "value_high"})
      encoding->removeAttr(width);
    eraseTerms(encoding, isAttentionTerm);
    eraseTerms(scheme, [](Operation &op) { return isa<EmbedOp>(op); });
  }
}

namespace {

struct SplitEncoding : impl::SplitEncodingBase<SplitEncoding> {
  void runOnOperation() override { splitEncodings(getOperation()); }
};

} // namespace
} // namespace torsor
