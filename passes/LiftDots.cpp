// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Path sums at the key's token; dot products with rows of tables.
#include "passes/PlainScheme.h"
#include "passes/ScalarCode.h"
#include "passes/VariesBy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace torsor {
namespace {

/// The most rows of a table whose products with a token are all computed, and
/// the most elements of such a table.
constexpr int64_t maxRows = 65536, maxElements = int64_t(1) << 24;

Value integer(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

/// The yielded value of a region of one argument, written where `b` stands.
Value inlineRegion(OpBuilder &b, Region &region, Value argument) {
  IRMapping mapping;
  mapping.map(region.getArgument(0), argument);
  for (Operation &op : region.front().without_terminator())
    b.clone(op, mapping);
  auto yield = cast<YieldOp>(region.front().getTerminator());
  return mapping.lookupOrDefault(yield.getValues()[0]);
}

class DotLifter {
public:
  explicit DotLifter(SchemeOp scheme)
      : scheme(scheme), varies(scheme), b(scheme.getContext()) {}

  LogicalResult lift(DotOp dot);

private:
  /// The indices of a row that are not the same for all tokens; false where no
  /// table can hold the rows.
  bool pickedIndices(Value vector, SmallVectorImpl<unsigned> &picked);
  Value clamped(Location loc, Value index, int64_t extent);
  /// One number for all picked indices; `count` becomes how many there are.
  Value rowNumber(ReadOp read, ArrayRef<unsigned> picked, int64_t &count);
  /// The row of number `row`.
  Value rowAt(ReadOp read, ArrayRef<unsigned> picked, Value row);
  bool isQueryAndKey(DotOp dot) const;
  bool liftContent(DotOp dot, VectorOp content, Value other);
  bool liftRows(DotOp dot);
  LogicalResult writeOut(DotOp dot);

  SchemeOp scheme;
  VariesBy varies;
  OpBuilder b;
};

bool DotLifter::pickedIndices(Value vector, SmallVectorImpl<unsigned> &picked) {
  if (varies.of(vector).isUniform())
    return true;
  // What picks a row may read anything: it is computed for each pair.
  auto read = vector.getDefiningOp<ReadOp>();
  if (!read)
    return false;
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  for (auto [n, index] : llvm::enumerate(read.getIndices())) {
    if (!index.getType().isInteger(64))
      return false; // a token's own row
    if (varies.of(index).isUniform())
      continue;
    if (ShapedType::isDynamic(type.getDimSize(n)))
      return false;
    picked.push_back(n);
  }
  return true;
}

Value DotLifter::clamped(Location loc, Value index, int64_t extent) {
  Value low = arith::MaxSIOp::create(b, loc, index, integer(b, loc, 0));
  return arith::MinSIOp::create(b, loc, low, integer(b, loc, extent - 1));
}

Value DotLifter::rowNumber(ReadOp read, ArrayRef<unsigned> picked,
                           int64_t &count) {
  count = 1;
  if (picked.empty())
    return integer(b, read.getLoc(), 0);
  Location loc = read.getLoc();
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  Value number;
  for (unsigned n : picked) {
    int64_t extent = type.getDimSize(n);
    Value index = read.getIndices()[n];
    if (picked.size() > 1)
      index = clamped(loc, index, extent);
    if (number) {
      number = arith::MulIOp::create(b, loc, number, integer(b, loc, extent));
      number = arith::AddIOp::create(b, loc, number, index);
    } else {
      number = index;
    }
    count *= extent;
  }
  return number;
}

Value DotLifter::rowAt(ReadOp read, ArrayRef<unsigned> picked, Value row) {
  Location loc = read.getLoc();
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  SmallVector<Value> indices(read.getIndices());
  for (unsigned n : llvm::reverse(picked)) {
    Value extent = integer(b, loc, type.getDimSize(n));
    indices[n] = n == picked.front()
                     ? row
                     : Value(arith::RemSIOp::create(b, loc, row, extent));
    row = n == picked.front()
              ? row
              : Value(arith::DivSIOp::create(b, loc, row, extent));
  }
  return ReadOp::create(b, loc, read.getType(), read.getTensor(), indices);
}

bool DotLifter::isQueryAndKey(DotOp dot) const {
  auto a = dot.getLhs().getDefiningOp<VectorOp>();
  auto c = dot.getRhs().getDefiningOp<VectorOp>();
  return a && c && a.getSide() != c.getSide();
}

bool DotLifter::liftContent(DotOp dot, VectorOp content, Value other) {
  SmallVector<unsigned> picked;
  if (!pickedIndices(other, picked))
    return false;
  Location loc = dot.getLoc();
  int64_t width = cast<RankedTensorType>(other.getType()).getDimSize(0);
  int64_t count = 1;
  auto read = other.getDefiningOp<ReadOp>();
  if (read) {
    auto type = cast<RankedTensorType>(read.getTensor().getType());
    for (unsigned n : picked)
      count *= type.getDimSize(n);
    if (count > maxRows || count * width > maxElements)
      return false;
  }
  Value row = CountedOp::create(b, loc, b.getI64Type());
  Value lane = CountedOp::create(b, loc, b.getI64Type());
  Value index = integer(b, loc, 0), vector = other;
  if (!picked.empty()) {
    index = rowNumber(read, picked, count);
    vector = rowAt(read, picked, row);
  }
  Value element = laneOf(b, loc, vector, lane);
  Value lifted = TableDotOp::create(
      b, loc, b.getF64Type(), SideAttr::get(b.getContext(), content.getSide()),
      index, row, lane, element, b.getI64IntegerAttr(count));
  dot.replaceAllUsesWith(lifted);
  return true;
}

/// Both vectors are tables' rows of one number, or one of them is the same for
/// all tokens: a number for each row, filled once.
bool DotLifter::liftRows(DotOp dot) {
  SmallVector<unsigned> picked[2];
  ReadOp reads[2];
  Value vectors[2] = {dot.getLhs(), dot.getRhs()};
  ReadOp from;
  SmallVector<unsigned> at;
  for (int side : {0, 1}) {
    if (!pickedIndices(vectors[side], picked[side]))
      return false;
    reads[side] = vectors[side].getDefiningOp<ReadOp>();
    if (picked[side].empty())
      continue;
    if (from) { // the same rows of both, or none
      auto indices = [&](ReadOp read, ArrayRef<unsigned> which) {
        SmallVector<Value> values;
        for (unsigned n : which)
          values.push_back(read.getIndices()[n]);
        return values;
      };
      auto extents = [&](ReadOp read, ArrayRef<unsigned> which) {
        SmallVector<int64_t> sizes;
        for (unsigned n : which)
          sizes.push_back(
              cast<RankedTensorType>(read.getTensor().getType()).getDimSize(n));
        return sizes;
      };
      if (indices(from, at) != indices(reads[side], picked[side]) ||
          extents(from, at) != extents(reads[side], picked[side]))
        return false;
      continue;
    }
    from = reads[side];
    at = picked[side];
  }
  if (!from)
    return false;
  Location loc = dot.getLoc();
  int64_t width = cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(0);
  int64_t count = 1;
  auto type = cast<RankedTensorType>(from.getTensor().getType());
  for (unsigned n : at)
    count *= type.getDimSize(n);
  if (count > maxRows || width > maxTerms)
    return false;
  Value row = CountedOp::create(b, loc, b.getI64Type());
  Value index = rowNumber(from, at, count);
  for (int side : {0, 1})
    if (!picked[side].empty())
      vectors[side] = rowAt(reads[side], picked[side], row);
  Value sum = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
  for (int64_t p = 0; p < width; ++p) {
    Value lane = integer(b, loc, p);
    Value x = laneOf(b, loc, vectors[0], lane);
    Value y = laneOf(b, loc, vectors[1], lane);
    sum =
        arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, x, y));
  }
  Value lifted = TabulatedOp::create(b, loc, b.getF64Type(), index, row, sum,
                                     b.getI64IntegerAttr(count));
  dot.replaceAllUsesWith(lifted);
  return true;
}

LogicalResult DotLifter::writeOut(DotOp dot) {
  Location loc = dot.getLoc();
  int64_t width = cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(0);
  if (ShapedType::isDynamic(width))
    return noKernel(loc, "a product of vectors whose width is open");
  // Lanes of pairs are code, and slots.
  constexpr int64_t most = 256;
  if (width > most && !varies.of(dot.getResult()).isUniform())
    return noKernel(loc, "a product over " + Twine(width) +
                             " lanes that is neither one with a row of a table "
                             "nor the score; at most " +
                             Twine(most) + " are written out");
  Value sum;
  for (int64_t p = 0; p < width; ++p) {
    Value lane = integer(b, loc, p);
    Value x = laneOf(b, loc, dot.getLhs(), lane);
    Value y = laneOf(b, loc, dot.getRhs(), lane);
    Value product = arith::MulFOp::create(b, loc, x, y);
    sum = sum ? Value(arith::AddFOp::create(b, loc, sum, product)) : product;
  }
  if (!sum)
    sum = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
  dot.replaceAllUsesWith(sum);
  return success();
}

LogicalResult DotLifter::lift(DotOp dot) {
  b.setInsertionPoint(dot);
  // A choice of vectors is a choice of products.
  for (int side : {0, 1}) {
    auto select = dot->getOperand(side).getDefiningOp<arith::SelectOp>();
    if (!select || !select.getCondition().getType().isInteger(1))
      continue;
    Value both[2];
    for (int arm : {0, 1}) {
      SmallVector<Value> operands(dot->getOperands());
      operands[side] = select->getOperand(1 + arm);
      auto inner = DotOp::create(b, dot.getLoc(), operands[0], operands[1]);
      both[arm] = inner.getResult();
    }
    Value chosen = arith::SelectOp::create(
        b, dot.getLoc(), select.getCondition(), both[0], both[1]);
    dot.replaceAllUsesWith(chosen);
    dot.erase();
    for (Value arm : both)
      if (failed(lift(arm.getDefiningOp<DotOp>())))
        return failure();
    return success();
  }
  bool done = false;
  if (isQueryAndKey(dot) && passesContents(scheme))
    return success(); // it is the score
  for (int side : {0, 1})
    if (auto content = dot->getOperand(side).getDefiningOp<VectorOp>();
        content && !done)
      done = liftContent(dot, content, dot->getOperand(1 - side));
  if (!done && !varies.of(dot.getResult()).has(VarySet::Content))
    done = liftRows(dot);
  if (!done && failed(writeOut(dot)))
    return failure();
  dot.erase();
  return success();
}

/// The term of each path sum, at the key's token.
LogicalResult inlinePaths(SchemeOp scheme) {
  VariesBy varies(scheme);
  Value key;
  for (PathSumOp sum :
       llvm::make_early_inc_range(scheme.getBody().getOps<PathSumOp>())) {
    Location loc = sum.getLoc();
    Operation *yield = sum.getTerm().front().getTerminator();
    VarySet set = varies.of(yield->getOperand(0));
    if (set.has(VarySet::Key))
      return noKernel(loc, "a sum over a path whose term reads the key");
    if (!sum.getTerm().getOps<PathSumOp>().empty())
      return noKernel(loc, "a sum over a path within another");
    if (!key) {
      OpBuilder front = OpBuilder::atBlockBegin(&scheme.getBody().front());
      key = TokenOp::create(front, loc, TokenType::get(scheme.getContext()),
                            Side::Key);
    }
    OpBuilder b(sum);
    Value term = inlineRegion(b, sum.getTerm(), key);
    Value total =
        PathTotalOp::create(b, loc, b.getF64Type(), term, sum.getAfterAttr());
    sum.replaceAllUsesWith(total);
    sum.erase();
  }
  return success();
}

} // namespace

bool passesContents(SchemeOp scheme) {
  for (ActionTermOp term : scheme.getBody().getOps<ActionTermOp>())
    if (!term.getAction().getDefiningOp<ZeroOp>())
      return false;
  return true;
}

Value laneOf(OpBuilder &b, Location loc, Value vector, Value lane) {
  std::optional<int64_t> number;
  if (APInt constant; matchPattern(lane, m_ConstantInt(&constant)))
    number = constant.getSExtValue();
  if (auto read = vector.getDefiningOp<ReadOp>()) {
    SmallVector<Value> indices(read.getIndices());
    indices.push_back(lane);
    return ReadOp::create(b, loc, b.getF64Type(), read.getTensor(), indices);
  }
  if (auto tabulate = vector.getDefiningOp<TabulateOp>())
    return inlineRegion(b, tabulate.getTerm(), lane);
  if (auto select = vector.getDefiningOp<arith::SelectOp>();
      select && select.getCondition().getType().isInteger(1)) {
    Value x = laneOf(b, loc, select.getTrueValue(), lane);
    Value y = laneOf(b, loc, select.getFalseValue(), lane);
    return arith::SelectOp::create(b, loc, select.getCondition(), x, y);
  }
  auto list = vector.getDefiningOp<ListOp>();
  if (list && !number && !list.getElements().empty()) {
    // A chain of choices, as an element that is picked by a value.
    Value chosen = list.getElements().front();
    for (auto [n, element] : llvm::enumerate(list.getElements().drop_front())) {
      Value reached = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                            lane, integer(b, loc, n + 1));
      chosen = arith::SelectOp::create(b, loc, reached, element, chosen);
    }
    return chosen;
  }
  return ElementOp::create(b, loc, b.getF64Type(), vector, lane);
}

LogicalResult liftDots(SchemeOp scheme) {
  if (failed(inlinePaths(scheme)))
    return failure();
  DotLifter lifter(scheme);
  SmallVector<DotOp> dots(scheme.getBody().getOps<DotOp>());
  for (DotOp dot : dots)
    if (failed(lifter.lift(dot)))
      return failure();
  return success();
}

} // namespace torsor
