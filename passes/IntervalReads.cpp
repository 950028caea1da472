// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranges of what is read: by storage type and by declaration.
#include "dialect/TorsorDialect.h"
#include "passes/IntervalAnalysis.h"

#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

/// The integers of low .. high, of declarations that hold reals.
IntRange declared(std::optional<APFloat> low, std::optional<APFloat> high) {
  constexpr double edge = 9223372036854775808.0; // 2^63
  IntRange range;
  if (double from; low && (from = std::ceil(low->convertToDouble())) < edge)
    if (from >= -edge)
      range.low = int64_t(from);
  if (double to; high && (to = std::floor(high->convertToDouble())) >= -edge)
    if (to < edge)
      range.high = int64_t(to);
  return range.low <= range.high ? range : IntRange();
}

IntRange intersect(IntRange a, IntRange b) {
  IntRange both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

IntRange ofStorage(Type element) {
  return isa<IntegerType>(element)
             ? IntRange::ofWidth(element.getIntOrFloatBitWidth())
             : IntRange();
}

/// The declared range of what `read` reads. Past the end of an axis `*` lie
/// zeros.
template <typename Declaration>
IntRange getTensorRange(Declaration declaration, IntRange range) {
  range =
      intersect(range, declared(declaration.getLow(), declaration.getHigh()));
  for (auto axis : declaration.getAxes().template getAsValueRange<StringAttr>())
    if (axis == "*")
      return range.unite({0, 0});
  return range;
}

} // namespace

IntRange getClockRange(ClockOp clock) {
  return intersect(ofStorage(clock.getType().getElement()),
                   declared(clock.getLow(), clock.getHigh()));
}

IntRange getReadRange(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    Value tensor = read.getTensor();
    auto type = cast<RankedTensorType>(tensor.getType());
    IntRange range = ofStorage(type.getElementType());
    if (auto input = tensor.getDefiningOp<InputOp>())
      return getTensorRange(input, range);
    if (auto param = tensor.getDefiningOp<ParamOp>())
      return getTensorRange(param, range);
    return range;
  }
  if (auto time = dyn_cast<TimeOp>(op)) {
    auto clock = time.getClock().getDefiningOp<ClockOp>();
    return clock ? getClockRange(clock)
                 : ofStorage(time.getClock().getType().getElement());
  }
  if (!isa<FetchOp, LookupOp>(op))
    return {};
  auto memory = cast<MemRefType>(op->getOperand(0).getType());
  IntRange range = ofStorage(memory.getElementType());
  if (auto low = op->getAttrOfType<IntegerAttr>("low"))
    range.low = std::max(range.low, low.getInt());
  if (auto high = op->getAttrOfType<IntegerAttr>("high"))
    range.high = std::min(range.high, high.getInt());
  if (range.low > range.high)
    return {};
  // Past the end of an axis `*` lie zeros.
  return op->getNumOperands() > 1 ? range.unite({0, 0}) : range;
}

} // namespace torsor
