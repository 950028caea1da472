// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws clocks, inputs and params by their declarations.
#include "test/e2e/Arguments.h"

#include "dialect/TorsorDialect.h"

#include <algorithm>
#include <cmath>

namespace torsor::test {
namespace {

struct Range {
  double low, high;
};

Range rangeOf(std::optional<llvm::APFloat> low,
              std::optional<llvm::APFloat> high, bool integers) {
  if (low && high) // a declared range may be as wide as the type
    return {std::max(low->convertToDouble(), -2e9),
            std::min(high->convertToDouble(), 2e9)};
  return integers ? Range{0, 3} : Range{-1, 1};
}

double draw(Random &random, Range range, bool integers) {
  // Wide ranges are for positions and lengths: small numbers do.
  double high = std::min(range.high, range.low + 40);
  return integers ? double(random.between(int64_t(range.low), int64_t(high)))
                  : random.uniform(range.low, high);
}

std::vector<int64_t> extentsOf(mlir::ArrayAttr axes, const Problem &problem,
                               Random &random) {
  std::vector<int64_t> extents;
  for (mlir::StringAttr axis : axes.getAsRange<mlir::StringAttr>()) {
    int64_t extent = 40;
    if (axis == "H")
      extent = problem.heads;
    else if (axis == "G")
      extent = problem.groups;
    else if (axis == "D")
      extent = problem.q.shape[3];
    else if (axis == "V")
      extent = problem.v.shape[3];
    else if (axis == "*")
      extent = random.between(1, 60);
    else
      axis.getValue().getAsInteger(10, extent);
    extents.push_back(extent);
  }
  return extents;
}

HostArray drawArray(const std::vector<int64_t> &shape, Range range,
                    bool integers, Random &random) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> data(count);
  for (double &x : data)
    x = draw(random, range, integers);
  return integers ? HostArray::of(
                        shape, std::vector<int64_t>(data.begin(), data.end()))
                  : HostArray::of(shape, std::move(data));
}

/// The last two axes hold orthogonal columns: a product of two reflections.
HostArray orthogonal(const std::vector<int64_t> &shape, Random &random) {
  int64_t n = shape.back(), matrices = 1;
  for (size_t axis = 0; axis + 2 < shape.size(); ++axis)
    matrices *= shape[axis];
  std::vector<double> data;
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<double> matrix(n * n, 0.0);
    for (int64_t r = 0; r < n; ++r)
      matrix[r * n + r] = 1;
    for (int reflection = 0; reflection < 2; ++reflection) {
      std::vector<double> u(n);
      double squares = 0;
      for (double &x : u)
        x = random.uniform(), squares += x * x;
      for (int64_t c = 0; c < n; ++c) {
        double dot = 0;
        for (int64_t r = 0; r < n; ++r)
          dot += u[r] * matrix[r * n + c];
        for (int64_t r = 0; r < n; ++r)
          matrix[r * n + c] -= 2 * dot / squares * u[r];
      }
    }
    data.insert(data.end(), matrix.begin(), matrix.end());
  }
  return HostArray::of(shape, std::move(data));
}

void fillClock(ClockOp clock, Problem &problem, Random &random) {
  bool integers = mlir::isa<mlir::IntegerType>(clock.getType().getElement());
  if (clock.getName() == "pos" && integers) {
    // The index, or positions with gaps.
    if (!clock.getHigh() && random.uniform() < 0)
      addPositionsWithGaps(problem);
    return;
  }
  Range range = rangeOf(clock.getLow(), clock.getHigh(), integers);
  double step = integers ? 1 : 0.37;
  if (clock.getHigh())
    step = std::min(step, (range.high - range.low) / 3000);
  double start = clock.getLow() ? range.low : 0;
  addPerToken(problem, clock.getName().str().c_str(), {}, integers,
              [&](int64_t, int64_t token) {
                double jitter = integers || clock.getRising()
                                    ? 0
                                    : random.uniform(0, step / 2);
                return start + std::floor(step * double(token)) * integers +
                       (integers ? 0 : step * double(token) + jitter);
              });
}

void fillInput(InputOp input, Problem &problem, Random &random) {
  auto type = mlir::cast<mlir::RankedTensorType>(input.getResult().getType());
  bool integers = mlir::isa<mlir::IntegerType>(type.getElementType());
  Range range = type.getElementType().isInteger(1)
                    ? Range{0, 1}
                    : rangeOf(input.getLow(), input.getHigh(), integers);
  std::vector<int64_t> extents = extentsOf(input.getAxes(), problem, random);
  std::string name = input.getName().str();
  if (input.getPer() == Per::Token)
    return addPerToken(
        problem, name.c_str(), extents, integers,
        [&](int64_t, int64_t) { return draw(random, range, integers); });
  if (input.getPer() == Per::Sequence)
    extents.insert(extents.begin(), int64_t(problem.sequences.size()));
  addValue(problem, name, drawArray(extents, range, integers, random));
}

} // namespace

void fillArguments(SchemeOp scheme, Problem &problem, Random &random) {
  for (mlir::Operation &op : scheme.getBody().front()) {
    if (auto clock = mlir::dyn_cast<ClockOp>(op)) {
      fillClock(clock, problem, random);
    } else if (auto input = mlir::dyn_cast<InputOp>(op)) {
      fillInput(input, problem, random);
    } else if (auto param = mlir::dyn_cast<ParamOp>(op)) {
      auto type =
          mlir::cast<mlir::RankedTensorType>(param.getResult().getType());
      bool integers = mlir::isa<mlir::IntegerType>(type.getElementType());
      std::vector<int64_t> shape = extentsOf(param.getAxes(), problem, random);
      bool isBasis = param.getOrthogonal() || param.getCondition();
      addValue(problem, param.getName().str(),
               isBasis ? orthogonal(shape, random)
                       : drawArray(
                             shape,
                             rangeOf(param.getLow(), param.getHigh(), integers),
                             integers, random));
    }
  }
}

} // namespace torsor::test
