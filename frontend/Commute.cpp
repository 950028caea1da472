// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Do two actions on the same lanes commute? Decided by their form, never by a
// numerical test.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include "fmt/format.h"

using namespace torsor;

namespace {

/// A primitive block, the lanes it acts on in its own order, and what scales
/// and places it.
struct Leaf {
  const ActionNode *node;
  llvm::SmallVector<int64_t, 2> lanes;
  const ActionNode *place;
  llvm::SmallVector<const ActionNode *, 1> gains;

  bool isScalar() const {
    return node->op == ActionOp::Zero || node->op == ActionOp::Decay;
  }
};

struct Side {
  std::vector<Leaf> leaves;
  /// Leaves that act on each lane.
  std::vector<llvm::SmallVector<size_t, 1>> owners;

  explicit Side(const ActionNode *action) : owners(action->width) {
    std::vector<int64_t> lanes(action->width);
    for (int64_t lane = 0; lane != action->width; ++lane)
      lanes[lane] = lane;
    collect(action, lanes, nullptr, {});
    for (size_t n = 0; n != leaves.size(); ++n)
      for (int64_t lane : leaves[n].lanes)
        owners[lane].push_back(n);
  }

  std::vector<size_t> touching(const Leaf &leaf) const {
    std::vector<size_t> found;
    for (int64_t lane : leaf.lanes)
      found.insert(found.end(), owners[lane].begin(), owners[lane].end());
    llvm::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// Is this side a multiple of the identity on the lanes of `leaf`?
  bool isScalarOn(const Leaf &leaf) const {
    const Leaf *first = nullptr;
    for (size_t n : touching(leaf)) {
      const Leaf &part = leaves[n];
      if (!part.isScalar())
        return false;
      if (first && !isSameScalar(*first, part))
        return false;
      first = &part;
    }
    return true;
  }

private:
  static bool isSameGain(const ActionNode *a, const ActionNode *b) {
    return !a->u && !b->u && a->rate.node == b->rate.node;
  }

  static bool isSamePlace(const ActionNode *a, const ActionNode *b) {
    if (!a || !b)
      return a == b;
    return a->clock.clock == b->clock.clock &&
           a->clock.member == b->clock.member &&
           a->query.node == b->query.node && a->key.node == b->key.node;
  }

  static bool isSameScalar(const Leaf &a, const Leaf &b) {
    bool still = a.node->op == ActionOp::Zero && b.node->op == ActionOp::Zero;
    return a.node->op == b.node->op && a.node->rate.node == b.node->rate.node &&
           (still || isSamePlace(a.place, b.place)) &&
           a.gains.size() == b.gains.size() &&
           llvm::all_of(llvm::zip(a.gains, b.gains), [](auto pair) {
             return isSameGain(std::get<0>(pair), std::get<1>(pair));
           });
  }

  void collect(const ActionNode *a, llvm::ArrayRef<int64_t> lanes,
               const ActionNode *place,
               llvm::SmallVector<const ActionNode *, 1> gains) {
    switch (a->op) {
    case ActionOp::Sum:
      for (const ActionNode *kid : a->kids) {
        collect(kid, lanes.take_front(kid->width), place, gains);
        lanes = lanes.drop_front(kid->width);
      }
      return;
    case ActionOp::Split: {
      std::vector<int64_t> paired;
      for (int64_t p = 0; p != a->width / 2; ++p) {
        paired.push_back(lanes[p]);
        paired.push_back(lanes[p + a->width / 2]);
      }
      return collect(a->kids.front(), paired, place, gains);
    }
    case ActionOp::Adjacent:
      return collect(a->kids.front(), lanes, place, gains);
    case ActionOp::At:
      return collect(a->kids.front(), lanes, a, gains);
    case ActionOp::Gain:
      gains.push_back(a);
      return collect(a->kids.front(), lanes, place, gains);
    case ActionOp::Product:
    case ActionOp::Choose:
      for (const ActionNode *kid : a->kids)
        collect(kid, lanes, place, gains);
      return;
    default:
      leaves.push_back({a, llvm::to_vector<2>(lanes), place, gains});
    }
  }
};

std::string showLanes(const Leaf &leaf) {
  return fmt::format("[{}, {}]", leaf.lanes[0], leaf.lanes[1]);
}

double dot(const VectorInfo &u, const VectorInfo &v) {
  double total = 0;
  for (int64_t p = 0; p != u.length; ++p)
    total += u.elements[p].node->asReal() * v.elements[p].node->asReal();
  return total;
}

bool arePlanesOrthogonal(const ActionNode *x, const ActionNode *y) {
  for (const VectorInfo *u : {x->u, x->v})
    for (const VectorInfo *v : {y->u, y->v})
      if (dot(*u, *v) != 0)
        return false;
  return true;
}

bool isKnownPlane(const ActionNode *x) {
  return x->op == ActionOp::Plane && x->u->isConstant() && x->v->isConstant();
}

bool hasLaneGain(const Leaf &leaf) {
  return llvm::any_of(leaf.gains, [](const ActionNode *g) { return g->u; });
}

std::string findFault(const Side &left, const Leaf &x, const Side &right,
                      const Leaf &y) {
  if (x.isScalar() && y.isScalar())
    return "";
  if (hasLaneGain(x) || hasLaneGain(y))
    return "a gain per lane commutes with nothing that mixes lanes";
  if (x.node->op == ActionOp::Turn && y.node->op == ActionOp::Turn) {
    if (x.lanes == y.lanes)
      return "";
    return fmt::format("they pair lanes {} and {}", showLanes(x), showLanes(y));
  }
  if ((y.isScalar() && right.isScalarOn(x)) ||
      (x.isScalar() && left.isScalarOn(y)))
    return "";
  if (isKnownPlane(x.node) && isKnownPlane(y.node)) {
    if (arePlanesOrthogonal(x.node, y.node))
      return "";
    return "the two planes are not orthogonal";
  }
  const Leaf *turn = x.node->op == ActionOp::Turn   ? &x
                     : y.node->op == ActionOp::Turn ? &y
                                                    : nullptr;
  if (turn && (x.isScalar() || y.isScalar()))
    return fmt::format("a decay has different rates on the pair of lanes {}",
                       showLanes(*turn));
  return fmt::format("no rule of commutation covers '{}' and '{}' on the same "
                     "lanes",
                     getSpelling(x.node->op).str(),
                     getSpelling(y.node->op).str());
}

} // namespace

std::string torsor::findCommuteFault(const ActionNode *a, const ActionNode *b) {
  Side left(a), right(b);
  for (const Leaf &x : left.leaves)
    for (size_t n : right.touching(x)) {
      std::string fault = findFault(left, x, right, right.leaves[n]);
      if (!fault.empty())
        return fault;
    }
  return "";
}
