// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Truth values, choices and tables over a box of pairs.
#include "passes/TileTestBox.h"

#include "dialect/TorsorDialect.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {

Value BoxCode::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value BoxCode::truth(bool value) {
  return arith::ConstantOp::create(b, loc, b.getBoolAttr(value));
}

Value BoxCode::land(Value x, Value y) { return make<arith::AndIOp>(x, y); }
Value BoxCode::lor(Value x, Value y) { return make<arith::OrIOp>(x, y); }
Value BoxCode::lnot(Value x) { return make<arith::XOrIOp>(x, truth(true)); }

Value BoxCode::choose(Value c, Value x, Value y) {
  return make<arith::SelectOp>(c, x, y);
}

std::optional<int64_t> BoxCode::getConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

BoxValue BoxCode::ofRange(Type type, IntRange range, Location at) {
  loc = at;
  if (type.isInteger(1))
    return {{}, {}, truth(range.high != 0), truth(range.low != 0), {}};
  if (isa<FloatType>(type)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0));
    return {zero, zero, {}, {}, truth(true)};
  }
  return {constant(range.low), constant(range.high), {}, {}, {}};
}

BoxValue BoxCode::get(Value value) {
  auto found = boxes.find(value);
  if (found != boxes.end())
    return found->second;
  BoxValue box = ofRange(value.getType(), ranges.getRange(value), loc);
  FloatAttr real;
  if (matchPattern(value, m_Constant(&real)) && !real.getValue().isNaN()) {
    box.low = box.high = arith::ConstantOp::create(b, loc, real);
    box.any = truth(false);
  }
  return boxes[value] = box;
}

bool BoxCode::emit(Operation &op) {
  loc = op.getLoc();
  if (op.getNumResults() != 1)
    return false;
  Value value = op.getResult(0);
  Type type = value.getType();
  if (op.hasTrait<OpTrait::ConstantLike>()) {
    get(value);
    return true;
  }
  Box box;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    box = emitSelect(select);
  else if (isa<LookupOp>(op))
    box = emitLookup(op);
  else if (type.isInteger(1))
    box = emitTruth(op);
  else if (type.isSignlessInteger())
    box = emitInteger(op);
  else if (isa<FloatType>(type))
    box = emitReal(op);
  if (!box) {
    get(value);
    return false;
  }
  boxes[value] = *box;
  return true;
}

/// x == y of truth values: both hold or both fail.
BoxValue BoxCode::isEqual(const BoxValue &x, const BoxValue &y) {
  return {
      {},
      {},
      lor(land(x.mayHold, y.mayHold), land(lnot(x.mustHold), lnot(y.mustHold))),
      lor(land(x.mustHold, y.mustHold), land(lnot(x.mayHold), lnot(y.mayHold))),
      {}};
}

BoxValue BoxCode::negate(const BoxValue &x) {
  return {{}, {}, lnot(x.mustHold), lnot(x.mayHold), {}};
}

BoxCode::Box BoxCode::emitTruth(Operation &op) {
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return compareReals(cmp);
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    if (!cmp.getLhs().getType().isInteger(1))
      return compareIntegers(cmp);
    if (cmp.getPredicate() != Predicate::eq &&
        cmp.getPredicate() != Predicate::ne)
      return std::nullopt;
    BoxValue same = isEqual(get(cmp.getLhs()), get(cmp.getRhs()));
    return cmp.getPredicate() == Predicate::ne ? negate(same) : same;
  }
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::nullopt;
  BoxValue x = get(op.getOperand(0)), y = get(op.getOperand(1));
  if (isa<arith::AndIOp>(op))
    return BoxValue{
        {}, {}, land(x.mayHold, y.mayHold), land(x.mustHold, y.mustHold), {}};
  if (isa<arith::OrIOp>(op))
    return BoxValue{
        {}, {}, lor(x.mayHold, y.mayHold), lor(x.mustHold, y.mustHold), {}};
  return negate(isEqual(x, y));
}

BoxCode::Box BoxCode::compareIntegers(arith::CmpIOp op) {
  Predicate predicate = op.getPredicate();
  BoxValue x = get(op.getLhs()), y = get(op.getRhs());
  bool isUnsigned = false;
  switch (predicate) {
  case Predicate::ugt:
  case Predicate::sgt:
  case Predicate::uge:
  case Predicate::sge:
    std::swap(x, y);
    break;
  default:
    break;
  }
  switch (predicate) {
  case Predicate::eq:
  case Predicate::ne: {
    Value meet = land(compare(Predicate::sle, x.low, y.high),
                      compare(Predicate::sle, y.low, x.high));
    Value same = land(land(compare(Predicate::eq, x.low, x.high),
                           compare(Predicate::eq, y.low, y.high)),
                      compare(Predicate::eq, x.low, y.low));
    BoxValue equal{{}, {}, meet, same, {}};
    return predicate == Predicate::ne ? negate(equal) : equal;
  }
  case Predicate::ult:
  case Predicate::ugt:
  case Predicate::ule:
  case Predicate::uge:
    isUnsigned = true;
    break;
  default:
    break;
  }
  if (isUnsigned && (ranges.getRange(op.getLhs()).low < 0 ||
                     ranges.getRange(op.getRhs()).low < 0))
    return std::nullopt;
  bool strict = predicate == Predicate::slt || predicate == Predicate::sgt ||
                predicate == Predicate::ult || predicate == Predicate::ugt;
  Predicate less = strict ? Predicate::slt : Predicate::sle;
  return BoxValue{
      {}, {}, compare(less, x.low, y.high), compare(less, x.high, y.low), {}};
}

BoxCode::Box BoxCode::emitSelect(arith::SelectOp op) {
  BoxValue c = get(op.getCondition()), x = get(op.getTrueValue()),
           y = get(op.getFalseValue());
  if (op.getType().isInteger(1))
    return BoxValue{
        {},
        {},
        lor(land(c.mayHold, x.mayHold), land(lnot(c.mustHold), y.mayHold)),
        land(lor(lnot(c.mayHold), x.mustHold), lor(c.mustHold, y.mustHold)),
        {}};
  Value mixed = land(c.mayHold, lnot(c.mustHold));
  auto either = [&](Value first, Value second, Value joined) {
    return choose(mixed, joined, choose(c.mayHold, first, second));
  };
  if (isa<FloatType>(op.getType()))
    return BoxValue{
        either(x.low, y.low, make<arith::MinimumFOp>(x.low, y.low)),
        either(x.high, y.high, make<arith::MaximumFOp>(x.high, y.high)),
        {},
        {},
        lor(land(c.mayHold, x.any), land(lnot(c.mustHold), y.any))};
  return BoxValue{either(x.low, y.low, make<arith::MinSIOp>(x.low, y.low)),
                  either(x.high, y.high, make<arith::MaxSIOp>(x.high, y.high)),
                  {},
                  {},
                  {}};
}

/// Is `lookup` a read of a table of the pair's own tokens? Then its indices do
/// not say which element it reads.
static bool readsToken(LookupOp lookup) {
  auto op = lookup->getParentOfType<AttentionOp>();
  for (auto [table, info] : llvm::zip(op.getTables(), op.getTableInfo()))
    if (table == lookup.getTable())
      for (StringAttr axis : cast<TableAttr>(info).getAxes())
        if (axis.getValue() == "token")
          return true;
  return false;
}

/// Exact where every index has one value over the box.
BoxCode::Box BoxCode::emitLookup(Operation &op) {
  auto lookup = cast<LookupOp>(op);
  if (readsToken(lookup))
    return std::nullopt;
  Value single = truth(true);
  SmallVector<Value> indices;
  for (Value index : lookup.getIndices()) {
    BoxValue box = get(index);
    single = land(single, compare(Predicate::eq, box.low, box.high));
    indices.push_back(box.low);
  }
  Type type = lookup.getType();
  Value value = LookupOp::create(b, loc, type, lookup.getTable(), indices);
  if (type.isInteger(1))
    return BoxValue{{}, {}, lor(lnot(single), value), land(single, value), {}};
  if (isa<FloatType>(type))
    return BoxValue{
        value,
        value,
        {},
        {},
        lor(lnot(single),
            make<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value))};
  if (!type.isInteger(64))
    value = make<arith::ExtSIOp>(Type(b.getI64Type()), value);
  IntRange range = ranges.getRange(lookup);
  return BoxValue{choose(single, value, constant(range.low)),
                  choose(single, value, constant(range.high)),
                  {},
                  {},
                  {}};
}

} // namespace torsor
