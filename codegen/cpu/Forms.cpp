// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The forms in which a kernel holds q and k: one for each distinct action.
#include "codegen/cpu/Forms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {

/// The slot is 0 for every token.
static bool isZeroSlot(Region &region, int64_t slot) {
  return matchPattern(region.front().getTerminator()->getOperand(slot),
                      m_Zero()) ||
         matchPattern(region.front().getTerminator()->getOperand(slot),
                      m_AnyZeroFloat());
}

/// The blocks as one side sees them: what only the other one reads is left out,
/// and so is what does nothing. What grows or fades needs both sides' times.
static Forms::Blocks onSide(AttentionOp op, ArrayAttr blocks, bool query) {
  Forms::Blocks side;
  for (BlockAttr block : blocks.getAsRange<BlockAttr>()) {
    double gain = query ? block.qGain() : block.kGain();
    bool isStill = block.getKind() == BlockKind::Zero ||
                   (block.acts() && !block.getFamily() &&
                    isZeroSlot(query ? op.getRows() : op.getColumns(),
                               query ? block.getS() : block.getT()));
    if (isStill && gain == 1 && !block.isAnchored())
      continue;
    if (block.isAnchored()) {
      side.push_back(block);
      continue;
    }
    side.push_back(BlockAttr::get(
        op.getContext(), block.getKind(), block.getLanes(), block.getRates(),
        block.getRateOffset(), query ? block.getS() : -1,
        query ? -1 : block.getT(), query ? block.getGainQ() : FloatAttr(),
        query ? FloatAttr() : block.getGainK(), block.getKeys(),
        block.getOrder(), block.getVectors(), block.getFamily(),
        block.getMember(), block.getKeyVectors()));
  }
  return side;
}

static int64_t numberOf(SmallVectorImpl<Forms::Blocks> &forms,
                        Forms::Blocks blocks) {
  auto at = llvm::find(forms, blocks);
  int64_t number = at - forms.begin();
  if (at == forms.end())
    forms.push_back(std::move(blocks));
  return number;
}

Forms::Forms(AttentionOp op) {
  if (auto blocks = op.getValueBlocksAttr())
    for (BlockAttr block : blocks.getAsRange<BlockAttr>())
      values.push_back(block);
  if (op.getBranches().size() <= 1) {
    Blocks blocks;
    if (!op.getBranches().empty())
      for (Attribute block : cast<ArrayAttr>(op.getBranches()[0]))
        blocks.push_back(cast<BlockAttr>(block));
    queries = {blocks};
    keys = {blocks};
    branches = {{0, 0}};
    return;
  }
  for (ArrayAttr blocks : op.getBranches().getAsRange<ArrayAttr>())
    branches.push_back({numberOf(queries, onSide(op, blocks, true)),
                        numberOf(keys, onSide(op, blocks, false))});
}

} // namespace torsor
