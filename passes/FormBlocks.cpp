// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From planned blocks to attributes, with their tables and slots.
#include "passes/FormBlocks.h"

#include "passes/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace torsor {
namespace {

/// Lanes in steps, one by one or a pair at a time; failure for others.
FailureOr<PairsAttr> regularLanes(const PlannedPair &pair,
                                  MLIRContext *context) {
  ArrayRef<int64_t> lanes = pair.lanes;
  int64_t count = lanes.size();
  int64_t step = count > 1 ? lanes[1] - lanes[0] : 1;
  auto isRun = [&](int64_t start, int64_t stride, int64_t by) {
    for (int64_t n = start; n < count; n += stride)
      if (lanes[n] != lanes[start] + (n - start) / stride * by)
        return false;
    return true;
  };
  if (isRun(0, 1, step))
    return PairsAttr::get(context, lanes[0], -1, step, count);
  step = count > 2 ? lanes[2] - lanes[0] : 1;
  if (count % 2 == 0 && isRun(0, 2, step) && isRun(1, 2, step))
    return PairsAttr::get(context, lanes[0], lanes[1], step, count / 2);
  return noKernel(pair.unit->block->getLoc(),
                  "a basis or a plane on lanes in no regular order");
}

class BlockFormer {
public:
  /// Without `columns` blocks have no times.
  BlockFormer(SchemePlan &plan, KernelFunction &kernel, KeyPlace place,
              SideCode *rows, SideCode *columns)
      : plan(plan), kernel(kernel), place(place), rows(rows), columns(columns),
        b(plan.scheme.getContext()) {}

  FailureOr<BlockAttr> form(const PlannedBlock &planned);

private:
  /// Numbers of tables.
  int64_t turns(ArrayRef<PlannedPair> pairs);
  int64_t reals(ArrayRef<PlannedPair> pairs);
  int64_t number(const FilledTable &table) {
    return kernel.number(kernel.table(table.info, table.type));
  }
  void formPlane(const PlannedPair &pair, int64_t &rates, int64_t &vectors);
  LogicalResult matrices(const PlannedPair &pair, int64_t &query, int64_t &key);
  LogicalResult times(const PlannedPair &pair, int64_t &s, int64_t &t);

  SchemePlan &plan;
  KernelFunction &kernel;
  KeyPlace place;
  SideCode *rows;
  SideCode *columns;
  Builder b;
};

int64_t BlockFormer::turns(ArrayRef<PlannedPair> pairs) {
  OpBuilder front = OpBuilder::atBlockBegin(&plan.scheme.getBody().front());
  SmallVector<Value> elements;
  VarySet set = pairs.front().frequency;
  bool isReal = pairs.front().isReal, fits = true;
  for (const PlannedPair &pair : pairs) {
    Value frequency = frequencyOf(*pair.unit);
    std::optional<double> constant = constantReal(frequency, pair.unit->index);
    if (constant) {
      Value &known = plan.constants[*constant];
      if (!known)
        known = arith::ConstantOp::create(front, pair.unit->block->getLoc(),
                                          front.getF64FloatAttr(*constant));
      frequency = known;
    }
    fits &= constant && std::abs(*constant) < M_PI;
    elements.push_back(frequency);
  }
  // A real time needs the frequency itself, not what is left of whole turns.
  auto kind = plan.f32Reference ? FilledTable::Kind::Real32
              : isReal && !fits ? FilledTable::Kind::TurnsReal
                                : FilledTable::Kind::Turns;
  return number(plan.tables.request(elements, true, kind, set, true));
}

int64_t BlockFormer::reals(ArrayRef<PlannedPair> pairs) {
  SmallVector<Value> elements;
  for (const PlannedPair &pair : pairs)
    elements.push_back(pair.rate);
  return number(plan.tables.request(elements, true, FilledTable::Kind::Real64,
                                    pairs.front().frequency, true));
}

/// An orthonormal basis of the plane by Gram and Schmidt, and its rate: with
/// u = a e1 and v = c e1 + d e2 the generator is freq a d (e2 e1' - e1 e2').
void BlockFormer::formPlane(const PlannedPair &pair, int64_t &rates,
                            int64_t &vectors) {
  auto plane = cast<PlaneOp>(pair.unit->block);
  OpBuilder at = OpBuilder::atBlockEnd(&plan.scheme.getBody().front());
  Location loc = plane.getLoc();
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(at, loc, x, y);
  };
  auto elements = [&](Value vector) {
    return SmallVector<Value>(vector.getDefiningOp<ListOp>().getElements());
  };
  auto dot = [&](ArrayRef<Value> x, ArrayRef<Value> y) {
    Value sum = times(x[0], y[0]);
    for (size_t n = 1; n < x.size(); ++n)
      sum = arith::AddFOp::create(at, loc, sum, times(x[n], y[n]));
    return sum;
  };
  // Vectors that span no plane turn nothing, and divide by no zero.
  Value tiny =
      arith::ConstantOp::create(at, loc, at.getF64FloatAttr(0x1p-1000));
  auto guarded = [&](Value x) -> Value {
    return arith::MaximumFOp::create(at, loc, x, tiny);
  };
  SmallVector<Value> u = elements(plane.getU()), v = elements(plane.getV());
  Value uu = guarded(dot(u, u));
  Value share = arith::DivFOp::create(at, loc, dot(u, v), uu);
  SmallVector<Value> across;
  for (size_t n = 0; n < u.size(); ++n)
    across.push_back(arith::SubFOp::create(at, loc, v[n], times(share, u[n])));
  Value ww = guarded(dot(across, across));
  Value a = math::SqrtOp::create(at, loc, uu);
  Value d = math::SqrtOp::create(at, loc, ww);
  SmallVector<Value> both;
  for (Value x : u)
    both.push_back(arith::DivFOp::create(at, loc, x, a));
  for (Value x : across)
    both.push_back(arith::DivFOp::create(at, loc, x, d));
  vectors = number(plan.tables.request(both, true, FilledTable::Kind::Real32,
                                       pair.frequency, true));
  Value rate = times(times(plane.getFrequency(), a), d);
  rates = number(plan.tables.request(rate, true,
                                     pair.isReal ? FilledTable::Kind::TurnsReal
                                                 : FilledTable::Kind::Turns,
                                     pair.frequency, true));
}

/// The matrix that acts on q, and the one on k where it is another.
LogicalResult BlockFormer::matrices(const PlannedPair &pair, int64_t &query,
                                    int64_t &key) {
  BasisOp basis = pair.basis;
  auto param = basis.getColumns().getDefiningOp<ParamOp>();
  if (!param || (!param.getOrthogonal() && !param.getCondition()))
    return noKernel(basis.getLoc(),
                    "a basis that is neither orthogonal nor conditioned");
  const FilledTable *&known = plan.lists[basis.getColumns()];
  int64_t width = pair.lanes.size();
  if (!known) {
    OpBuilder at = OpBuilder::atBlockEnd(&plan.scheme.getBody().front());
    Location loc = basis.getLoc();
    Value row = CountedOp::create(at, loc, at.getI64Type());
    Value lane = CountedOp::create(at, loc, at.getI64Type());
    Value element = ReadOp::create(at, loc, at.getF64Type(), basis.getColumns(),
                                   ValueRange{row, lane});
    std::pair<int64_t, Value> loops[2] = {{width, row}, {width, lane}};
    known =
        &plan.tables.request(loops, element, VarySet(VarySet::Loaded), true);
  }
  query = number(*known);
  if (!param.getOrthogonal())
    key = number(plan.tables.requestInverse(width, known->loops[0].second,
                                            known->loops[1].second,
                                            known->elements.front()));
  return success();
}

LogicalResult BlockFormer::times(const PlannedPair &pair, int64_t &s,
                                 int64_t &t) {
  const ActionUnit &unit = *pair.unit;
  if (pair.family) {
    int64_t scan = plan.scanOf(pair.family);
    s = kernel.number(scanTable(plan, kernel, scan, false));
    t = kernel.number(scanTable(plan, kernel, scan, true));
    return success();
  }
  if (rows)
    s = rows->slot(unit.timeQ, unit.timeQ.getType());
  t = columns->slot(unit.timeK, unit.timeK.getType());
  return success((!rows || s >= 0) && t >= 0);
}

FailureOr<BlockAttr> BlockFormer::form(const PlannedBlock &planned) {
  const PlannedPair &pair = planned.pairs.front();
  auto lanes = PairsAttr::get(b.getContext(), pair.first, pair.second,
                              planned.step, planned.pairs.size());
  int64_t rates = -1, vectors = -1, keyVectors = -1, s = -1, t = -1;
  if (pair.kind == BlockKind::Plane || pair.kind == BlockKind::Basis) {
    FailureOr<PairsAttr> regular = regularLanes(pair, b.getContext());
    if (failed(regular))
      return failure();
    lanes = *regular;
  }
  switch (pair.kind) {
  case BlockKind::Zero:
    break;
  case BlockKind::Turn:
    rates = turns(planned.pairs);
    break;
  case BlockKind::Decay:
  case BlockKind::Jordan:
    rates = reals(planned.pairs);
    break;
  case BlockKind::Plane:
    formPlane(pair, rates, vectors);
    break;
  case BlockKind::Basis:
    if (failed(matrices(pair, vectors, keyVectors)))
      return failure();
    break;
  }
  if (columns && pair.acts() && failed(times(pair, s, t)))
    return failure();
  auto gain = [&](double value) {
    return value == 1 ? FloatAttr() : b.getF64FloatAttr(value);
  };
  return BlockAttr::get(b.getContext(), pair.kind, lanes, rates, 0, s, t,
                        gain(pair.gainQ), gain(pair.gainK), place, pair.order,
                        vectors, bool(pair.family),
                        std::max<int64_t>(pair.member, 0), keyVectors);
}

} // namespace

Value scanTable(SchemePlan &plan, KernelFunction &kernel, int64_t scan,
                bool key) {
  const PlannedScan &planned = plan.scans[scan];
  MLIRContext *context = kernel.function.getContext();
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> shape;
  auto add = [&](const Twine &axis, int64_t extent) {
    axes.push_back(StringAttr::get(context, axis));
    shape.push_back(extent);
  };
  add("token", ShapedType::kDynamic);
  // Queries have the sums of their own head each.
  if (StringRef axis = plan.axisOf(planned); !axis.empty())
    add(key ? axis : "H", ShapedType::kDynamic);
  int64_t members = planned.terms.size();
  add(Twine(members), members);
  auto info = TableAttr::get(context, TableSource::Scan, scan, key, axes);
  return kernel.table(info, MemRefType::get(shape, Float64Type::get(context)));
}

FailureOr<ArrayAttr> formBlocks(SchemePlan &plan, KernelFunction &kernel,
                                KeyPlace place, const PlannedBranch &branch,
                                SideCode *rows, SideCode &columns) {
  BlockFormer former(plan, kernel, place, rows, &columns);
  SmallVector<Attribute> blocks;
  for (const PlannedBlock &planned : branch) {
    FailureOr<BlockAttr> block = former.form(planned);
    if (failed(block))
      return failure();
    blocks.push_back(*block);
  }
  return ArrayAttr::get(kernel.function.getContext(), blocks);
}

FailureOr<ArrayAttr> formShift(SchemePlan &plan, KernelFunction &kernel,
                               const PlannedBranch &branch) {
  BlockFormer former(plan, kernel, KeyPlace::Cached, nullptr, nullptr);
  SmallVector<Attribute> blocks;
  for (PlannedBlock block : branch) {
    // Keys that all stand at one time stay where they are.
    const PlannedPair &first = block.pairs.front();
    if (!first.acts() || plan.varies.of(first.unit->timeK).isUniform())
      continue;
    for (PlannedPair &pair : block.pairs)
      pair.gainQ = pair.gainK = 1;
    FailureOr<BlockAttr> formed = former.form(block);
    if (failed(formed))
      return failure();
    blocks.push_back(*formed);
  }
  return ArrayAttr::get(kernel.function.getContext(), blocks);
}

} // namespace torsor
