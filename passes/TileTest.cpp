// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derives the test that tells empty, partial and full tiles apart.
#include "passes/TileTest.h"

#include "passes/IntervalAnalysis.h"
#include "passes/OperationWords.h"
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

namespace {

/// Emits the region of a pair into the tile region, over the box of its
/// arguments; gives what it yields, and what cannot be bounded in `open`.
BoxValue emitOverBox(AttentionOp op, Block &pair, Block &tile, OpBuilder &b,
                     SmallVectorImpl<Operation *> &open) {
  IntervalAnalysis ranges;
  setPairRanges(op, pair, ranges);
  ranges.run(pair);
  BoxCode code(b, ranges);
  Location loc = pair.back().getLoc();
  for (auto [n, argument] : llvm::enumerate(pair.getArguments()))
    code.set(argument, fromArguments(code, b, loc, tile.getArgument(2 * n),
                                     tile.getArgument(2 * n + 1)));
  for (Operation *inner : collectLive(pair))
    if (inner != &pair.back() && !code.emit(*inner))
      open.push_back(inner);
  return code.get(pair.back().getOperand(0));
}

void remarkOpen(AttentionOp op, ArrayRef<Operation *> open) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (Operation *inner : open)
    remark::missed(inner->getLoc(),
                   remark::RemarkOpts::name("TileUndecided")
                       .category("torsor-derive-tiles")
                       .function(function ? function.getName() : StringRef()))
        << "the tile test cannot bound " + describeOperation(inner) +
               ": tiles that depend on it stay partial";
}

} // namespace

bool deriveTileRegion(AttentionOp op) {
  op.getTile().getBlocks().clear();
  bool hasMask = !op.getMask().empty() && !op->hasAttr("maps_decide");
  bool hasBranch = !op.getBranch().empty();
  if (!hasMask && !hasBranch)
    return false;
  Block &first = (hasMask ? op.getMask() : op.getBranch()).front();
  Block &tile = op.getTile().emplaceBlock();
  OpBuilder b = OpBuilder::atBlockBegin(&tile);
  Location loc = first.back().getLoc();
  for (auto [n, argument] : llvm::enumerate(first.getArguments())) {
    Type type = n < 2 ? b.getI64Type() : argument.getType();
    tile.addArgument(type, argument.getLoc());
    tile.addArgument(type, argument.getLoc());
  }
  SmallVector<Operation *> open;
  SmallVector<Value> results;
  auto truth = [&](bool value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(value));
  };
  if (hasMask) {
    BoxValue seen = emitOverBox(op, op.getMask().front(), tile, b, open);
    results = {seen.mayHold, seen.mustHold};
  } else { // The maps say what is seen.
    results = {truth(true), truth(false)};
  }
  APInt some, every;
  if (!hasBranch && matchPattern(results[0], m_ConstantInt(&some)) &&
      !some.isZero() && matchPattern(results[1], m_ConstantInt(&every)) &&
      every.isZero()) {
    remarkOpen(op, open);
    op.getTile().getBlocks().clear();
    return false;
  }
  if (hasBranch) {
    BoxValue number = emitOverBox(op, op.getBranch().front(), tile, b, open);
    for (auto [value, end] :
         {std::pair(number.low, int64_t(0)),
          std::pair(number.high, int64_t(op.getBranches().size()) - 1)})
      results.push_back(value ? value
                              : Value(arith::ConstantOp::create(
                                    b, loc, b.getI64IntegerAttr(end))));
  }
  YieldOp::create(b, loc, results);
  removeUnused(tile);
  remarkOpen(op, open);
  return true;
}

namespace {

struct DeriveTiles : impl::DeriveTilesBase<DeriveTiles> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) {
      if (!op->hasAttr("maps_decide") || !op.getBranch().empty())
        deriveTileRegion(op);
    });
  }
};

} // namespace
} // namespace torsor
