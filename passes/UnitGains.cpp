// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gains of the units of an action.
#include "passes/UnitGains.h"

#include "passes/PlainScheme.h"
#include "passes/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace torsor {

FailureOr<double> gainOf(const ActionUnit &unit, bool key, size_t lane) {
  double gain = 1;
  for (Value by : unit.by) {
    std::optional<double> constant = constantReal(by);
    if (!constant)
      return noKernel(by.getLoc(), "a gain that is not a constant");
    gain *= *constant;
  }
  const auto &gains = key ? unit.gainK : unit.gainQ;
  for (size_t g = lane; g < gains.size(); g += unit.lanes.size()) {
    std::optional<double> constant =
        constantReal(gains[g].first, gains[g].second);
    if (!constant)
      return noKernel(gains[g].first.getLoc(),
                      "gains per lane that are not constants");
    gain *= *constant;
  }
  return gain;
}

bool hasLaneGains(const ActionUnit &unit) {
  auto isOpen = [](Value value, int64_t lane) {
    return !constantReal(value, lane);
  };
  for (Value by : unit.by)
    if (isOpen(by, 0))
      return true;
  for (const auto *gains : {&unit.gainQ, &unit.gainK}) {
    double product[2] = {1, 1};
    for (auto [n, gain] : llvm::enumerate(*gains)) {
      if (isOpen(gain.first, gain.second))
        return true;
      product[n % unit.lanes.size() ? 1 : 0] *=
          *constantReal(gain.first, gain.second);
    }
    if (isa<TurnOp>(unit.block) && product[0] != product[1])
      return true;
  }
  return false;
}

void addLaneGains(SchemePlan &plan, const ActionUnit &unit, bool key) {
  SmallVector<Value> &lanes = key ? plan.gainK : plan.gainQ;
  const auto &gains = key ? unit.gainK : unit.gainQ;
  if (unit.by.empty() && gains.empty())
    return;
  OpBuilder b = OpBuilder::atBlockEnd(&plan.scheme.getBody().front());
  Location loc = unit.block->getLoc();
  if (lanes.empty()) {
    Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1));
    lanes.assign(plan.head, one);
  }
  auto multiply = [&](int64_t lane, Value by) {
    Value &factor = lanes[lane];
    bool isFirst = constantReal(factor) == 1.0;
    factor = isFirst ? by : Value(arith::MulFOp::create(b, loc, factor, by));
  };
  for (int64_t lane : unit.lanes)
    for (Value by : unit.by)
      multiply(lane, by);
  for (auto [n, gain] : llvm::enumerate(gains)) {
    Value at =
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(gain.second));
    auto constant = constantReal(gain.first, gain.second);
    Value by = constant ? Value(arith::ConstantOp::create(
                              b, loc, b.getF64FloatAttr(*constant)))
                        : laneOf(b, loc, gain.first, at);
    multiply(unit.lanes[n % unit.lanes.size()], by);
  }
}

} // namespace torsor
