// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Affine bounds on the keys that a tile of queries sees.
#include "passes/BoundMasks.h"

#include "passes/BoundMasksRead.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace torsor {

#define GEN_PASS_DEF_BOUNDMASKS
#include "passes/Passes.h.inc"

namespace {

using Result = ExprContext::Result;

/// Turns sets of keys per query into intervals of keys per tile of queries.
class TileLift {
public:
  TileLift(ExprContext &exprs, KeySolver &solver, MLIRContext *context)
      : exprs(exprs), solver(solver), context(context) {}

  /// Intervals that hold the union over the queries of the tile, or with
  /// `full` such as lie in the intersection.
  SmallVector<IntervalAttr> lift(const KeySet &set, bool full) {
    KeySet lifted;
    for (const KeyCell &cell : set)
      if (auto bounds = liftCell(cell, full))
        lifted.push_back(std::move(*bounds));
    solver.simplify(lifted);
    SmallVector<IntervalAttr> intervals;
    for (bool first : {true, false}) // Those from the first key on come first.
      for (const KeyCell &cell : lifted)
        if (cell.lowers.empty() == first)
          intervals.push_back(toInterval(cell));
    return intervals;
  }

private:
  /// Moves `bounds` to the tile. False if one of them has no form there.
  bool liftBounds(const SmallVector<LinearExpr, 2> &bounds, bool greatest,
                  SmallVector<LinearExpr, 2> &lifted) {
    bool all = true;
    for (const LinearExpr &bound : bounds) {
      Result moved = exprs.extreme(bound, greatest);
      if (moved && exprs.toAffine(*moved, context))
        lifted.push_back(*moved);
      else
        all = false;
    }
    return all;
  }

  std::optional<KeyCell> liftCell(const KeyCell &cell, bool full) {
    KeyCell moved;
    SmallVector<LinearExpr, 2> guards;
    bool all = liftBounds(cell.lowers, full, moved.lowers);
    all &= liftBounds(cell.uppers, !full, moved.uppers);
    all &= liftBounds(cell.guards, full, guards);
    // j < N - maxIndex g holds for every key if g <= 0 and for none if g >= 1.
    for (const LinearExpr &guard : guards) {
      Result scaled = exprs.scale(guard, -maxIndex);
      Result upper = scaled ? exprs.add(exprs.leaf(TermKind::Length), *scaled)
                            : std::nullopt;
      if (upper && exprs.toAffine(*upper, context))
        moved.uppers.push_back(*upper);
      else if (!(exprs.range(guard).second <= 0))
        all = false;
    }
    if (full && !all)
      return std::nullopt;
    return moved;
  }

  IntervalAttr toInterval(const KeyCell &cell) {
    SmallVector<AffineExpr> lower, upper;
    bool natural = llvm::any_of(cell.lowers, [&](const LinearExpr &bound) {
      return exprs.range(bound).first >= 0;
    });
    if (!natural)
      lower.push_back(getAffineConstantExpr(0, context));
    for (const LinearExpr &bound : cell.lowers)
      lower.push_back(exprs.toAffine(bound, context));
    for (const LinearExpr &bound : cell.uppers)
      upper.push_back(exprs.toAffine(bound, context));
    upper.push_back(getAffineSymbolExpr(0, context));
    return IntervalAttr::get(context, AffineMap::get(2, 1, lower, context),
                             AffineMap::get(2, 1, upper, context));
  }

  ExprContext &exprs;
  KeySolver &solver;
  MLIRContext *context;
};

/// The bounds of `mask`; `unread` gets what they do not account for.
MaskBounds boundWith(Value mask, MLIRContext *context, bool follow,
                     SmallVector<Operation *> &unread) {
  ExprContext exprs;
  KeySolver solver(exprs);
  MaskReader reader(exprs, solver, follow);
  KeyBounds keys = mask ? reader.read(mask) : KeySolver::all();
  TileLift tile(exprs, solver, context);
  MaskBounds bounds;
  bounds.visible = tile.lift(keys.may, false);
  bounds.full = tile.lift(keys.must, true);
  bounds.needsTile = !keys.exact;
  unread.assign(reader.getUnread().begin(), reader.getUnread().end());
  return bounds;
}

/// The same, with positions as indices where that says more.
MaskBounds boundBest(Value mask, MLIRContext *context,
                     SmallVector<Operation *> &unread) {
  MaskBounds plain = boundWith(mask, context, false, unread);
  if (!plain.needsTile)
    return plain;
  SmallVector<Operation *> unreadFollowing;
  MaskBounds following = boundWith(mask, context, true, unreadFollowing);
  if (following.visible == plain.visible && following.full == plain.full)
    return plain;
  unread = unreadFollowing;
  following.byPosition = true;
  following.needsTile = true;
  return following;
}

struct BoundMasks : impl::BoundMasksBase<BoundMasks> {
  void runOnOperation() override {
    getOperation()->walk([&](MaskOp mask) { annotate(mask); });
  }

  void annotate(MaskOp mask) {
    Builder builder(&getContext());
    SmallVector<Operation *> unread;
    MaskBounds bounds = boundBest(mask.getOperand(), &getContext(), unread);
    auto list = [&](ArrayRef<IntervalAttr> intervals) {
      return builder.getArrayAttr(
          SmallVector<Attribute>(intervals.begin(), intervals.end()));
    };
    mask->setAttr("visible", list(bounds.visible));
    mask->setAttr("full", list(bounds.full));
    auto set = [&](StringRef name, bool value) {
      if (value)
        mask->setAttr(name, builder.getUnitAttr());
      else
        mask->removeAttr(name);
    };
    set("by_position", bounds.byPosition);
    set("needs_tile", bounds.needsTile);
    for (Operation *op : unread)
      remark::missed(op->getLoc(), remark::RemarkOpts::name("MaskNotBounded")
                                       .category("torsor-bound-masks"))
          << "no affine bound says where this holds; tiles are tested";
    if (bounds.byPosition)
      remark::passed(mask.getLoc(), remark::RemarkOpts::name("MaskByPosition")
                                        .category("torsor-bound-masks"))
          << "the bounds of this mask hold while positions are the indices";
  }
};

} // namespace

MaskBounds boundMask(Value mask, MLIRContext *context) {
  SmallVector<Operation *> unread;
  return boundBest(mask, context, unread);
}

} // namespace torsor
