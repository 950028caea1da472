// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots of i64 that are read as i32.
#include "passes/NarrowPair.h"
#include "passes/PairRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace torsor {
namespace {

/// One slot of a kernel and its places in the regions.
struct Slot {
  mutable AttentionOp op;
  bool isRow;
  unsigned number;

  Block &source() const {
    return (isRow ? op.getRows() : op.getColumns()).front();
  }
  unsigned rows() const { return op.getRows().front().back().getNumOperands(); }
  unsigned columns() const {
    return op.getColumns().front().back().getNumOperands();
  }
  /// The number of the slot among all, rows first.
  unsigned position() const { return isRow ? number : rows() + number; }
  unsigned argument(Block &pair) const {
    return pair.getNumArguments() - rows() - columns() + position();
  }

  /// Is the slot read by the kernel beside its pair regions?
  bool isFixed() const {
    auto is = [&](std::optional<int64_t> slot) {
      return isRow && slot && *slot == int64_t(number);
    };
    if (is(op.getScaleSlot()) || is(op.getSinkSlot()))
      return true;
    if (isRow && !op.getDivide().empty() &&
        !op.getDivide().getArgument(1 + number).use_empty())
      return true;
    for (Attribute branch : op.getBranches())
      for (Attribute block : cast<ArrayAttr>(branch)) {
        auto attribute = cast<BlockAttr>(block);
        if ((isRow ? attribute.getS() : attribute.getT()) == int64_t(number))
          return true;
      }
    return false;
  }
};

bool isTruncation(Operation *user) {
  return isa<arith::TruncIOp>(user) &&
         user->getResult(0).getType().isInteger(32);
}

Value truncate(OpBuilder &b, Location loc, Value value) {
  if (auto ext = value.getDefiningOp<arith::ExtSIOp>())
    if (ext.getIn().getType().isInteger(32))
      return ext.getIn();
  return arith::TruncIOp::create(b, loc, b.getI32Type(), value);
}

void useNarrow(BlockArgument from, Value narrow) {
  for (Operation *user : llvm::make_early_inc_range(from.getUsers()))
    if (isTruncation(user)) {
      user->getResult(0).replaceAllUsesWith(narrow);
      user->erase();
    }
}

/// Gives the slot itself the type i32.
void retype(const Slot &slot) {
  Operation &yield = slot.source().back();
  OpBuilder b(&yield);
  yield.setOperand(slot.number,
                   truncate(b, yield.getLoc(), yield.getOperand(slot.number)));
  for (Block *block : getPairBlocks(slot.op)) {
    BlockArgument argument = block->getArgument(slot.argument(*block));
    argument.setType(b.getI32Type());
    useNarrow(argument, argument);
  }
  if (slot.isRow && !slot.op.getDivide().empty())
    slot.op.getDivide().getArgument(1 + slot.number).setType(b.getI32Type());
  if (slot.op.getTile().empty())
    return;
  Block &tile = slot.op.getTile().front();
  b.setInsertionPointToStart(&tile);
  for (unsigned end : {0, 1}) {
    BlockArgument argument = tile.getArgument(4 + 2 * slot.position() + end);
    argument.setType(b.getI32Type());
    if (argument.use_empty())
      continue;
    auto wide =
        arith::ExtSIOp::create(b, argument.getLoc(), b.getI64Type(), argument);
    argument.replaceAllUsesExcept(wide, wide);
  }
}

/// Appends a slot that is the i32 of `slot`.
void duplicate(const Slot &slot) {
  Operation &yield = slot.source().back();
  OpBuilder b(&yield);
  // Arguments first: they are counted by what the regions yield.
  unsigned last = slot.isRow ? slot.rows() : slot.rows() + slot.columns();
  for (Block *block : getPairBlocks(slot.op)) {
    unsigned first = block->getNumArguments() - slot.rows() - slot.columns();
    BlockArgument from = block->getArgument(slot.argument(*block));
    BlockArgument made =
        block->insertArgument(first + last, b.getI32Type(), from.getLoc());
    useNarrow(from, made);
  }
  if (slot.isRow && !slot.op.getDivide().empty())
    slot.op.getDivide().front().addArgument(b.getI32Type(), yield.getLoc());
  if (!slot.op.getTile().empty())
    for (unsigned end : {0, 1})
      slot.op.getTile().front().insertArgument(4 + 2 * last + end,
                                               b.getI32Type(), yield.getLoc());
  Value narrow = truncate(b, yield.getLoc(), yield.getOperand(slot.number));
  yield.insertOperands(yield.getNumOperands(), narrow);
}

} // namespace

unsigned narrowSlots(AttentionOp op) {
  unsigned count = 0;
  SmallVector<Block *> blocks = getPairBlocks(op);
  for (bool isRow : {true, false}) {
    Slot slot{op, isRow, 0};
    unsigned before = isRow ? slot.rows() : slot.columns();
    for (slot.number = 0; slot.number < before; ++slot.number) {
      bool narrow = false, wide = slot.isFixed();
      for (Block *block : blocks) {
        BlockArgument argument = block->getArgument(slot.argument(*block));
        for (Operation *user : argument.getUsers())
          (isTruncation(user) ? narrow : wide) = true;
      }
      if (!narrow ||
          !slot.source().back().getOperand(slot.number).getType().isInteger(64))
        continue;
      if (wide)
        duplicate(slot);
      else
        retype(slot);
      ++count;
    }
  }
  return count;
}

} // namespace torsor
