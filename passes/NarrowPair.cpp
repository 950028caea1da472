// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Narrows the integers of pair regions from i64 to i32 where intervals prove
// it.
#include "passes/NarrowPair.h"

#include "passes/OperationWords.h"
#include "passes/PairRanges.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_NARROWPAIR
#include "passes/Passes.h.inc"

namespace {

bool isWide(Value value) { return value.getType().isInteger(64); }

/// Operations that mean the same at 32 bits if nothing leaves 32 bits.
bool isNarrowable(Operation &op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
             arith::RemUIOp, arith::MaxSIOp, arith::MinSIOp, arith::AndIOp,
             arith::OrIOp, arith::XOrIOp, arith::ShRSIOp, arith::SelectOp,
             arith::CmpIOp, arith::SIToFPOp, arith::FPToSIOp, math::AbsIOp>(op);
}

/// Of numbers below 0 these read other bits at 32 than at 64.
bool needsNaturals(Operation &op) {
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    return cmp.getPredicate() == P::ult || cmp.getPredicate() == P::ule ||
           cmp.getPredicate() == P::ugt || cmp.getPredicate() == P::uge;
  }
  return isa<arith::DivUIOp, arith::RemUIOp>(op);
}

} // namespace

SmallVector<Block *> getPairBlocks(AttentionOp op) {
  SmallVector<Block *> blocks;
  for (Region *region : {&op.getBranch(), &op.getInit(), &op.getPath(),
                         &op.getLogit(), &op.getMask(), &op.getValueRow()})
    if (!region->empty())
      blocks.push_back(&region->front());
  return blocks;
}

void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (&op != &block.back() && isOpTriviallyDead(&op))
      op.erase();
}

NarrowBlock::NarrowBlock(AttentionOp op, Block &block)
    : block(block), b(op.getContext()) {
  setPairRanges(op, block, ranges);
  ranges.run(block);
}

bool NarrowBlock::allFit(Operation &op) const {
  auto isNarrow = [&](Value value) { return !isWide(value) || fits(value); };
  if (!llvm::all_of(op.getOperands(), isNarrow) ||
      !llvm::all_of(op.getResults(), isNarrow))
    return false;
  return !needsNaturals(op) || llvm::all_of(op.getOperands(), [&](Value value) {
    return ranges.getRange(value).low >= 0;
  });
}

/// `value` as i32, at the insertion point.
Value NarrowBlock::narrow(Value value) {
  Value &known = narrowed[value];
  if (known)
    return known;
  APInt constant;
  OpBuilder::InsertionGuard guard(b);
  if (matchPattern(value, m_ConstantInt(&constant))) {
    b.setInsertionPointToStart(&block);
    return known = arith::ConstantOp::create(
               b, value.getLoc(), b.getI32IntegerAttr(constant.getSExtValue()));
  }
  if (auto ext = value.getDefiningOp<arith::ExtSIOp>())
    if (ext.getIn().getType().isInteger(32))
      return known = ext.getIn();
  b.setInsertionPointAfterValue(value);
  return known =
             arith::TruncIOp::create(b, value.getLoc(), b.getI32Type(), value);
}

bool NarrowBlock::rewriteIndices(LookupOp op) {
  bool changed = false;
  for (OpOperand &index : op.getIndicesMutable())
    if (isWide(index.get()) && fits(index.get())) {
      index.set(narrow(index.get()));
      changed = true;
    }
  return changed;
}

/// True if `op` no longer works on i64.
bool NarrowBlock::rewrite(Operation &op) {
  if (auto lookup = dyn_cast<LookupOp>(op))
    return rewriteIndices(lookup);
  if (auto dot = dyn_cast<RowDotOp>(op)) {
    bool fitting = isWide(dot.getRow()) && fits(dot.getRow());
    if (fitting)
      dot.getRowMutable().assign(narrow(dot.getRow()));
    return fitting;
  }
  if (!isNarrowable(op) || op.getNumResults() != 1)
    return false;
  Value result = op.getResult(0);
  if (!isWide(result) && llvm::none_of(op.getOperands(), isWide))
    return false;
  if (!allFit(op)) {
    wide.push_back(&op);
    return false;
  }
  b.setInsertionPoint(&op);
  OperationState state(op.getLoc(), op.getName());
  for (Value operand : op.getOperands())
    state.addOperands(isWide(operand) ? narrow(operand) : operand);
  state.addTypes(isWide(result) ? Type(b.getI32Type()) : result.getType());
  state.addAttributes(op.getDiscardableAttrDictionary().getValue());
  Operation *made = b.create(state);
  made->copyProperties(op.getPropertiesStorage());
  // Overflow flags were proved at 64 bits; at 32 nothing wraps either.
  Value value = made->getResult(0);
  if (isWide(result)) {
    narrowed[result] = value;
    value = arith::ExtSIOp::create(b, op.getLoc(), result.getType(), value);
    ranges.setRange(value, ranges.getRange(result));
    narrowed[value] = made->getResult(0);
  }
  result.replaceAllUsesWith(value);
  return true;
}

unsigned NarrowBlock::run() {
  unsigned count = 0;
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    count += rewrite(*op);
  // A truncation of what is narrow already.
  for (Operation *op : ops)
    if (auto trunc = dyn_cast<arith::TruncIOp>(op))
      if (trunc.getType().isInteger(32) && isWide(trunc.getIn()))
        if (Value value = narrowed.lookup(trunc.getIn()); value != trunc)
          if (value)
            trunc.replaceAllUsesWith(value);
  wide.erase(llvm::remove_if(
                 wide, [](Operation *op) { return isOpTriviallyDead(op); }),
             wide.end());
  return count;
}

namespace {

struct NarrowPair : impl::NarrowPairBase<NarrowPair> {
  void runOnOperation() override {
    getOperation()->walk([this](AttentionOp op) { narrow(op); });
  }

  void narrow(AttentionOp op) {
    unsigned count = 0;
    for (Block *block : getPairBlocks(op)) {
      NarrowBlock narrow(op, *block);
      count += narrow.run();
      for (Operation *wide : narrow.getWide())
        remark::missed(wide->getLoc(), options("StaysWide", op))
            << describeOperation(wide) +
                   " stays 64 bits wide: its values may leave 32 bits";
      eraseUnused(*block);
    }
    unsigned slots = narrowSlots(op);
    for (Block *block : getPairBlocks(op)) {
      cheapenDivisions(op, *block);
      eraseUnused(*block);
    }
    if (count || slots)
      remark::passed(op.getLoc(), options("NarrowedPairs", op))
          << "intervals prove that integers of a pair fit 32 bits: " +
                 std::to_string(count) + " of its operations, " +
                 std::to_string(slots) + " of what its tokens bring";
  }

  static remark::RemarkOpts options(StringRef name, AttentionOp op) {
    auto function = op->getParentOfType<func::FuncOp>();
    return remark::RemarkOpts::name(name)
        .category("torsor-narrow-pair")
        .function(function ? function.getName() : StringRef());
  }
};

} // namespace
} // namespace torsor
