// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derives the test that tells empty, partial and full tiles apart.
#include "passes/TileTest.h"

#include "passes/IntervalAnalysis.h"
#include "passes/PairRanges.h"
#include "passes/Passes.h"
#include "passes/TileTestBox.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_DERIVETILES
#include "passes/Passes.h.inc"

namespace {

/// The operations of a block that its terminator depends on, in order.
SmallVector<Operation *> collectLive(Block &block) {
  llvm::DenseSet<Operation *> live;
  SmallVector<Operation *> order;
  for (Operation &op : llvm::reverse(block)) {
    bool used =
        &op == &block.back() ||
        llvm::any_of(op.getUsers(), [&](auto *u) { return live.contains(u); });
    if (used && live.insert(&op).second)
      order.push_back(&op);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// The box of an argument of the mask whose least and greatest value are
/// arguments of the tile region.
BoxValue fromArguments(BoxCode &code, OpBuilder &b, Location loc, Value low,
                       Value high) {
  Type type = low.getType();
  if (type.isInteger(1)) // Of truth values, false is the lesser.
    return {{}, {}, high, low, {}};
  if (isa<FloatType>(type)) // A NaN among the values is both ends.
    return {
        low,
        high,
        {},
        {},
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, low, high)};
  if (!type.isInteger(64)) {
    low = arith::ExtSIOp::create(b, loc, b.getI64Type(), low);
    high = arith::ExtSIOp::create(b, loc, b.getI64Type(), high);
  }
  return {low, high, {}, {}, {}};
}

void removeUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (&op != &block.back() && op.use_empty())
      op.erase();
}

} // namespace

bool deriveTileRegion(AttentionOp op) {
  op.getTile().getBlocks().clear();
  if (op.getMask().empty())
    return false;
  Block &mask = op.getMask().front();
  IntervalAnalysis ranges;
  setPairRanges(op, mask, ranges);
  ranges.run(mask);

  Block &tile = op.getTile().emplaceBlock();
  OpBuilder b = OpBuilder::atBlockBegin(&tile);
  Location loc = mask.back().getLoc();
  BoxCode code(b, ranges);
  for (auto [n, argument] : llvm::enumerate(mask.getArguments())) {
    Type type = n < 2 ? b.getI64Type() : argument.getType();
    Value low = tile.addArgument(type, argument.getLoc());
    Value high = tile.addArgument(type, argument.getLoc());
    code.set(argument, fromArguments(code, b, loc, low, high));
  }
  SmallVector<Operation *> live = collectLive(mask);
  SmallVector<Operation *> open;
  for (Operation *inner : live)
    if (inner != &mask.back() && !code.emit(*inner))
      open.push_back(inner);
  BoxValue result = code.get(mask.back().getOperand(0));
  YieldOp::create(b, loc, ValueRange{result.mayHold, result.mustHold});
  removeUnused(tile);
  for (Operation *inner : open)
    remark::missed(inner->getLoc(), remark::RemarkOpts::name("TileUndecided")
                                        .category("torsor-derive-tiles"))
        << ("the tile test cannot bound '" + inner->getName().getStringRef() +
            "': tiles that depend on it stay partial")
               .str();
  APInt some, every;
  if (matchPattern(result.mayHold, m_ConstantInt(&some)) && !some.isZero() &&
      matchPattern(result.mustHold, m_ConstantInt(&every)) && every.isZero()) {
    op.getTile().getBlocks().clear();
    return false;
  }
  return true;
}

namespace {

struct DeriveTiles : impl::DeriveTilesBase<DeriveTiles> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) {
      if (!op->hasAttr("maps_decide"))
        deriveTileRegion(op);
    });
  }
};

} // namespace
} // namespace torsor
