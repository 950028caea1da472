// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When two actions on the same lanes commute: by rule, never by a number.
#include "passes/Legality.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace torsor {
namespace {

bool meets(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return llvm::any_of(
      a, [&](int64_t lane) { return llvm::is_contained(b, lane); });
}

/// The same rate for certain: one value, or equal constants.
bool isSameRate(Value a, Value b) {
  if (a == b)
    return true;
  auto x = constantReal(a), y = constantReal(b);
  return x && y && *x == *y;
}

/// Is what `scalar` belongs to one multiple of the identity on all of `lanes`?
/// Several decays of the same rate count as one.
bool isScalarOn(const ActionUnit &scalar, ArrayRef<int64_t> lanes,
                ArrayRef<const ActionUnit *> side) {
  auto decay = dyn_cast<DecayOp>(scalar.block);
  if (!decay)
    return false;
  return llvm::all_of(lanes, [&](int64_t lane) {
    return llvm::any_of(side, [&](const ActionUnit *other) {
      auto same = dyn_cast<DecayOp>(other->block);
      return same && isSameRate(decay.getRate(), same.getRate()) &&
             other->timeQ == scalar.timeQ && other->timeK == scalar.timeK &&
             llvm::is_contained(other->lanes, lane);
    });
  });
}

/// Nonzero elements of a constant vector; none known: empty optional.
std::optional<SmallVector<int64_t>> support(Value vector) {
  SmallVector<int64_t> lanes;
  int64_t extent = cast<RankedTensorType>(vector.getType()).getDimSize(0);
  for (int64_t n = 0; n < extent; ++n) {
    std::optional<double> value = constantReal(vector, n);
    if (!value)
      return std::nullopt;
    if (*value != 0)
      lanes.push_back(n);
  }
  return lanes;
}

/// Planes whose vectors share no lane are orthogonal, exactly.
bool areOrthogonal(PlaneOp a, PlaneOp b) {
  auto all = [](PlaneOp plane) -> std::optional<SmallVector<int64_t>> {
    auto u = support(plane.getU()), v = support(plane.getV());
    if (!u || !v)
      return std::nullopt;
    u->append(*v);
    return u;
  };
  auto x = all(a), y = all(b);
  return x && y && !meets(*x, *y);
}

std::string lanesText(ArrayRef<int64_t> lanes) {
  std::string text = "[";
  for (size_t n = 0; n < lanes.size() && n < 4; ++n)
    text += (n ? ", " : "") + std::to_string(lanes[n]);
  return text + (lanes.size() > 4 ? ", …]" : "]");
}

} // namespace

bool Legality::commute(const ActionUnit &a, const ActionUnit &b) const {
  if (isa<ZeroOp>(a.block) || isa<ZeroOp>(b.block) || !meets(a.lanes, b.lanes))
    return true;
  // Two turns of the same pair, whichever way round: complex scalars.
  bool complex = isa<TurnOp>(a.block) && isa<TurnOp>(b.block);
  if (complex && a.within.empty() && b.within.empty()) {
    SmallVector<int64_t> x(a.lanes.begin(), a.lanes.end());
    SmallVector<int64_t> y(b.lanes.begin(), b.lanes.end());
    llvm::sort(x);
    llvm::sort(y);
    return x == y;
  }
  if (auto p = dyn_cast<PlaneOp>(a.block))
    if (auto q = dyn_cast<PlaneOp>(b.block))
      return a.within.empty() && b.within.empty() && a.lanes == b.lanes &&
             areOrthogonal(p, q);
  return false;
}

void Legality::checkProduct(ProductOp op) {
  int64_t width = op.getType().getWidth();
  if (width > 1024) // reported where the action is placed
    return;
  FailureOr<ActionForm> left = flattenAction(op.getLhs());
  FailureOr<ActionForm> right = flattenAction(op.getRhs());
  if (failed(left) || failed(right)) {
    broken = true;
    return;
  }
  for (ActionForm *form : {&*left, &*right})
    llvm::erase_if(form->units,
                   [](const ActionUnit &unit) { return unit.lanes.empty(); });
  SmallVector<int64_t> everywhere;
  for (int64_t l = 0; l < width; ++l)
    everywhere.push_back(l);
  auto pointers = [](const ActionForm &form) {
    SmallVector<const ActionUnit *> units;
    for (const ActionUnit &unit : form.units)
      units.push_back(&unit);
    return units;
  };
  SmallVector<const ActionUnit *> ofLeft = pointers(*left);
  SmallVector<const ActionUnit *> ofRight = pointers(*right);
  // Under a basis or a choice a unit may act on any lane.
  auto reach = [&](const ActionUnit &unit) {
    return unit.within.empty() ? ArrayRef<int64_t>(unit.lanes)
                               : ArrayRef<int64_t>(everywhere);
  };
  for (const ActionUnit &a : left->units)
    for (const ActionUnit &b : right->units) {
      if (!meets(reach(a), reach(b)) || commute(a, b))
        continue;
      if ((a.within.empty() && isScalarOn(a, reach(b), ofLeft)) ||
          (b.within.empty() && isScalarOn(b, reach(a), ofRight)))
        continue;
      broken = true;
      op.emitError() << "the two sides of a product do not commute: they act "
                        "on lanes "
                     << lanesText(a.lanes) << " and " << lanesText(b.lanes)
                     << " [composition]";
      return;
    }
}

} // namespace torsor
